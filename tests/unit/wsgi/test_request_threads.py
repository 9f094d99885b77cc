"""How many requests a process can serve at the same time, as its web server tells."""

import sys
import types

import pytest

from warre_blazar import compat
from warre_blazar.wsgi import request_threads


@pytest.fixture(autouse=True)
def _nobody_has_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_threads, "_told", None)
    # As without uWSGI: the import fails.
    monkeypatch.setitem(sys.modules, "uwsgi", None)


def test_other_web_servers_do_not_tell():
    assert request_threads.count() is None


def serve_by_uwsgi(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    """Let this process be one of uWSGI's."""
    module = types.ModuleType("uwsgi")
    module.cores = cores  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "uwsgi", module)


def install_blazar(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int]) -> None:
    monkeypatch.setattr(compat, "version", lambda _: version)


@pytest.mark.parametrize("cores", [1, 16])
def test_uwsgi_tells_its_cores(monkeypatch, cores):
    serve_by_uwsgi(monkeypatch, cores)
    assert request_threads.count() == cores


def test_threads_are_refused_with_eventlet(monkeypatch):
    serve_by_uwsgi(monkeypatch, 16)
    install_blazar(monkeypatch, (17, 0))
    with pytest.raises(compat.Unsupported, match=r"Blazar 17 .* one thread .* has 16: .* to 1"):
        request_threads.check()


@pytest.mark.parametrize(("blazar", "cores"), [((17, 0), 1), ((18, 0), 16), ((18, 0), 1)])
def test_other_threads_are_accepted(monkeypatch, blazar, cores):
    serve_by_uwsgi(monkeypatch, cores)
    install_blazar(monkeypatch, blazar)
    request_threads.check()


def test_threads_of_this_packages_web_server_are_accepted_with_eventlet(monkeypatch):
    """They are eventlet's, because Blazar has replaced Python's threads when the server starts."""
    install_blazar(monkeypatch, (17, 0))
    request_threads.tell(10)
    request_threads.check()


def test_web_server_of_this_package_tells_its_threads():
    request_threads.tell(10)
    assert request_threads.count() == 10
