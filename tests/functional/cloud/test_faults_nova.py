"""Requests while Nova and Placement are down, and starts that Nova refuses.

There is one outage. The tests check what was tried during it.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.functional.cloud import devcloud, nova_side, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import at_once, until

#: The table of notes.
NOTES = "warre_backings"


@dataclasses.dataclass
class Outage:
    """What was done before the outage and during it."""

    flavor: dict[str, Any]
    #: A reservation to change, and those to delete, to end and to start.
    changed: dict[str, Any]
    deleted: dict[str, Any]
    ended: dict[str, Any]
    starting: dict[str, Any]
    #: What belonged to no reservation before the outage.
    orphans: set[tuple[str, str]]
    #: The ids of servers, by the id of their reservation.
    servers: dict[str, str]
    #: The answers to what needs neither Nova nor Placement, by what was asked.
    answers: dict[str, requests.Response] = dataclasses.field(default_factory=dict)
    deletion: requests.Response | None = None
    shown: dict[str, Any] = dataclasses.field(default_factory=dict)
    rebooked: requests.Response | None = None


def _boot(alpha: Person, reservation: dict[str, Any]) -> str:
    server = alpha.boots(reservation["compute_flavor"], "functional-outage")
    settled = until("a server", lambda: alpha.server_settles(server))
    assert settled.status == "ACTIVE", settled.fault
    return settled.id


def _prepared(admin: Person, alpha: Person, offer: Offer, records: Records) -> Outage:
    """Book one reservation to delete, one to end, both with a server, and one to start."""
    orphans = nova_side.orphans(admin, records)
    deleted, ended = (
        world.booked_now(alpha, offer(slots=1, properties=world.on_host(host)))
        for host in ("cmp1", "cmp2")
    )
    for reservation in (deleted, ended):
        world.becomes(alpha, reservation, "ACTIVE")
    servers = at_once([lambda r=r: _boot(alpha, r) for r in (deleted, ended)])
    return Outage(
        orphans=orphans,
        flavor=offer(slots=2),
        changed=world.booked(alpha, offer(slots=2), world.far()),
        deleted=deleted,
        ended=ended,
        starting=world.booked(alpha, offer(slots=1), world.far()),
        servers=dict(zip((deleted["id"], ended["id"]), servers, strict=True)),
    )


def _asked(alpha: Person, found: Outage) -> dict[str, requests.Response]:
    """Ask for everything that is only a matter of the database."""
    period = world.far()
    flavor, body = found.flavor, world.lease_body(period, world.slot(found.flavor))
    answers = {
        "book over v2": world.book(alpha, flavor, period),
        "book over v1": alpha.ask("POST", "/v1/leases", body),
    }
    path = f"/v2/reservations/{found.changed['id']}/"
    was = world.Period.of(found.changed)
    for name, change in {
        "move": was.moved(2, 2).v2,
        "extend": {"end": was.moved(2, 3).v2["end"]},
        "shorten": {"end": was.moved(2, 2).v2["end"]},
        "change the count": {"instance_count": 2},
    }.items():
        answers[name] = alpha.ask("PATCH", path, change)
    slots = f"/v2/flavors/{found.flavor['id']}/freeslots"
    return answers | {
        "list": alpha.ask("GET", "/v2/reservations/"),
        "free slots": alpha.ask("GET", slots),
        "delete": alpha.ask("DELETE", path),
    }


@pytest.fixture(scope="module")
def outage(admin: Person, alpha: Person, shared_offer: Offer, records: Records) -> Iterator[Outage]:
    """Stop Nova's API and Placement, try everything, and start them again."""
    found = _prepared(admin, alpha, shared_offer, records)
    with devcloud.away("nova-api"), devcloud.away("placement"):
        found.answers = _asked(alpha, found)
        found.deletion = alpha.ask("DELETE", f"/v2/reservations/{found.deleted['id']}/")
        found.shown["deleted"] = alpha.ask("GET", f"/v2/reservations/{found.deleted['id']}/")
        world.end_now(alpha, found.ended)
        found.shown["ended"] = world.becomes(alpha, found.ended, "COMPLETE")
        again = world.from_now()
        found.rebooked = world.book(alpha, found.ended["flavor"], again.moved(start=0.1))
        records.start_now([found.starting["lease_id"]], ahead=8)
        world.becomes(alpha, found.starting, "ACTIVE")
        found.shown["starting"] = until("a reason", lambda: _waiting(alpha, found.starting))
    yield found


def _waiting(who: Person, reservation: dict[str, Any]) -> dict[str, Any] | None:
    """The reservation, if it says why it isn't open yet."""
    shown = world.show(who, reservation)
    return shown if shown["status_reason"] else None


def _is_open(records: Records, reservation: dict[str, Any]) -> bool:
    (note,) = records.rows(NOTES, reservation_id=reservation["id"])
    return note["phase"] == "open"


def test_bookings_and_changes_need_no_nova(outage: Outage) -> None:
    refused = {name: a.text for name, a in outage.answers.items() if a.status_code >= 300}
    assert refused == {}
    assert outage.answers["free slots"].json()


def test_a_deleted_reservation_is_gone_for_its_user(outage: Outage) -> None:
    assert outage.deletion.status_code == 204, outage.deletion.text
    assert outage.shown["deleted"].status_code == 404


def test_an_ended_reservation_is_over(outage: Outage) -> None:
    assert outage.shown["ended"]["status"] == "COMPLETE"
    # Its slot is free.
    assert outage.rebooked.status_code == 200, outage.rebooked.text


@pytest.mark.parametrize("what", ["deleted", "ended"])
def test_what_was_left_goes_once_nova_is_back(
    admin: Person, outage: Outage, records: Records, what: str
) -> None:
    reservation_id = getattr(outage, what)["id"]
    servers = [outage.servers[reservation_id]]
    until("all to go", lambda: not nova_side.leftovers(admin, reservation_id, servers))
    until("its note to go", lambda: not records.rows(NOTES, reservation_id=reservation_id))


def test_what_started_is_usable_once_nova_is_back(
    alpha: Person, outage: Outage, records: Records
) -> None:
    starting = outage.starting
    assert "not available" in outage.shown["starting"]["status_reason"]
    until("it to be opened", lambda: _is_open(records, starting))
    assert _boot(alpha, starting)
    shown = world.show(alpha, starting)
    assert (shown["status"], shown["status_reason"]) == ("ACTIVE", None)


def test_outage_leaves_no_orphans_in_nova(admin: Person, outage: Outage, records: Records) -> None:
    until("leftovers to go", lambda: nova_side.orphans(admin, records) <= outage.orphans)
    until("notes to go", lambda: not records.stale_notes())


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param("os_compute_api:os-flavor-manage:create", id="flavor"),
        pytest.param(
            "os_compute_api:os-aggregates:create", id="aggregate", marks=pytest.mark.whole
        ),
    ],
)
def test_start_that_nova_refuses_is_tried_again(
    admin: Person, alpha: Person, offer: Offer, records: Records, rule: str
) -> None:
    with devcloud.nova_refusing(rule):
        booked = world.booked_now(alpha, offer())
        world.becomes(alpha, booked, "ACTIVE")
        shown = until("a reason", lambda: _waiting(alpha, booked))
        assert "Nova refused" in shown["status_reason"]
    until("it to be opened", lambda: _is_open(records, booked))
    assert world.show(alpha, booked)["status_reason"] is None
