"""Which servers are named before a reservation ends."""

from typing import Any

import pytest

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import RESERVATION, Api, error, reservation, server
from warre_blazar.cli import deletion_confirmation, reservations


@pytest.mark.parametrize(
    ("servers", "lost"),
    [
        ([], ""),
        ([server("b", status="ERROR")], ". Its 1 server (b) will be deleted for good"),
        ([server("a"), server("b", moved_out=True)], ". Its 1 server (a) will be deleted for good"),
        ([server("b", moved_out=True)], ""),
        (None, ". The servers on it will be deleted for good"),
    ],
    ids=["none", "in error", "one that has moved out", "only one that has moved out", "unknown"],
)
@pytest.mark.parametrize("status", deletion_confirmation.RUNNING)
def test_servers_are_named_before_they_are_deleted(
    api: Api, run: Run, status: str, servers: list[dict[str, Any]] | None, lost: str
) -> None:
    found = reservation(status=status, servers=servers)
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, found)
    said = run(reservations.DeleteReservation, RESERVATION.id, "--dry-run")
    assert said.endswith(f"{status}{lost}\n")
    assert api.seen[-1].query == {"detail": "servers"}


def test_servers_are_not_known_if_the_api_does_not_tell(api: Api, run: Run) -> None:
    found = Answer(200, reservation(status="ACTIVE"))
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = [found, error(422, "no")]
    said = run(reservations.DeleteReservation, RESERVATION.id, "--dry-run")
    assert said.endswith(". The servers on it will be deleted for good\n")
