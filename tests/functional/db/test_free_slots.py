"""Free slots, compared with a check of every span: exactly the free spans can be booked.

These tests run on SQLite only: the arithmetic is the same on all databases, and the queries are
tested elsewhere.
"""

import dataclasses
import datetime
import itertools
from typing import Any

import hypothesis
import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from hypothesis import strategies as st

from tests.functional.db import databases, world
from warre_blazar.db import session
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts.aggregates import HostAggregates
from warre_blazar.domain.slots import free_time
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission
from warre_blazar.services.flavors import flavors
from warre_blazar.services.maintenance import maintenance_windows
from warre_blazar.services.slots import free_slots

#: The number of minutes, from NOW on, that the tests look at.
HORIZON = 9
MINUTE = datetime.timedelta(minutes=1)

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True, scope="session")


def span(start: int, end: int) -> Span:
    """A span between two times that are given in minutes from the present."""
    return Span(world.NOW + start * MINUTE, world.NOW + end * MINUTE)


@st.composite
def spans(draw: st.DrawFn, first: int = 0) -> Span:
    start = draw(st.integers(first, HORIZON - 1))
    return span(start, draw(st.integers(start + 1, HORIZON + 2)))


@dataclasses.dataclass(frozen=True)
class World:
    """Two or three small hosts, a flavor, bookings, maintenance windows, and a question."""

    #: By host, the number of instances of the flavor that it has room for.
    hosts: list[int]
    slots: int
    #: When the flavor may be booked.
    period: tuple[int | None, int | None]
    #: Bookings of the flavor: time, count and project. Bookings of another type: time and host.
    booked: list[tuple[Span, int, str]]
    others: list[tuple[Span, int]]
    closed: list[Span]
    #: The maintenance windows of hosts: the time and the number of the host.
    host_windows: list[tuple[Span, int]]
    cleaning: int
    count: int
    affinity: bool | None
    #: By host, the projects that may use it. Hosts beyond the list are for all projects.
    tenants: list[frozenset[str] | None] = dataclasses.field(default_factory=list)


PROJECTS = (world.PROJECT, "project-beta")

WORLDS = st.builds(
    World,
    hosts=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    slots=st.integers(1, 5),
    period=st.tuples(
        st.none() | st.integers(-2, HORIZON // 2),
        st.none() | st.integers(HORIZON // 2 + 1, HORIZON + 2),
    ),
    booked=st.lists(st.tuples(spans(), st.integers(1, 2), st.sampled_from(PROJECTS)), max_size=4),
    others=st.lists(st.tuples(spans(), st.integers(0, 2)), max_size=3),
    closed=st.lists(spans(), max_size=2),
    host_windows=st.lists(st.tuples(spans(), st.integers(0, 2)), max_size=2),
    cleaning=st.integers(0, 2),
    count=st.integers(1, 3),
    affinity=st.sampled_from([None, None, True, False]),
    tenants=st.lists(st.none() | st.frozensets(st.sampled_from(PROJECTS)), max_size=2),
)


def build(made: World) -> Flavor:
    """Make the world. Bookings that don't fit are left out."""
    host_ids = [
        world.add_host(
            None, f"host-{n}", vcpus=2 * room, aggregates=HostAggregates(tenants=tenants)
        )
        for n, (room, tenants) in enumerate(
            zip(made.hosts, [*made.tenants, None, None, None], strict=False)
        )
    ]
    flavor = world.add_flavor(slots=made.slots, max_length_hours=1)
    for when, host in made.others:
        if host < len(host_ids):
            world.add_stock([host_ids[host]], when, "virtual:instance")
    for when, count, project_id in made.booked:
        hold(flavor, when, count, project_id, made.cleaning * MINUTE)
    for when in made.closed:
        if not any(when.overlaps(lease) for lease in leases()):
            maintenance_windows.create(when, None, [flavor.id], world.NOW)
    for when, host in made.host_windows:
        if host < len(host_ids):
            maintenance_windows.create(
                when, None, [], world.NOW, host_refs=[host_ids[host]], over_bookings=True
            )
    start, end = (None if m is None else world.NOW + m * MINUTE for m in made.period)
    return flavors.update(flavor.id, {"start": start, "end": end}).flavor


def leases() -> list[Span]:
    return [Span(lease["start_date"], lease["end_date"]) for lease in db_api.lease_list()]


def hold(
    flavor: Flavor, when: Span, count: int, project_id: str, cleaning: datetime.timedelta
) -> None:
    """Write a booking to our tables and Blazar's, without calls to services."""
    wanted = world.request(flavor, when, count, project_id=project_id, cleaning=cleaning)
    lease = world.add_lease(when)
    try:
        with session.claiming() as db:
            admission.claim(wanted, db, lease.reservation_id, None)
    except exceptions.WarreError:
        db_api.lease_destroy(lease.id)
    else:
        world.set_status(lease, "PENDING")


def fits(flavor: Flavor, when: Span, made: World, project_id: str) -> bool:
    """Whether a booking would be accepted."""
    request = world.request(
        flavor, when, made.count, project_id=project_id, cleaning=made.cleaning * MINUTE
    )
    wanted = dataclasses.replace(request, affinity=made.affinity)
    try:
        admission.check(wanted)
    except exceptions.WarreError:
        return False
    return True


def answered(
    flavor: Flavor, made: World, window: Span, project_id: str = world.PROJECT
) -> list[Span]:
    return free_slots.find(
        free_time.Question(
            flavor=flavor.id,
            project_id=project_id,
            everything=False,
            count=made.count,
            window=window,
            now=world.NOW + datetime.timedelta(seconds=30),
            cleaning=made.cleaning * MINUTE,
            affinity=made.affinity,
        )
    )


@pytest.fixture
def fresh(database: sa.Engine) -> Any:
    """A function that empties the tables, for use between the examples of hypothesis."""
    return lambda: databases.empty(database)


@hypothesis.settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
@hypothesis.given(WORLDS, st.sampled_from(PROJECTS))
def test_time_can_be_booked_if_and_only_if_it_is_free(fresh, made: World, project_id: str):
    fresh()
    flavor = build(made)
    window = span(0, HORIZON)
    free_spans = answered(flavor, made, window, project_id)
    bookable = {
        (start, end)
        for start, end in itertools.combinations(range(HORIZON + 1), 2)
        if fits(flavor, span(start, end), made, project_id)
    }
    within = {
        (start, end)
        for start, end in itertools.combinations(range(HORIZON + 1), 2)
        if any(free.contains(span(start, end)) for free in free_spans)
    }
    assert within == bookable
    # The spans are sorted, and none lies within another.
    assert free_spans == sorted(free_spans, key=lambda s: s.start)
    assert not any(a is not b and a.contains(b) for a in free_spans for b in free_spans)
    assert all(window.contains(free) for free in free_spans)


def test_overlapping_free_spans_are_found(database: sa.Engine):
    """One host is free until a time, and another from an earlier time on, so two spans overlap."""
    hosts = [world.add_host(None, name, vcpus=2) for name in ("a", "b")]
    world.add_stock([hosts[0]], span(6, 9), "virtual:instance")
    world.add_stock([hosts[1]], span(0, 3), "virtual:instance")
    flavor = world.add_flavor(slots=2, max_length_hours=1)
    made = World([1, 1], 2, (None, None), [], [], [], [], 0, 1, None)
    assert answered(flavor, made, span(0, 9)) == [span(0, 6), span(3, 9)]
    two = dataclasses.replace(made, count=2)
    assert answered(flavor, two, span(0, 9)) == [span(3, 6)]
