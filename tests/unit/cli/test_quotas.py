"""Commands on a project's quota, with a fake Keystone that has limits."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from blazarclient.exception import BlazarClientException

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import Api, error
from warre_blazar.cli import quotas

_PROJECT = "55555555555545558555555555555555"
_PLACE = {"service_id": "s", "region_id": "RegionOne"}
_USED = {
    "maxHours": -1,
    "maxReservations": 10,
    "totalHoursUsed": 336,
    "totalReservationsUsed": 3,
    "own": ["hours"],
}


def _registered(name: str, default: int, **place: str) -> dict[str, Any]:
    return {"id": name, "resource_name": name, "default_limit": default, **_PLACE, **place}


def _own(name: str, value: int) -> dict[str, Any]:
    limit = {"id": f"own-{name}", "resource_name": name, "resource_limit": value}
    return {**limit, "project_id": _PROJECT, **_PLACE}


def _limits(*found: dict[str, Any]) -> Answer:
    return Answer(200, {"limits": list(found)})


@pytest.fixture(autouse=True)
def keystone(api: Api) -> None:
    """A Keystone with both limits registered, and no limits of the project's own."""
    api.answers |= {
        "GET /v1/registered_limits": [
            Answer(200, {"registered_limits": [_registered(name, default)]})
            for name, default in (("reservation", 10), ("hours", 1000))
        ],
        "GET /v1/limits": _limits(),
        "POST /v1/limits": Answer(201, {"limits": []}),
        "PATCH /v1/limits/own-reservation": Answer(200, {"limit": {}}),
        "DELETE /v1/limits/own-reservation": Answer(204),
    }


def _changes(api: Api) -> list[tuple[str, Any]]:
    return [(r.line, r.body) for r in api.seen if r.method != "GET" and "limits" in r.line]


