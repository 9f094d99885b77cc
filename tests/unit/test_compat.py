"""Versions of Blazar and SQLAlchemy that are too old are refused when the package is imported."""

import importlib
import importlib.metadata

import pytest

from warre_blazar import api, compat, plugins
from warre_blazar import cmd as commands


def installed(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    real = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: versions.get(name) or real(name)
    )


@pytest.mark.parametrize("package", [api, commands, plugins], ids=lambda p: p.__name__)
@pytest.mark.parametrize(("name", "version"), [("blazar", "16.0.0"), ("SQLAlchemy", "1.4.54")])
def test_import_with_an_old_version_is_refused(monkeypatch, package, name, version):
    installed(monkeypatch, **{name: version})
    # The programs end with the text, without a traceback.
    refusal = SystemExit if package is commands else ImportError
    with pytest.raises(refusal, match=rf"needs {name} [0-9.]+ or newer, but {name} {version}"):
        importlib.reload(package)


@pytest.mark.parametrize("version", ["17.0.0", "17.1.2", "18.0.0", "19.0.0.0rc1"])
def test_recent_version_is_accepted(monkeypatch, version):
    installed(monkeypatch, blazar=version)
    compat.check()
