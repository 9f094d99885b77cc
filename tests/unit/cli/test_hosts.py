"""The command that shows hosts."""

from collections.abc import Callable
from typing import Any

import pytest
from blazarclient.exception import BlazarClientException

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import RESERVATION, Api, listing, reservation
from warre_blazar.cli import hosts, reservations

_HELD = {
    "id": RESERVATION.id,
    "resource_type": "flavor:slot",
    "flavor": {"id": "f", "name": "gpu.large"},
    "project_id": "p",
    "user_id": "u",
    "status": "ALLOCATED",
    "instance_count": 2,
    "start": "2026-12-01T09:00:00+00:00",
    "end": "2026-12-01T11:00:00+00:00",
}


def host(name: str, **changes: Any) -> dict[str, Any]:
    amounts = {"capacity": 8, "used_now": 2, "used_peak": 6}
    return {
        "id": f"id-{name}",
        "name": name,
        "availability_zone": "nova",
        "state": "bookable",
        "draining": None,
        "providers_read_at": None,
        "resources": [
            {"resource_class": "VCPU", **amounts},
            {"resource_class": "DISK_GB", **amounts, "used_now": 0},
        ],
        "reservations": [],
        **changes,
    }


DRAINED = host(
    "b",
    state="draining",
    draining={"by": "root", "at": "2026-12-01T09:00:00+00:00", "reason": "fans"},
    reservations=[_HELD],
)


def test_hosts(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/hosts"] = listing(host("a"))
    assert run_json(hosts.ListHosts) == [
        {
            "host": "a",
            "state": "bookable",
            "full_now": 0.25,
            "full_at_most": 0.75,
            "reservations": 0,
        }
    ]
    assert "25 %" in run(hosts.ListHosts)


def test_drained_host_shows_who_and_why(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/hosts"] = [listing(host("a"), DRAINED), listing(DRAINED)]
    (row,) = run_json(hosts.ListHosts, "b", "--start", "2026-12-01", "--timezone", "Europe/Berlin")
    drain = ("root", "2026-12-01T10:00:00+01:00", "fans")
    assert (row["drained_by"], row["drained_at"], row["reason"]) == drain
    week = {"start": "2026-12-01T00:00:00+01:00", "end": "2026-12-08T00:00:00+01:00"}
    assert api.seen[0].query == week


def test_drain_of_a_host_that_still_has_servers_is_shown(api: Api, run_json: Any) -> None:
    left = {**DRAINED, "state": "abandoned", "room_taken": [], "compute_service": "disabled"}
    api.answers["GET /v2/hosts"] = [listing(left), listing(left)]
    (row,) = run_json(hosts.ListHosts, "b")
    assert (row["state"], row["reason"], row["compute_service"]) == (
        "abandoned",
        "fans",
        "disabled",
    )


_TAKEN = {
    "text": "2 VCPU of host a is taken by server s (vm, ACTIVE, project p, Nova flavor m1) on a",
    "needs": "a person",
    "remedy": "Move or delete the server.",
}


def test_named_host_shows_who_has_taken_room(api: Api, run: Run, run_json: Any) -> None:
    def answer(taken: Any) -> None:
        api.answers["GET /v2/hosts"] = [listing(host("a")), listing(host("a", room_taken=taken))]

    answer([_TAKEN])
    (row,) = run_json(hosts.ListHosts, "a")
    assert row["room_taken"] == [_TAKEN]
    assert "host" not in api.seen[0].query
    assert api.seen[1].query["host"] == "id-a"
    answer([_TAKEN])
    assert f"{_TAKEN['text']}. a person: Move or delete the server." in run(hosts.ListHosts, "a")
    answer([])
    assert "nobody" in run(hosts.ListHosts, "a")
    answer(None)
    assert "unknown" in run(hosts.ListHosts, "a")


def test_reservations_on_hosts(api: Api, run_json: Callable[..., Any]) -> None:
    stock = {**_HELD, "id": "s", "resource_type": "physical:host", "flavor": None}
    api.answers |= {
        "GET /v2/hosts": listing(host("a", reservations=[stock]), DRAINED),
        "GET /v1/projects/p": Answer(200, {"project": {"id": "p", "name": "climate"}}),
        "GET /v1/users/u": Answer(200, {"user": {"id": "u", "name": "ada"}}),
    }
    other, row = run_json(hosts.ListHosts, "--reservations")
    assert (row["host"], row["id"], row["instance_count"]) == ("b", RESERVATION.id, 2)
    whose = ("gpu.large", "climate", "ada", "ALLOCATED")
    assert tuple(row[name] for name in ("flavor", "project", "user", "status")) == whose
    assert (other["resource_type"], other["flavor"]) == ("physical:host", None)


@pytest.mark.parametrize("options", [[], ["--reservations"]], ids=["counted", "listed"])
def test_hosts_are_shown_with_the_time_that_counts(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    api.answers["GET /v2/hosts"] = listing(DRAINED)
    run(hosts.ListHosts, "--start", "2026-12-01T00:00Z", *options)
    assert capsys.readouterr().err == (
        "Only reservations in this time are shown: "
        "Tue 2026-12-01 00:00 UTC to Tue 2026-12-08 00:00 UTC\n"
    )
    assert api.seen[0].query["end"] == "2026-12-08T00:00:00+00:00"


def test_unknown_host_is_refused(api: Api, run: Run) -> None:
    api.answers["GET /v2/hosts"] = listing(host("a"))
    with pytest.raises(BlazarClientException, match=r"no host 'x'. There are: a$"):
        run(hosts.ListHosts, "x")


def test_hosts_of_a_reservation(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers |= {
        f"GET /v2/reservations/{RESERVATION.id}": Answer(200, reservation()),
        "GET /v2/hosts": listing(host("a"), DRAINED),
    }
    shown = run_json(reservations.ShowReservation, RESERVATION.id, "--hosts")
    assert shown["hosts"] == {"b": 2}
    assert api.seen[-1].query == {"start": _HELD["start"], "end": _HELD["end"]}
