"""Listings of reservations on each kind of database, compared with filters in Python."""

import dataclasses
import datetime
import itertools
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from blazar import status

from tests.functional.db import world
from warre_blazar.db import session, tables
from warre_blazar.db.booking import reservations as stored
from warre_blazar.db.booking.reservations import SORT_KEYS, Filter
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import lookup

pytestmark = pytest.mark.usefixtures("database")


def add(flavor: Flavor, number: int, lease_status: str, its_status: str | None) -> None:
    """Add a reservation of an hour, whose project, user and time follow from a number."""
    lease = world.add_lease(
        world.hours(number % 5, number % 5 + 1), project_id=f"project-{number % 3}"
    )
    world.write_lease(lease.id, {"status": lease_status, "user_id": f"user-{number % 2}"})
    created_at = world.NOW - datetime.timedelta(minutes=number % 4)
    with session.writer() as db:
        is_this_reservation = tables.reservations.c.id == lease.reservation_id
        db.execute(
            tables.reservations.update().where(is_this_reservation).values(status=its_status)
        )
        values = {"flavor_id": flavor.id, "instance_count": 1, "created_at": created_at}
        stored.insert(db, lease.reservation_id, values, flavor.shape)


@dataclasses.dataclass(frozen=True)
class Case:
    """A filter, and the equal condition on one reservation in Python."""

    wanted: Filter
    holds: Callable[[Reservation], bool]


def cases(flavor: Flavor) -> dict[str, Case]:
    at = world.hours(2, 3)
    cases_by_name = {
        "everything": Case(Filter(), lambda r: True),
        "project": Case(Filter(project_id="project-1"), lambda r: r.project_id == "project-1"),
        "user": Case(Filter(user_id="user-1"), lambda r: r.user_id == "user-1"),
        "flavor": Case(Filter(flavor_id=flavor.id), lambda r: r.flavor_id == flavor.id),
        "after": Case(Filter(after=at.start), lambda r: r.span.end > at.start),
        "before": Case(Filter(before=at.start), lambda r: r.span.start < at.start),
        "between": Case(Filter(after=at.start, before=at.end), lambda r: r.span.overlaps(at)),
        "all at once": Case(
            Filter(
                project_id="project-1",
                user_id="user-1",
                flavor_id=flavor.id,
                states=frozenset({reservation_states.ACTIVE}),
                after=at.start,
            ),
            lambda r: (
                (r.project_id, r.user_id, r.flavor_id, r.state)
                == ("project-1", "user-1", flavor.id, reservation_states.ACTIVE)
                and r.span.end > at.start
            ),
        ),
    }
    for count in range(1, 3):
        for wanted in itertools.combinations(reservation_states.ALL, count):
            cases_by_name[" or ".join(wanted)] = Case(
                Filter(states=frozenset(wanted)), lambda r, wanted=wanted: r.state in wanted
            )
    return cases_by_name


def test_filter_finds_the_same_as_python(database: sa.Engine):
    flavors = [world.add_flavor(), world.add_flavor()]
    every_status = itertools.product(
        status.LeaseStatus.ALL, (*status.ReservationStatus.ALL, "unknown", None)
    )
    for number, (of_lease, its_own) in enumerate(every_status):
        add(flavors[number % 7 % 2], number, of_lease, its_own)
    everything = [r for r, _ in lookup.listing(Filter())[0]]
    assert len(everything) == 54
    different = {}
    for name, case in cases(flavors[0]).items():
        found, total = lookup.listing(case.wanted)
        expected = [r.id for r in everything if case.holds(r)]
        if [r.id for r, _ in found] != expected or total != len(expected):
            different[name] = (total, len(expected))
        assert len(expected) > 0, name
    assert different == {}


@pytest.mark.parametrize("descending", [False, True], ids=["ascending", "descending"])
@pytest.mark.parametrize("sort", SORT_KEYS)
def test_listing_is_sorted(database: sa.Engine, sort: str, descending: bool):
    flavor = world.add_flavor()
    for number in range(12):
        add(flavor, number, "PENDING", "pending")

    def key(item: Reservation) -> tuple:
        of_span = {"start": item.span.start, "end": item.span.end}
        first = of_span[sort] if sort in of_span else getattr(item, sort)
        return first, item.span.start, item.id

    found, _ = lookup.listing(Filter(), sort=sort, descending=descending)
    listed = [r for r, _ in found]
    assert listed == sorted(listed, key=key, reverse=descending)
    page, total = lookup.listing(Filter(), sort=sort, descending=descending, limit=5, offset=3)
    assert [r for r, _ in page] == listed[3:8]
    assert total == 12


def test_listing_of_a_host_has_the_reservations_that_hold_it(database: sa.Engine, cloud):
    hosts = {name: world.add_host(cloud, name, vcpus=4) for name in ("one", "two")}
    flavor = world.add_flavor(slots=9, vcpu=2)
    leases = [world.book(world.request(flavor, world.hours(1, 2), count)) for count in (1, 1, 2)]
    assert {held_by(lease) for lease in leases} == {("one",), ("two",)}
    for name, host_id in hosts.items():
        on_it = {lease.reservation_id for lease in leases if name in held_by(lease)}
        for ref in (name, host_id):
            found, total = lookup.listing(Filter(), host=ref)
            assert {r.id for r, _ in found} == on_it
            assert total == len(on_it) > 0
    with pytest.raises(exceptions.InvalidField) as refused:
        lookup.listing(Filter(), host="nonesuch")
    assert refused.value.detail["field"] == "host"


def held_by(lease: world.Lease) -> tuple[str, ...]:
    """The names of the hosts that a lease's reservation holds."""
    allocation, host = (
        tables.allocations,
        tables.compute_hosts,
    )
    query = (
        sa.select(host.c.hypervisor_hostname)
        .distinct()
        .join(allocation, allocation.c.compute_host_id == host.c.id)
        .where(allocation.c.reservation_id == lease.reservation_id)
    )
    with session.reader() as db:
        return tuple(sorted(db.scalars(query)))
