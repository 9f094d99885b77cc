"""Free slots against asking for every span there is: what is answered can be booked, all else not.

On SQLite only: the arithmetic is the same on all, and the queries are tested elsewhere.
"""

import dataclasses
import datetime
import itertools
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from hypothesis import strategies as st
from oslo_config import cfg

from tests.functional.db import databases, world
from warre_blazar import exceptions
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.timeline import Span
from warre_blazar.services import flavors, freeslots, reservations, windows

#: How many minutes are looked at, from NOW on.
HORIZON = 9
MINUTE = datetime.timedelta(minutes=1)


@pytest.fixture(scope="module")
def kind() -> Iterator[str]:
    """One that doesn't wait for its disk."""
    cfg.CONF.set_override("sqlite_synchronous", False, group="database")
    yield "sqlite"
    cfg.CONF.clear_override("sqlite_synchronous", group="database")


def span(start: int, end: int) -> Span:
    """In minutes from the present."""
    return Span(world.NOW + start * MINUTE, world.NOW + end * MINUTE)


@st.composite
def spans(draw: st.DrawFn, first: int = 0) -> Span:
    start = draw(st.integers(first, HORIZON - 1))
    return span(start, draw(st.integers(start + 1, HORIZON + 2)))


@dataclasses.dataclass(frozen=True)
class World:
    """Two or three small hosts, a flavor, what is booked and closed, and what is asked."""

    #: How many instances of the flavor each host has room for.
    hosts: list[int]
    slots: int
    #: When the flavor may be booked.
    period: tuple[int | None, int | None]
    #: When, how many of the flavor; and when, on which host, of another type.
    booked: list[tuple[Span, int]]
    others: list[tuple[Span, int]]
    closed: list[Span]
    cleaning: int
    count: int
    affinity: bool | None


WORLDS = st.builds(
    World,
    hosts=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    slots=st.integers(1, 5),
    period=st.tuples(
        st.none() | st.integers(-2, HORIZON // 2),
        st.none() | st.integers(HORIZON // 2 + 1, HORIZON + 2),
    ),
    booked=st.lists(st.tuples(spans(), st.integers(1, 2)), max_size=4),
    others=st.lists(st.tuples(spans(), st.integers(0, 2)), max_size=3),
    closed=st.lists(spans(), max_size=2),
    cleaning=st.integers(0, 2),
    count=st.integers(1, 3),
    affinity=st.sampled_from([None, None, True, False]),
)


def build(made: World) -> Flavor:
    """Make it; what doesn't fit among the bookings isn't there."""
    host_ids = [
        world.add_host(None, f"host-{n}", vcpus=2 * room) for n, room in enumerate(made.hosts)
    ]
    flavor = world.add_flavor(slots=made.slots, max_length_hours=1)
    for when, host in made.others:
        if host < len(host_ids):
            world.add_stock([host_ids[host]], when, "virtual:instance")
    for when, count in made.booked:
        hold(flavor, when, count, made.cleaning * MINUTE)
    for when in made.closed:
        if not any(when.overlaps(lease) for lease in leases()):
            windows.create(when, None, [flavor.id], world.NOW)
    start, end = (None if m is None else world.NOW + m * MINUTE for m in made.period)
    return flavors.update(flavor.id, {"start": start, "end": end})


def leases() -> list[Span]:
    return [Span(lease["start_date"], lease["end_date"]) for lease in db_api.lease_list()]


def hold(flavor: Flavor, when: Span, count: int, cleaning: datetime.timedelta) -> None:
    """Book, as far as our own tables and Blazar's go."""
    wanted = world.request(flavor, when, count, cleaning=cleaning)
    lease = world.add_lease(when)
    try:
        reservations._claim(lease.reservation_id, wanted, None)
    except exceptions.WarreError:
        db_api.lease_destroy(lease.id)
    else:
        world.set_status(lease, "PENDING")


def fits(flavor: Flavor, when: Span, made: World) -> bool:
    """Whether a booking would be taken."""
    asked = world.request(flavor, when, made.count, cleaning=made.cleaning * MINUTE)
    wanted = dataclasses.replace(asked, affinity=made.affinity)
    try:
        reservations.check(wanted)
    except exceptions.WarreError:
        return False
    return True


def answered(flavor: Flavor, made: World, window: Span) -> list[Span]:
    return freeslots.find(
        freeslots.Question(
            flavor=flavor.id,
            project_id=world.PROJECT,
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
    """Empties the tables, which hypothesis needs between its examples."""
    return lambda: databases.empty(database)


@hypothesis.settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
@hypothesis.given(WORLDS)
def test_exactly_what_is_answered_can_be_booked(fresh, made: World):
    fresh()
    flavor = build(made)
    window = span(0, HORIZON)
    found = answered(flavor, made, window)
    bookable = {
        (start, end)
        for start, end in itertools.combinations(range(HORIZON + 1), 2)
        if fits(flavor, span(start, end), made)
    }
    within = {
        (start, end)
        for start, end in itertools.combinations(range(HORIZON + 1), 2)
        if any(free.contains(span(start, end)) for free in found)
    }
    assert within == bookable
    # As few as can be: none within another, in order.
    assert found == sorted(found, key=lambda s: s.start)
    assert not any(a is not b and a.contains(b) for a in found for b in found)
    assert all(window.contains(free) for free in found)


def test_there_is_something_to_find(database: sa.Engine):
    """One host is free until a time, another from an earlier one on: two spans that overlap."""
    hosts = [world.add_host(None, name, vcpus=2) for name in ("a", "b")]
    world.add_stock([hosts[0]], span(6, 9), "virtual:instance")
    world.add_stock([hosts[1]], span(0, 3), "virtual:instance")
    flavor = world.add_flavor(slots=2, max_length_hours=1)
    made = World([1, 1], 2, (None, None), [], [], [], 0, 1, None)
    assert answered(flavor, made, span(0, 9)) == [span(0, 6), span(3, 9)]
    two = dataclasses.replace(made, count=2)
    assert answered(flavor, two, span(0, 9)) == [span(3, 6)]