def test_show(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/limits"] = Answer(200, {"absolute": _USED})
    assert run_json(quotas.ShowQuota, _PROJECT) == [
        {"resource": "reservations", "used": 3, "limit": 10, "left": 7, "source": "default"},
        {"resource": "hours", "used": 336, "limit": -1, "left": -1, "source": "project"},
    ]
    assert api.seen[-1].query == {"project_id": _PROJECT}
    run_json(quotas.ShowQuota)
    assert api.seen[-1].query == {}


def test_set_makes_limits(api: Api, run_json: Callable[..., Any]) -> None:
    asked = (_PROJECT, "--reservations", "0", "--hours", "unlimited")
    assert run_json(quotas.SetQuota, *asked) == [
        {"resource": "reservations", "before": 10, "limit": 0},
        {"resource": "hours", "before": 1000, "limit": -1},
    ]
    made = {"project_id": _PROJECT, **_PLACE}
    assert _changes(api) == [
        (
            "POST /v1/limits",
            {"limits": [{**made, "resource_name": "reservation", "resource_limit": 0}]},
        ),
        (
            "POST /v1/limits",
            {"limits": [{**made, "resource_name": "hours", "resource_limit": -1}]},
        ),
    ]


@pytest.mark.parametrize(
    ("given", "change"),
    [
        ("0", ("PATCH /v1/limits/own-reservation", {"limit": {"resource_limit": 0}})),
        ("default", ("DELETE /v1/limits/own-reservation", None)),
    ],
)
def test_set_changes_existing_limits(
    api: Api, run_json: Callable[..., Any], given: str, change: tuple[str, Any]
) -> None:
    elsewhere = {**_own("reservation", 5), "id": "other", "region_id": "RegionTwo"}
    api.answers["GET /v1/limits"] = _limits(elsewhere, _own("reservation", 7))
    (row,) = run_json(quotas.SetQuota, _PROJECT, "--reservations", given)
    assert row["before"] == 7
    assert row["limit"] == (10 if given == "default" else 0)
    assert _changes(api) == [change]


def test_dry_run_sets_no_limit(api: Api, run: Run) -> None:
    said = run(quotas.SetQuota, _PROJECT, "--hours", "unlimited", "--dry-run")
    assert re.search(r"Dry run: would set .* hours from \d+ to unlimited", said)
    assert _changes(api) == []


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_limit_below_what_is_used_is_warned_of(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    api.answers["GET /v2/limits"] = Answer(200, {"absolute": _USED})
    run(quotas.SetQuota, _PROJECT, "--reservations", "3", "--hours", "300", *more)
    assert capsys.readouterr().err == (
        "Warning: the project uses 336 hours already, more than 300. Its reservations stay, but it "
        "can book nothing more until it uses less.\n"
    )
    assert [r.query for r in api.seen if r.line == "GET /v2/limits"] == [{"project_id": _PROJECT}]


def test_limits_that_are_no_lower_are_not_warned_of(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers["GET /v2/limits"] = Answer(200, {"absolute": _USED})
    run(quotas.SetQuota, _PROJECT, "--reservations", "3", "--hours", "unlimited")
    assert capsys.readouterr().err == ""


def test_dry_run_for_programs_has_the_rows_of_the_real_one(
    api: Api, run_json: Callable[..., Any]
) -> None:
    asked = (_PROJECT, "--reservations", "3", "--dry-run")
    (row,) = run_json(quotas.SetQuota, *asked)
    assert row == {"resource": "reservations", "before": 10, "limit": 3}
    assert _changes(api) == []


@pytest.mark.parametrize("number", ["-2", "1.5", "many", ""])
def test_bad_limit_is_refused(run: Run, number: str, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises((SystemExit, BlazarClientException)):
        run(quotas.SetQuota, _PROJECT, f"--hours={number}")


def test_set_without_options_is_refused(api: Api, run: Run) -> None:
    with pytest.raises(BlazarClientException, match="Nothing to set"):
        run(quotas.SetQuota, _PROJECT)
    assert not api.seen


_FAILURES = {
    "GET /v1/registered_limits": [
        (Answer(200, {"registered_limits": []}), "isn't registered .* quota register"),
        (error(403, "No"), "takes the role admin"),
        (Answer(500, {"error": {"message": "Broken"}}), "Keystone refused: 500 Broken"),
    ],
    "POST /v1/limits": [
        (error(403, "No"), "takes the role admin"),
        (error(409, "No"), "has a limit of its own already"),
    ],
}


@pytest.mark.parametrize(
    ("line", "answer", "said"),
    [(line, *case) for line, cases in _FAILURES.items() for case in cases],
)
def test_refusal_of_keystone_says_what_to_do(
    api: Api, run: Run, line: str, answer: Answer, said: str
) -> None:
    api.answers[line] = answer
    with pytest.raises(BlazarClientException, match=said):
        run(quotas.SetQuota, _PROJECT, "--reservations", "3")


def test_limit_of_blazar_is_chosen_and_several_regions_are_refused(api: Api, run: Run) -> None:
    both = [_registered("reservation", 1, service_id="other"), _registered("reservation", 10)]
    api.answers["GET /v1/registered_limits"] = Answer(200, {"registered_limits": both})
    api.answers["GET /v1/services"] = Answer(200, {"services": [{"id": "s"}]})
    run(quotas.SetQuota, _PROJECT, "--reservations", "3")
    ((_, body),) = _changes(api)
    assert body["limits"][0]["service_id"] == "s"
    api.answers["GET /v1/registered_limits"] = Answer(
        200, {"registered_limits": [both[1], {**both[1], "region_id": "RegionTwo"}]}
    )
    with pytest.raises(BlazarClientException, match="several regions"):
        run(quotas.SetQuota, _PROJECT, "--reservations", "3")


def test_system_token_reads_the_limits_of_projects(api: Api, run: Run) -> None:
    """With a token for another project, Keystone doesn't show a project's limits."""
    api.answers["POST /v1/v3/auth/tokens"] = Answer(
        201,
        {"token": {"methods": ["token"], "user": {}, "expires_at": "2999-01-01T00:00:00Z"}},
        {"X-Subject-Token": "of-the-system"},
    )
    registered = {"registered_limits": [_registered("reservation", 10)]}
    api.answers["GET /v1/v3/registered_limits"] = Answer(200, registered)
    api.answers["GET /v1/v3/limits"] = _limits(_own("reservation", 7))
    said = run(quotas.SetQuota, _PROJECT, "--reservations", "3", "--dry-run")
    assert "reservations from 7 to 3" in said
    (asked,) = [r for r in api.seen if r.line == "GET /v1/v3/limits"]
    assert asked.headers["x-auth-token"] == "of-the-system"
    (login,) = [r for r in api.seen if r.line.endswith("/auth/tokens")]
    assert login.body["auth"]["scope"] == {"system": {"all": True}}
    assert login.body["auth"]["identity"]["token"]["id"] == "a-token"
