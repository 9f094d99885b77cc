"""Which servers Nova is asked for before a reservation ends."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.cli.fake_api import reservation
from warre_blazar.cli import deletion_confirmation
from warre_blazar.client import Reservation

_RUNNING = Reservation.of(reservation(status="ACTIVE"))


class _Session:
    """A session of a project, with a Nova that has one server."""

    def __init__(self, project_id: str | None) -> None:
        self._project_id = project_id
        self.query: dict[str, str] = {}

    def get_project_id(self) -> str | None:
        return self._project_id

    def get(self, _: str, *, params: dict[str, str], **__: Any) -> SimpleNamespace:
        self.query = params
        return SimpleNamespace(json=lambda: {"servers": [{"name": "b"}]})


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
