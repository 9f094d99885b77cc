"""Maintenance windows of hosts, and what becomes of the bookings that windows meet."""

import datetime
import functools

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import oversold, races, world
from tests.functional.db.outage import book_on, hosts_of
from warre_blazar.db import session, tables
from warre_blazar.db.booking import reservations
from warre_blazar.db.records import changes
from warre_blazar.domain.audit.differences import DifferenceKind
from warre_blazar.domain.maintenance import Outcome, OverBookings
from warre_blazar.domain.records.changes import ChangeKind
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.audit import looking
from warre_blazar.services.booking import admission
from warre_blazar.services.flavors import capacity
from warre_blazar.services.maintenance import maintenance_windows, over_bookings

pytestmark = pytest.mark.usefixtures("database")

hours = world.hours
MINUTE = datetime.timedelta(minutes=1)
#: Blazar's own plugins serve its own types.
STOCK = looking.StockTypes(lambda count: 600.0, are_exact=False)


@pytest.fixture
def pair(cloud: Cloud) -> tuple[str, str]:
    """Two hosts with room for two instances each."""
    return world.add_host(cloud, "a", vcpus=4), world.add_host(cloud, "b", vcpus=4)


@pytest.fixture
def flavor(pair):
    return world.add_flavor(slots=99)


def over(choice: OverBookings = OverBookings.MOVE) -> over_bookings.OverBookingsRequest:
    return over_bookings.OverBookingsRequest(choice, world.conditions(), world.NOW, "op")


def close(
    span: Span, choice: OverBookings = OverBookings.MOVE, hosts=("a",), flavors=(), **more
) -> list[tuple[str, Outcome]]:
    _, met = over_bookings.create(span, "fans", flavors, hosts, over(choice), **more)
    return [(each.reservation.reservation_id, each.outcome) for each in met]


def allow(lease, number: int) -> None:
    session.change(reservations.set_values, lease.reservation_id, {"movable_hours": number})


def span_of(lease) -> Span:
    with session.reader() as db:
        return reservations.require(db, lease.reservation_id).span


def test_closed_host_is_not_chosen_for_the_time_of_its_window(pair, flavor):
    b = pair[1]
    close(hours(2, 4))
    inside = [world.book(world.request(flavor, hours(2, 3))) for _ in range(2)]
    assert [hosts_of(lease) for lease in inside] == [{b: 1}, {b: 1}]
    with pytest.raises(exceptions.HostsExhausted):
        admission.check(world.request(flavor, hours(3, 5), 3))
    # Before and after the window, both hosts have room.
    for span in (hours(1, 2), hours(4, 5)):
        admission.check(world.request(flavor, span, 4))


def test_booking_ends_with_its_cleaning_before_the_window(pair, flavor):
    close(hours(2, 4), hosts=("a", "b"))
    cleaning = datetime.timedelta(minutes=30)
    with pytest.raises(exceptions.HostsExhausted):
        admission.check(world.request(flavor, hours(1, 2), cleaning=cleaning))
    admission.check(world.request(flavor, hours(0.5, 1.5), cleaning=cleaning))


def test_capacity_leaves_out_hosts_that_are_closed_all_the_time(pair, flavor):
    close(hours(2, 4))

    def names(span: Span) -> list[str]:
        found = capacity.of_flavor(flavor, span, world.NOW)
        return [room.host.name for room in found.rooms]

    assert names(hours(2, 4)) == ["b"]
    assert names(hours(2, 5)) == ["a", "b"]


def test_refused_window_writes_nothing_and_lists_what_it_meets(pair, flavor):
    lease = book_on(pair[0], flavor, hours(1, 3))
    with pytest.raises(exceptions.WindowConflict) as raised:
        close(hours(2, 4), OverBookings.REFUSE)
    listed = raised.value.detail["reservations"]
    assert (len(listed), raised.value.detail["total"]) == (1, 1)
    assert maintenance_windows.listing(None, 0, project_id=None, everything=True) == ([], 0)
    assert hosts_of(lease) == {pair[0]: 1}
    # The end of a reservation may be the start of a window.
    close(hours(3, 4), OverBookings.REFUSE)


@pytest.mark.parametrize("how", ["show", "dry run"])
def test_show_writes_nothing_and_says_what_move_does(database: sa.Engine, pair, flavor, how):
    a, b = pair
    moved = book_on(a, flavor, hours(1, 3))
    begun = book_on(a, flavor, hours(1, 3))
    world.begin(begun)
    left = begun.reservation_id, Outcome.LEFT
    expected = sorted([(moved.reservation_id, Outcome.MOVED), left], key=str)
    choice = OverBookings.SHOW if how == "show" else OverBookings.MOVE
    assert sorted(close(hours(2, 4), choice, dry_run=how == "dry run"), key=str) == expected
    with database.connect() as connection:
        assert connection.execute(sa.select(tables.maintenance_windows)).all() == []
    assert hosts_of(moved) == {a: 1}
    assert sorted(close(hours(2, 4)), key=str) == expected
    assert (hosts_of(moved), hosts_of(begun)) == ({b: 1}, {a: 1})
    with session.reader() as db:
        (change,) = changes.of_reservation(db, moved.reservation_id)
    assert (change.user_id, change.after) == ("op", {"reason": "maintenance"})


