"""``free slots`` without a result explains why, and says what to do."""

import datetime
import json
from typing import Any

import pytest

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import Api, error
from warre_blazar.cli import flavors, no_free_slots
from warre_blazar.client import Reason
from warre_blazar.texts import commands

_LATER = {"start": "2026-12-01T09:00:00+00:00", "end": "2026-12-02T09:30:00+00:00"}
_FREE_LATER = (
    ". It is free from 2026-12-01 09:00 UTC for 24 hours 30 minutes: --start 2026-12-01T09:00Z. "
    "{calendar} f shows more."
)
_WINDOW = {"id": "w", "note": "firmware", **_LATER}

_NEVER = (
    ". Nothing that fits is free in the year after that either. Try fewer slots or hours; "
    "{calendar} f shows what is free."
)
_NO_TIME = {"longest": None, "next_free": None}
_SOME_TIME = {"longest": None, "next_free": _LATER}

#: By the API's code: its data, and what is printed.
TOLD: dict[str, tuple[dict[str, Any], str]] = {
    "flavor_inactive": (_NO_TIME, "f is closed. Book another flavor; see {list}."),
    "invalid_period": (_NO_TIME, "What the API says" + _NEVER),
    "after_flavor_end": (
        {"end": _LATER["end"], **_NO_TIME},
        "f can't be booked after 2026-12-02 09:30 UTC. Ask for an earlier time" + _NEVER,
    ),
    "before_flavor_start": (
        {"start": _LATER["start"], **_SOME_TIME},
        "f can't be booked before 2026-12-01 09:00 UTC. Ask for a later time" + _FREE_LATER,
    ),
    "too_long": (
        {"max_length_hours": 24, **_NO_TIME},
        "f can be booked for at most 24 hours at a time. Give --hours 24 or less.",
    ),
    "no_host_matches": (
        {"matching": 0, **_NO_TIME},
        "No host matches f, so it can't be booked at any time. Book another flavor ({list}), or "
        "ask the operator.",
    ),
    "maintenance": (
        {"windows": [_WINDOW, {**_WINDOW, "note": None}], **_SOME_TIME},
        "f is closed for maintenance then: 2026-12-01 09:00 UTC to 2026-12-02 09:30 UTC "
        "(firmware); 2026-12-01 09:00 UTC to 2026-12-02 09:30 UTC" + _FREE_LATER,
    ),
    "too_far_ahead": (
        {"max_days_ahead": 7, "latest_end": _LATER["start"], **_NO_TIME},
        "f can be booked only until 2026-12-01 09:00 UTC now, 7 days ahead. Ask for an earlier "
        "time, or later" + _NEVER,
    ),
    "too_many_instances": (
        {"asked": 9, "held": 1, "max_instances_per_project": 2, **_NO_TIME},
        "A project can hold at most 2 of f at a time, and your project's other reservations hold "
        "1 then" + _NEVER,
    ),
    "gap_too_short": (
        {"gap_hours": 2, **_SOME_TIME},
        "Other reservations of your project leave no time for more of f then" + _FREE_LATER,
    ),
    "slots_exhausted": (
        {"asked": 9, "free": 1, "slots": 9, **_NO_TIME},
        "Not enough slots of f are free then" + _NEVER,
    ),
    "hosts_exhausted": (
        {"asked": 9, "free": 8, "matching": 1, **_SOME_TIME},
        "The hosts of f have room for only 8 of 9 instances then" + _FREE_LATER,
    ),
}

_NAMES = {
    "list": "openstack reservation flavor list",
    "calendar": "openstack reservation flavor calendar",
}


def test_every_reason_has_an_explanation() -> None:
    assert set(TOLD) == {*commands.NOT_FREE, "invalid_period"}


def test_time_that_is_too_short_is_told(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    detail = {"asked": 9, "free": 1, "slots": 9, "longest": _LATER, "next_free": _LATER}
    reason = {"code": "slots_exhausted", "message": "What the API says", "detail": detail}
    api.answers["GET /v2/flavors/f/freeslots"] = [
        Answer(200, []),
        Answer(200, {"results": [], "reason": reason}),
    ]
    run(flavors.ListFreeSlots, "f", "--hours", "48")
    said = "f is free then, but for at most 24 hours 30 minutes at a time" + _FREE_LATER
    assert capsys.readouterr().err == said.format(**_NAMES) + "\n"


@pytest.mark.parametrize("code", TOLD)
def test_reason_is_explained(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    detail, said = TOLD[code]
    reason = {"code": code, "message": "What the API says", "detail": detail}
    api.answers["GET /v2/flavors/f/freeslots"] = [
        Answer(200, []),
        Answer(200, {"results": [], "reason": reason}),
    ]
    assert run(flavors.ListFreeSlots, "f", "--count", "9", "--hours", "1.5") == ""
    assert capsys.readouterr().err == said.format(**_NAMES) + "\n"
    first, second = (request.query for request in api.seen)
    assert second == {**first, "reason": "true", "hours": "1.500000"}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(error(503, "Away", "service_unavailable"), id="no answer"),
        pytest.param(Answer(200, {"results": [], "reason": None}), id="free by now"),
    ],
)
def test_missing_reason_is_not_invented(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str], answer: Answer
) -> None:
    api.answers["GET /v2/flavors/f/freeslots"] = [Answer(200, []), answer]
    run(flavors.ListFreeSlots, "f")
    assert capsys.readouterr().err.startswith("Nothing is free then. ")


@pytest.mark.parametrize("detail", [{}, {"next_free": 7}], ids=["no data", "other data"])
def test_unknown_reason_shows_the_api_message(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str], detail: dict[str, Any]
) -> None:
    for code in ("gap_too_short", "of a newer API"):
        reason = {"code": code, "message": "What the API says", "detail": detail}
        api.answers["GET /v2/flavors/f/freeslots"] = [
            Answer(200, []),
            Answer(200, {"results": [], "reason": reason}),
        ]
        run(flavors.ListFreeSlots, "f")
        assert capsys.readouterr().err == "What the API says.\n"


def test_no_free_slots_give_an_empty_json_list(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors/f/freeslots"] = Answer(200, [])
    assert json.loads(run(flavors.ListFreeSlots, "f", "-f", "json")) == []


def test_other_affinity_is_advised_only_if_one_was_given() -> None:
    reason = Reason("hosts_exhausted", "m", {"asked": 9, "free": 8, **_NO_TIME})
    texts = [
        no_free_slots.explanation(reason, "f", datetime.UTC, object(), affinity=affinity)
        for affinity in (None, True)
    ]
    assert ["fewer slots or hours, or another --affinity; " in text for text in texts] == [
        False,
        True,
    ]
