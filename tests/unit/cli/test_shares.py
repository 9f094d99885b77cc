"""Commands on shares."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import RESERVATION, Api, listing
from warre_blazar.cli import shares
from warre_blazar.cli.failure import Failure

_PROJECT = "88888888888848888888888888888888"
_SHARE = {
    "id": "77777777-7777-4777-8777-777777777777",
    "reservation_id": RESERVATION.id,
    "project_id": _PROJECT,
    "owner_id": "project-1",
    "created_at": "2026-11-01T00:00:00+00:00",
}


def test_share_is_made_shown_listed_and_ended(
    api: Api, run: Run, run_json: Callable[..., Any]
) -> None:
    api.answers |= {
        "POST /v2/shares": Answer(201, _SHARE),
        "GET /v2/shares": listing(_SHARE),
        "GET /v2/shares/77777777-7777-4777-8777-777777777777": Answer(200, _SHARE),
        "DELETE /v2/shares/77777777-7777-4777-8777-777777777777": Answer(204),
    }
    assert run_json(shares.CreateShare, RESERVATION.id, _PROJECT) == _SHARE
    (sent,) = [request.body for request in api.seen if request.body]
    assert sent == {"reservation_id": RESERVATION.id, "project_id": _PROJECT}
    assert run_json(shares.ShowShare, _SHARE["id"]) == _SHARE
    (row,) = run_json(shares.ListShares, "--reservation", RESERVATION.id, "--long")
    assert row == _SHARE
    assert f"would delete share {_SHARE['id']}" in run(shares.DeleteShare, "7777", "--dry-run")
    assert "Deleted share: 7777" in run(shares.DeleteShare, "7777")


def test_dry_run_shares_nothing(api: Api, run: Run) -> None:
    said = run(shares.CreateShare, RESERVATION.id, _PROJECT, "--dry-run")
    assert said == f"Dry run: would let project {_PROJECT} boot servers in {RESERVATION.id}\n"
    assert {request.method for request in api.seen} <= {"GET"}


def test_share_that_is_not_found_leads_to_the_list(api: Api, run: Run) -> None:
    api.answers["GET /v2/shares"] = listing(_SHARE)
    with pytest.raises(Failure, match=r"no share 'week'.* reservation share list shows the IDs"):
        run(shares.DeleteShare, "week")
