"""How many requests a process can serve at the same time, as its web server tells."""

import sys
import types

import pytest

from warre_blazar.wsgi import request_threads


@pytest.fixture(autouse=True)
def _nobody_has_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_threads, "_told", None)
    # As without uWSGI: the import fails.
    monkeypatch.setitem(sys.modules, "uwsgi", None)


def test_other_web_servers_do_not_tell():
    assert request_threads.count() is None


@pytest.mark.parametrize("cores", [1, 16])
def test_uwsgi_tells_its_cores(monkeypatch, cores):
    module = types.ModuleType("uwsgi")
    module.cores = cores  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "uwsgi", module)
    assert request_threads.count() == cores


def test_web_server_of_this_package_tells_its_threads():
    request_threads.tell(10)
    assert request_threads.count() == 10