def test_without_other_hosts_a_reservation_gets_the_next_time_its_owner_allows(
    database: sa.Engine, pair, flavor
):
    a, b = pair
    full = book_on(b, flavor, hours(1, 5), 2)
    movable = book_on(a, flavor, hours(2, 3), 2)
    fixed = book_on(a, flavor, hours(3.25, 3.5), 2)
    short = book_on(a, flavor, hours(3.5, 4), 2)
    allow(movable, 2)
    allow(short, 0)
    outcomes = dict(close(hours(2, 4)))
    assert outcomes == {
        movable.reservation_id: Outcome.POSTPONED,
        fixed.reservation_id: Outcome.LEFT,
        short.reservation_id: Outcome.LEFT,
    }
    assert (span_of(movable), hosts_of(movable)) == (hours(4, 5), {a: 2})
    assert (span_of(fixed), span_of(full)) == (hours(3.25, 3.5), hours(1, 5))
    assert oversold.find(database) == []
    with database.connect() as connection:
        told = connection.execute(
            sa.select(tables.log_entries.c.kind, tables.log_entries.c.user_id).where(
                tables.log_entries.c.subject == movable.reservation_id
            )
        ).all()
        events = dict(
            connection.execute(
                sa.select(tables.events.c.event_type, tables.events.c.time).where(
                    tables.events.c.lease_id == movable.id
                )
            ).all()
        )
    assert ("rescheduled", "op") in [tuple(row) for row in told]
    with session.reader() as db:
        log = changes.of_reservation(db, movable.reservation_id)
    assert [c.after["reason"] for c in log if c.kind is ChangeKind.RESCHEDULED] == ["maintenance"]
    assert (events["start_lease"], events["end_lease"]) == (hours(4, 5).start, hours(4, 5).end)


def test_later_time_is_no_later_than_the_owner_allows(pair, flavor):
    a, b = pair
    book_on(b, flavor, hours(1, 9), 2)
    lease = book_on(a, flavor, hours(2, 3), 2)
    allow(lease, 1)
    assert close(hours(2, 4)) == [(lease.reservation_id, Outcome.LEFT)]
    assert span_of(lease) == hours(2, 3)


def test_later_time_keeps_the_terms_of_the_flavor(pair):
    flavor = world.add_flavor(slots=99, gap_hours=2)
    a, b = pair
    lease = book_on(a, flavor, hours(2, 3), 2)
    other = world.add_flavor(slots=99, name="other")
    book_on(b, other, hours(1, 20), 2)
    later = book_on(a, flavor, hours(6, 7))
    allow(lease, 9)
    assert close(hours(2, 4)) == [(lease.reservation_id, Outcome.POSTPONED)]
    assert span_of(later) == hours(6, 7)
    assert span_of(lease) == hours(9, 10)


def test_flavor_window_moves_in_time_only(pair, flavor):
    lease = book_on(pair[0], flavor, hours(2, 3))
    fixed = book_on(pair[0], flavor, hours(2, 3))
    allow(lease, 5)
    outcomes = dict(close(hours(1, 4), hosts=(), flavors=[flavor.id]))
    assert outcomes[lease.reservation_id] is Outcome.POSTPONED
    assert outcomes[fixed.reservation_id] is Outcome.LEFT
    assert (span_of(lease), span_of(fixed)) == (hours(4, 5), hours(2, 3))


def test_end_lets_end_what_began_and_leaves_what_begins_inside(pair, flavor):
    a, b = pair
    book_on(b, flavor, hours(0, 9), 2)
    begun = book_on(a, flavor, hours(0.5, 3))
    world.begin(begun)
    before, inside = book_on(a, flavor, hours(1, 3)), book_on(a, flavor, hours(3, 5))
    outcomes = dict(close(hours(2, 4), OverBookings.END))
    assert outcomes == {
        begun.reservation_id: Outcome.ENDED,
        before.reservation_id: Outcome.ENDED,
        inside.reservation_id: Outcome.LEFT,
    }
    assert [span_of(x) for x in (begun, before, inside)] == [
        hours(0.5, 2),
        hours(1, 2),
        hours(3, 5),
    ]


def test_other_hosts_that_the_window_closes_too_are_named(pair, flavor):
    inside = book_on(pair[0], flavor, hours(3, 5), 2)
    both = ["a", "b"]
    _, (met,) = over_bookings.create(hours(2, 4), None, [], both, over(), dry_run=True)
    assert (met.reservation.reservation_id, met.reason) == (
        inside.reservation_id,
        "each other host that matches (b) is closed as well, and its owner allows no other time "
        "(movable_hours is 0)",
    )


