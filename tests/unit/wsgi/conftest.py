"""The site that all tests here share, which is set up again before each test, and its users."""

from collections.abc import Iterator
from typing import Any

import pytest
from blazar.manager.leases import rpcapi
from oslo_utils import timeutils

from tests.unit.api.people import Person
from tests.unit.wsgi.whole import WholeSite
from warre_blazar import timer


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholeSite]:
    """The running site, whatever is in it."""
    with WholeSite(tmp_path_factory.mktemp("site")) as site:
        yield site
    timeutils.clear_time_override()


@pytest.fixture
def site(running: WholeSite, monkeypatch: pytest.MonkeyPatch) -> WholeSite:
    running.clear()
    monkeypatch.setattr(timer, "clock", running.clock)
    running.remembered(running.furnish)
    return running


@pytest.fixture
def admin(site: WholeSite) -> Person:
    return Person(site.app, "admin")


@pytest.fixture
def alpha(site: WholeSite) -> Person:
    """A member of a project."""
    return Person(site.app, "alpha")


class Asked:
    """The calls of the manager by the API: (function, values). They don't reach the manager."""

    def __init__(self) -> None:
        self.values: list[tuple[str, dict[str, Any]]] = []

    def keys(self) -> set[str]:
        return {key for _, values in self.values for key in values}


@pytest.fixture
def asked(site: WholeSite, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Records calls of the manager instead of sending them."""
    found = Asked()

    def create(_self: Any, values: dict[str, Any]) -> dict[str, Any]:
        found.values.append(("create_lease", values))
        return {"id": "made", **values}

    def update(_self: Any, lease_id: str, values: dict[str, Any]) -> dict[str, Any]:
        found.values.append(("update_lease", values))
        return {"id": lease_id, **values}

    monkeypatch.setattr(rpcapi.ManagerRPCAPI, "create_lease", create)
    monkeypatch.setattr(rpcapi.ManagerRPCAPI, "update_lease", update)
    return found
