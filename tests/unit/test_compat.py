"""Versions that can't work are refused where Blazar imports us."""

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
@pytest.mark.parametrize(("name", "found"), [("blazar", "15.1.0"), ("SQLAlchemy", "1.4.54")])
def test_too_old(monkeypatch, package, name, found):
    installed(monkeypatch, **{name: found})
    with pytest.raises(ImportError, match=rf"needs {name} [0-9.]+ or newer, and {name} {found}"):
        importlib.reload(package)


@pytest.mark.parametrize("found", ["16.0.0", "17.1.2", "18.0.0", "19.0.0.0rc1"])
def test_recent_enough(monkeypatch, found):
    installed(monkeypatch, blazar=found)
    compat.check()
