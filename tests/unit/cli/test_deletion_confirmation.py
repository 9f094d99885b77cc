"""Which servers Nova is asked for before a reservation ends."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.cli.fake_api import reservation
from warre_blazar.cli import deletion_confirmation
from warre_blazar.client import Reservation

_RUNNING = Reservation.of(reservation(status="ACTIVE"))


class _Session:
    """A session of a project, with a Nova that has one server, which is in ERROR."""

    def __init__(self, project_id: str | None) -> None:
        self._project_id = project_id
        self.query: dict[str, str] = {}

    def get_project_id(self) -> str | None:
        return self._project_id

    def get(self, _: str, *, params: dict[str, str], **__: Any) -> SimpleNamespace:
        self.query = params
        there = [{"name": "b", "status": "ERROR"}]
        wanted = params.get("status")
        found = [each for each in there if wanted in (None, each["status"])]
        return SimpleNamespace(json=lambda: {"servers": found})


@pytest.mark.parametrize(
    ("project_id", "more"),
    [
        pytest.param(_RUNNING.project_id, {}, id="own"),
        pytest.param("another", {"all_tenants": "1"}, id="of another project"),
        pytest.param(None, {}, id="unknown"),
    ],
)
def test_servers_of_other_projects_are_found(project_id: str | None, more: dict[str, str]) -> None:
    session = _Session(project_id)
    assert deletion_confirmation.servers(session, _RUNNING) == ["b"]
    assert session.query == {"flavor": _RUNNING.compute_flavor, **more}


@pytest.mark.parametrize("status", ["ACTIVE", "ERROR"])
def test_server_in_error_is_named_before_it_is_deleted(status: str) -> None:
    running = Reservation.of(reservation(status=status))
    lost = deletion_confirmation.loss(_Session(running.project_id), running)
    assert lost == "Its 1 server (b) will be deleted for good"