def test_end_says_that_what_begins_inside_the_window_stays(pair, flavor):
    a, b = pair
    book_on(b, flavor, hours(0, 9), 2)
    inside = book_on(a, flavor, hours(3, 5), 2)
    stays = (
        "no room for 2 of its instances at its time, on other hosts that match (1), and its owner "
        "allows no other time (movable_hours is 0)"
    )
    for choice, said in (
        (OverBookings.MOVE, stays),
        (
            OverBookings.END,
            f"{stays}; it begins inside the window, so it isn't ended: ask its project to delete "
            "it, or delete it",
        ),
    ):
        _, (met,) = over_bookings.create(hours(2, 4), None, [], ["a"], over(choice), dry_run=True)
        assert (met.reservation.reservation_id, met.reason) == (inside.reservation_id, said)


def test_flavor_window_gives_the_closed_flavor_as_the_reason(pair, flavor):
    book_on(pair[0], flavor, hours(2, 3))
    _, (met,) = over_bookings.create(hours(1, 4), None, [flavor.id], [], over())
    assert met.reason == (
        "the window closes its flavor, and its owner allows no other time (movable_hours is 0)"
    )


def seen_in_windows() -> list[tuple[str, str]]:
    """The reservations that an audit, a little later, finds in windows, with the windows."""
    seen = looking.look(world.NOW + 5 * MINUTE, lambda count: 600.0, STOCK)
    return [
        tuple(each.subject.split())
        for each in seen.differences
        if each.kind is DifferenceKind.BOOKED_IN_WINDOW
    ]


def test_interrupted_window_goes_on_where_it_stopped(pair, flavor, monkeypatch):
    a, b = pair
    first, second = (book_on(a, flavor, hours(2, 3)) for _ in range(2))
    relocate, calls = over_bookings.relocation.relocate, []

    def killed(*args):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return relocate(*args)

    monkeypatch.setattr(over_bookings.relocation, "relocate", killed)
    with pytest.raises(KeyboardInterrupt):
        close(hours(1, 4))
    monkeypatch.undo()
    assert sorted([*hosts_of(first), *hosts_of(second)]) == sorted([a, b])
    (window,), _ = maintenance_windows.listing(None, 0, project_id=None, everything=True)
    with pytest.raises(exceptions.HostsExhausted):
        admission.check(world.request(flavor, hours(2, 3), 2))
    # The audit names the reservation that wasn't moved, until somebody goes on.
    left = first if hosts_of(first) == {a: 1} else second
    assert seen_in_windows() == [(left.reservation_id, window.id)]
    over_bookings.update(window.id, {}, over())
    assert (hosts_of(first), hosts_of(second)) == ({b: 1}, {b: 1})
    assert seen_in_windows() == []


def test_lease_that_is_being_changed_is_left_and_can_be_cleared_later(pair, flavor):
    a, b = pair
    lease = book_on(a, flavor, hours(2, 3))
    world.set_status(lease, "UPDATING")
    assert close(hours(1, 4)) == [(lease.reservation_id, Outcome.LEFT)]
    world.set_status(lease, "PENDING")
    (window,), _ = maintenance_windows.listing(None, 0, project_id=None, everything=True)
    _, met = over_bookings.update(window.id, {}, over())
    assert [each.outcome for each in met] == [Outcome.MOVED]
    assert hosts_of(lease) == {b: 1}


def test_of_windows_and_bookings_at_the_same_time_none_meet_unlisted(kind, pair, flavor):
    """Given bookers and an operator at once, what is on the closed host was listed as left."""
    a, _ = pair
    listed: list[tuple[str, Outcome]] = []
    wish = world.request(flavor, hours(2, 3))
    leases = [world.add_lease(wish.span) for _ in range(6)]
    bookings = [races.Job(lease, wish, races.is_whole(kind)) for lease in leases]
    result = races.in_threads([lambda: listed.extend(close(hours(2, 4))), *bookings])
    assert result.outcomes.keys() <= {"held", "hosts_exhausted"}
    with session.reader() as db:
        on_host = maintenance_windows.maintenance.met(db, [], [a], hours(2, 4))
    left = {key for key, outcome in listed if outcome is Outcome.LEFT}
    assert {item.reservation_id for item in on_host} == left


def test_dry_runs_and_windows_at_the_same_time_all_end(pair, flavor):
    book_on(pair[0], flavor, hours(2, 3))
    closing = functools.partial(close, hours(2, 4))
    foreseeing = functools.partial(close, hours(2, 4), dry_run=True)
    result = races.in_threads([foreseeing, closing, foreseeing, closing])
    assert result.outcomes == {"held": 4}
