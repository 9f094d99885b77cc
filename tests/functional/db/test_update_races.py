"""Two requests change one lease at the same time: nothing is oversold, and each answer is true.

Each request runs Blazar's own code in a thread. The threads stop at the beginnings of transactions,
and everything between two of them is tried in turn.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from blazar import context
from blazar import exceptions as blazar_exc
from blazar.db import api as db_api
from blazar.enforcement import UsageEnforcement
from blazar.manager import exceptions as manager_exc
from blazar.manager import service
from oslo_db import exception as db_exc

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, oversold, world
from tests.functional.db.managers import RUNNING, WAITING, state
from tests.functional.db.stepping import Stepper, stepping
from warre_blazar.db import session
from warre_blazar.db.booking import quotas
from warre_blazar.errors import blazar_errors, exceptions
from warre_blazar.plugins import flavor_slot
from warre_blazar.services.booking import lookup
from warre_blazar.services.running import backing

pytestmark = pytest.mark.usefixtures("database")

hours = world.hours
SPAN = hours(10, 14)
TIME = "%Y-%m-%d %H:%M"
#: Blazar reads the lease, its reservations and its two events before it marks the lease.
MARKING = 5
#: The tables that have no rows when all leases are gone.
OF_LEASES = {
    "leases",
    "reservations",
    "events",
    "instance_reservations",
    "computehost_allocations",
    "warre_reservations",
    "warre_backings",
}


class Manager:
    """Blazar's manager with our plugin, without its timers. Each request has one of its own.

    The bookings and changes of one manager take turns, so only two managers can interleave them.
    """

    def __init__(self) -> None:
        self.blazars: Any = object.__new__(service.ManagerService)
        plugin = flavor_slot.FlavorSlotPlugin()
        self.blazars.plugins = {plugin.resource_type: plugin}
        self.blazars.resource_actions = self.blazars._setup_actions()
        self.blazars.enforcement = UsageEnforcement()
        self.blazars._send_notification = lambda *_, **__: None

    def update(self, lease: world.Lease, values: dict[str, Any]) -> Stepper:
        return self._request(
            lambda: self.blazars.update_lease(lease_id=lease.id, values=dict(values))
        )

    def delete(self, lease: world.Lease) -> Stepper:
        return self._request(lambda: self.blazars.delete_lease(lease_id=lease.id))

    @staticmethod
    def _request(call: Callable[[], Any]) -> Stepper:
        def job() -> Any:
            with context.BlazarContext(project_id=world.PROJECT, user_id="user"):
                return call()

        return Stepper(job)


@pytest.fixture
def flavor(cloud: Cloud):
    """A flavor with two slots, on a host that has room for two instances."""
    world.add_host(cloud, "a", vcpus=4)
    return world.add_flavor(slots=2)


def book_all(flavor, span: world.Span) -> world.Lease:
    """Book both slots, with a reminder an hour before the end."""
    lease = world.book(world.request(flavor, span, 2))
    reminder = hours(13, 14).start
    db_api.event_create(
        {
            "lease_id": lease.id,
            "event_type": "before_end_lease",
            "time": reminder,
            "status": "UNDONE",
        }
    )
    return lease


def buy(flavor, *spans: world.Span) -> None:
    """Book whatever is free at these times."""
    for span in spans:
        for count in (2, 1):
            with contextlib.suppress(exceptions.WarreError):
                world.book(world.request(flavor, span, count, project_id="project-buyer"))


def end_of(span: world.Span) -> dict[str, str]:
    return {"end_date": span.end.strftime(TIME)}


def fewer(lease: world.Lease) -> dict[str, Any]:
    """One instance less, and another reminder. Blazar also writes the dates that it has read."""
    return {
        "reservations": [{"id": lease.reservation_id, "amount": 1}],
        "before_end_date": hours(11, 12).start.strftime(TIME),
    }


def longer(lease: world.Lease) -> dict[str, Any]:
    return end_of(hours(10, 16))


def times(lease: world.Lease) -> dict[str, Any]:
    return {e["event_type"]: e["time"] for e in db_api.lease_get(lease.id)["events"]}


def check_agreement(lease: world.Lease) -> None:
    """Check that the lease waits for its start, with events at its start and its end."""
    assert state(lease) == WAITING
    row = db_api.lease_get(lease.id)
    found = times(lease)
    assert (found["start_lease"], found["end_lease"]) == (row["start_date"], row["end_date"])
    assert row["start_date"] <= found["before_end_lease"] <= row["end_date"]


@pytest.mark.parametrize("other", [fewer, longer])
def test_two_updates_at_once_oversell_nothing(
    database: sa.Engine,
    cloud: Cloud,
    flavor,
    other: Callable[[world.Lease], dict[str, Any]],
    stride: int,
):
    """Both requests have read that nobody works on the lease, before either marks it."""
    for step in range(MARKING, 60, stride):
        lease = book_all(flavor, SPAN)
        first = Manager().update(lease, other(lease))
        second = Manager().update(lease, end_of(hours(10, 12)))
        with stepping(database, first, second):
            second.run_to(MARKING)
            is_over = first.run_to(step)
            second.finish()
            buy(flavor, hours(12, 14))
        assert oversold.find(database) == [], step
        check_agreement(lease)
        assert first.succeeded or second.succeeded, (first.outcome, second.outcome)
        if not first.succeeded:
            assert db_api.lease_get(lease.id)["end_date"] == hours(10, 12).end, step
        databases.delete_leases()
        if is_over:
            return
    pytest.fail("the request has more transactions")


REFUSED = "was changed by another request"


@pytest.fixture
def suspended(database: sa.Engine, flavor) -> Iterator[tuple[world.Lease, Stepper]]:
    """An update that keeps a lease's dates, and whose manager is suspended after our promise.

    The repairer has then given the update up.
    """
    lease = book_all(flavor, SPAN)
    update = Manager().update(lease, fewer(lease))
    with stepping(database, update):
        while lookup.get(lease.reservation_id, None)[0].instance_count == 2:
            assert not update.run_to_next()
        world.write_lease(lease.id, {"status": "PENDING"})
        yield lease, update


def test_update_after_which_a_lease_was_shortened_writes_no_dates(
    database: sa.Engine, flavor, suspended
):
    lease, update = suspended
    assert Manager().update(lease, end_of(hours(10, 12))).finish()
    moved = times(lease)
    buy(flavor, hours(12, 14))
    assert isinstance(update.finish(), manager_exc.CantUpdateParameter)
    assert REFUSED in str(update.outcome)
    assert oversold.find(database) == []
    check_agreement(lease)
    assert times(lease) == moved


def test_update_of_a_lease_that_another_update_has_extended_and_shortened_writes_no_dates(
    database: sa.Engine, flavor, suspended
):
    lease, update = suspended
    for hour in (16, 12):
        assert Manager().update(lease, end_of(hours(10, hour))).finish()
    buy(flavor, hours(12, 14), hours(14, 16))
    assert isinstance(update.finish(), manager_exc.CantUpdateParameter)
    assert oversold.find(database) == []
    check_agreement(lease)


def test_update_that_was_given_up_does_not_change_the_status(flavor, suspended):
    """Meanwhile the lease has started."""
    lease, update = suspended
    world.begin(lease)
    world.set_event(lease, "start_lease", "DONE")
    update.finish()
    assert state(lease) == RUNNING


def test_update_whose_dates_were_never_promised_is_refused(flavor):
    lease = book_all(flavor, SPAN)
    world.write_lease(lease.id, {"status": "UPDATING"})
    with pytest.raises(manager_exc.CantUpdateParameter, match=REFUSED):
        db_api.lease_update(lease.id, {"end_date": hours(10, 13).end})
    assert db_api.lease_get(lease.id)["end_date"] == SPAN.end


def test_quota_that_a_shortened_lease_has_freed_is_not_used_twice(cloud: Cloud, flavor, suspended):
    """The suspended update needs no more quota than the lease had, so no quota was claimed."""
    lease, update = suspended
    assert Manager().update(lease, end_of(hours(10, 12))).finish()
    cloud.keystone.limits |= {(world.PROJECT, "reservation"): 9, (world.PROJECT, "hours"): 5}
    world.book(world.request(flavor, hours(20, 23), rule=world.QUOTA))
    update.finish()
    with session.reader() as db:
        used = quotas.usage(db, world.PROJECT, {"flavor:slot"})
    assert used.hours == 5


@pytest.mark.parametrize("deletes_first", [False, True], ids=["update-stops", "deletion-stops"])
def test_deletion_beside_an_update_deletes_the_lease(
    database: sa.Engine, cloud: Cloud, flavor, deletes_first, caplog, stride: int
):
    """Each request stops in turn before each of its transactions, and the other one overtakes it.

    The request that overtakes has read that nobody works on the lease. Users can cause that, so it
    leaves no traceback in the log.
    """
    for step in range(MARKING, 60, stride):
        lease = book_all(flavor, SPAN)
        update = Manager().update(lease, fewer(lease) | end_of(hours(10, 16)))
        deletion = Manager().delete(lease)
        first, second = (deletion, update) if deletes_first else (update, deletion)
        with stepping(database, first, second):
            second.run_to(MARKING)
            is_over = first.run_to(step)
            second.finish()
        assert update.succeeded or isinstance(update.outcome, blazar_exc.BlazarException), step
        if deletion.succeeded:
            assert db_api.lease_get(lease.id) is None, step
        else:
            assert isinstance(deletion.outcome, blazar_exc.InvalidStatus), deletion.outcome
            check_agreement(lease)
            databases.delete_leases()
        backing.reconcile()
        assert cloud.is_clean(), step
        assert OF_LEASES.isdisjoint(databases.dump_live(database)), step
        assert not [record for record in caplog.records if record.exc_info], step
        if is_over:
            return
    pytest.fail("the request has more transactions")


class Deadlock:
    """Lets one statement that writes meet a deadlock, which undoes the statement's transaction."""

    def __init__(self, number: int) -> None:
        """
        :param number: which of the statements, counted from 1.
        """
        self._left = number

    def __call__(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.lstrip().startswith(("INSERT", "UPDATE", "DELETE")):
            self._left -= 1
            if self._left == 0:
                raise db_exc.DBDeadlock

    @property
    def was_met(self) -> bool:
        return self._left <= 0


@contextlib.contextmanager
def deadlock_at(engine: sa.Engine, number: int) -> Iterator[Deadlock]:
    deadlock = Deadlock(number)
    sa.event.listen(engine, "before_cursor_execute", deadlock)
    try:
        yield deadlock
    finally:
        sa.event.remove(engine, "before_cursor_execute", deadlock)


def refused(lease: world.Lease) -> dict[str, Any]:
    """An extension into a time when somebody else has the slots, with another reminder."""
    return {**longer(lease), "before_end_date": hours(12, 13).start.strftime(TIME)}


@pytest.mark.parametrize("values", [refused, fewer])
def test_update_that_meets_a_deadlock_at_any_write_ends_as_without_it(
    database: sa.Engine, cloud: Cloud, clock, flavor, values
):
    for number in itertools.count(1):
        lease = book_all(flavor, SPAN)
        before = times(lease)
        buy(flavor, hours(14, 18))
        with deadlock_at(database, number) as deadlock:
            update = Manager().update(lease, values(lease))
            update.finish()
        check_agreement(lease)
        if values is refused:
            assert blazar_errors.code_of(update.outcome) == "slots_exhausted", number
            assert times(lease) == before, number
        else:
            assert update.succeeded, (number, update.outcome)
        databases.delete_leases()
        if not deadlock.was_met:
            return


def test_deletion_that_meets_a_deadlock_at_any_write_deletes_the_lease(
    database: sa.Engine, cloud: Cloud, clock, flavor
):
    for number in itertools.count(1):
        lease = book_all(flavor, SPAN)
        with deadlock_at(database, number) as deadlock:
            deletion = Manager().delete(lease)
            deletion.finish()
        assert deletion.succeeded, (number, deletion.outcome)
        assert db_api.lease_get(lease.id) is None
        if not deadlock.was_met:
            return
