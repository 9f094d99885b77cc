"""Requests while Nova is down, and while Nova refuses requests.

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

#: The table of notes. The note of a booking that fails while Nova is down has to stay.
NOTES = "warre_backings"


@dataclasses.dataclass
class Outage:
    """What was done before the outage and during it."""

    flavor: dict[str, Any]
    deleted: dict[str, Any]
    ended: dict[str, Any]
    starting: dict[str, Any]
    #: What belonged to no reservation before the outage.
    orphans: set[tuple[str, str]]
    #: The ids of servers, by the id of their reservation.
    servers: dict[str, str]
    tables: list[Any] = dataclasses.field(default_factory=list)
    classes: list[set[str]] = dataclasses.field(default_factory=list)
    refused: dict[str, requests.Response] = dataclasses.field(default_factory=dict)
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
        flavor=offer(slots=1),
        deleted=deleted,
        ended=ended,
        starting=world.booked(alpha, offer(slots=1), world.far()),
        servers=dict(zip((deleted["id"], ended["id"]), servers, strict=True)),
    )


def _classes(admin: Person) -> set[str]:
    return {cls.name for cls in admin.cloud.placement.resource_classes()}


@pytest.fixture(scope="module")
def outage(admin: Person, alpha: Person, shared_offer: Offer, records: Records) -> Iterator[Outage]:
    """Stop Nova's API, try everything, and start it again."""
    found = _prepared(admin, alpha, shared_offer, records)
    with devcloud.away("nova-api"):
        period = world.far()
        found.tables.append(records.dump(NOTES))
        found.classes.append(_classes(admin))
        found.refused["v2"] = world.book(alpha, found.flavor, period)
        body = world.lease_body(period, world.slot(found.flavor))
        found.refused["v1"] = alpha.ask("POST", "/v1/leases", body)
        found.tables.append(records.dump(NOTES))
        found.classes.append(_classes(admin))

        found.deletion = alpha.ask("DELETE", f"/v2/reservations/{found.deleted['id']}/")
        found.shown["deleted"] = alpha.ask("GET", f"/v2/reservations/{found.deleted['id']}/")
        world.end_now(alpha, found.ended)
        found.shown["ended"] = world.becomes(alpha, found.ended, "COMPLETE")
        again = world.from_now()
        found.rebooked = world.book(alpha, found.ended["flavor"], again.moved(start=0.1))
        records.start_now([found.starting["lease_id"]], ahead=8)
        found.shown["starting"] = world.becomes(alpha, found.starting, "ACTIVE")
    yield found


def _named(answer: requests.Response, service: str, status: int) -> None:
    assert answer.status_code == status, answer.text
    assert service in answer.json()["error_message"]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_booking_is_refused(outage: Outage, version: str) -> None:
    _named(outage.refused[version], "Nova", 503)


def test_a_refused_booking_leaves_nothing(outage: Outage) -> None:
    assert outage.tables[0] == outage.tables[1]
    assert outage.classes[0] == outage.classes[1]


def test_a_deleted_reservation_is_gone_for_its_user(outage: Outage) -> None:
    assert outage.deletion.status_code == 204, outage.deletion.text
    assert outage.shown["deleted"].status_code == 404


def test_an_ended_reservation_is_over(outage: Outage) -> None:
    assert outage.shown["ended"]["status"] == "COMPLETE"
    # Its slot is free: another booking is refused only because Nova is down.
    _named(outage.rebooked, "Nova", 503)


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
    until(
        "it to be opened",
        lambda: records.rows(NOTES, reservation_id=starting["id"])[0]["phase"] == "open",
    )
    assert _boot(alpha, starting)
    assert world.show(alpha, starting)["status"] == "ACTIVE"


def test_outage_leaves_no_orphans_in_nova(admin: Person, outage: Outage, records: Records) -> None:
    until("leftovers to go", lambda: nova_side.orphans(admin, records) <= outage.orphans)
    until("notes to go", lambda: not records.stale_notes())


@pytest.mark.parametrize(
    "rule",
    ["os_compute_api:os-flavor-manage:create", "os_compute_api:os-aggregates:create"],
    ids=["flavor", "aggregate"],
)
def test_booking_that_nova_refuses_leaves_nothing(
    admin: Person, alpha: Person, offer: Offer, records: Records, rule: str
) -> None:
    flavor, period = offer(), world.far()
    before, orphans = records.dump(), nova_side.orphans(admin, records)
    notes = records.stale_notes()
    with devcloud.nova_refusing(rule):
        _named(world.book(alpha, flavor, period), "Nova refused", 502)
        body = world.lease_body(period, world.slot(flavor))
        _named(alpha.ask("POST", "/v1/leases", body), "Nova refused", 502)
    # Nova is up this time, so the failed booking is cleaned up at once.
    assert records.dump() == before
    assert records.stale_notes() <= notes
    assert nova_side.orphans(admin, records) <= orphans
    world.booked(alpha, flavor, period)
