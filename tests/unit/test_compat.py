"""What this package needs of Blazar: recent versions, and the places where it is called."""

import importlib
import importlib.metadata
import pathlib

import blazar
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


def source(path: str) -> str:
    """The source of a module of Blazar, which may change the whole process if it is imported."""
    return (pathlib.Path(blazar.__file__).parent / path).read_text()


def test_blazar_makes_its_plugins_before_it_looks_up_filters():
    """So the plugin can enable the filters."""
    text = source("manager/service.py")
    assert 0 < text.index("self._get_plugins()") < text.index("enforcement.UsageEnforcement()")


def test_blazar_asks_extensions_of_v1_while_it_makes_the_application():
    """So the extension with the name of an enabled plugin gets the application."""
    text = source("api/v1/app.py")
    in_order = (
        "def make_app():",
        "plugins = cfg.CONF.manager.plugins",
        "ext.name in plugins",
        "'blazar.api.v1.extensions'",
        "bp = ext.plugin()",
        "app.register_blueprint(bp",
        "app.wsgi_app = auth_token",
        "return app",
    )
    found = [text.index(part) for part in in_order]
    assert found == sorted(found)


def test_blazars_selector_of_versions_has_the_application_for_v1():
    text = source("api/app.py")
    assert "self.v1 = v1_app.make_app()" in text
    assert "def __call__(self, environ, start_response):" in text
