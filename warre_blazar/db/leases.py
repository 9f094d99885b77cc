"""Reads leases, with their events, their reservations and their lease claims."""

import dataclasses
import datetime
from collections import defaultdict
from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import backings, executions, lease_workers
from warre_blazar.db.tables import allocations, events, leases, reservations
from warre_blazar.domain import lease_states
from warre_blazar.domain.execution_timing import DURING, END, START
from warre_blazar.domain.flavor import RESOURCE_TYPE
from warre_blazar.domain.lease_states import State, Statuses
from warre_blazar.domain.timeline import Span

START_EVENT, END_EVENT, BEFORE_END_EVENT = "start_lease", "end_lease", "before_end_lease"
BLAZARS_EVENTS = (START_EVENT, END_EVENT, BEFORE_END_EVENT)


#: If an attempt at a start or an end fails, its event is postponed by less than this time.
LONGEST_PAUSE = datetime.timedelta(minutes=2)


@dataclasses.dataclass(frozen=True)
class Event:
    """A row of Blazar's table ``events``."""

    id: str
    type: str
    time: datetime.datetime | None
    status: str


@dataclasses.dataclass(frozen=True)
class LeaseReservation:
    """A reservation of a lease, of any resource type."""

    id: str
    #: Whether the reservation is of the resource type flavor:slot.
    is_ours: bool
    #: The reservation's status in Blazar's table.
    status: str
    #: Whether the reservation has host allocations in Blazar's table.
    held: bool
    #: Whether the table ``warre_backings`` has a note for the reservation, and the backing isn't
    #: being removed.
    backed: bool


@dataclasses.dataclass(frozen=True)
class Lease:
    """A lease as it was read. Times are naive datetimes in UTC."""

    id: str
    status: str
    span: Span
    updated_at: datetime.datetime | None
    events: tuple[Event, ...]
    reservations: tuple[LeaseReservation, ...]
    #: The lease's execution. A manager has claimed it, or it waits for a manager. None: the lease
    #: has no execution.
    claim: executions.Execution | None
    #: Whether a manager began a client's request on the lease, and nobody works on it any more.
    is_abandoned: bool = False

    def is_ours(self) -> bool:
        """Whether the lease has a flavor:slot reservation."""
        return any(r.is_ours for r in self.reservations)

    def of_type(self, event_type: str) -> list[Event]:
        """The lease's events of this type. A lease should have one start and one end event."""
        return [event for event in self.events if event.type == event_type]

    def state(self, now: datetime.datetime, age: lease_states.Age) -> State:
        """The facts about the lease that the table in ``lease_states`` tests.

        :param age: for how long the repairing manager has seen the lease unchanged.
        """
        ours = [r for r in self.reservations if r.is_ours]
        return State(
            statuses=Statuses(self.status, self._status(START_EVENT), self._status(END_EVENT)),
            reservations=lease_states.summary(r.status for r in self.reservations),
            events_exact=self._events_are_exact(now),
            holds=all(r.held == (r.status != "deleted") for r in ours),
            backed=all(r.backed for r in ours if r.status != "deleted"),
            is_over=self.span.end <= now,
            claim=executions.state_of(self.claim),
            age=age,
        )

    def _status(self, event_type: str) -> str:
        matching = self.of_type(event_type)
        return matching[0].status if matching else lease_states.MISSING

    def _events_are_exact(self, now: datetime.datetime) -> bool:
        for event_type, due in ((START_EVENT, self.span.start), (END_EVENT, self.span.end)):
            matching = self.of_type(event_type)
            if len(matching) != 1 or not _is_on_time(matching[0], due, now):
                return False
        return all(event.type in BLAZARS_EVENTS for event in self.events)


#: The columns of ``Event``, in the order of its fields.
EVENT_COLUMNS = (events.c.id, events.c.event_type, events.c.time, events.c.status)


def _is_on_time(event: Event, due: datetime.datetime, now: datetime.datetime) -> bool:
    """Whether the time of an event is as expected.

    - An event that is done may have any time.
    - Usually an event has the time at which its lease starts or ends.
    - After a failed attempt, the event is postponed. It is later than the lease's start or end, but
      at most ``LONGEST_PAUSE`` in the future.

    :param due: the lease's start for a start event, the lease's end for an end event.
    """
    if event.time == due or event.status == lease_states.DONE:
        return True
    return event.time is not None and due <= event.time <= now + LONGEST_PAUSE


def read(db: Session, lease_ids: Collection[str]) -> list[Lease]:
    """Read leases by id, in five queries. Leases that don't exist are left out."""
    if not lease_ids:
        return []
    events_of: dict[str, list[Event]] = defaultdict(list)
    for lease_id, *values in db.execute(
        sa.select(
            events.c.lease_id, events.c.id, events.c.event_type, events.c.time, events.c.status
        )
        .where(events.c.lease_id.in_(lease_ids))
        .order_by(events.c.created_at, events.c.id)
    ):
        events_of[lease_id].append(Event(*values))
    reservations_of: dict[str, list[LeaseReservation]] = defaultdict(list)
    held = sa.exists().where(allocations.c.reservation_id == reservations.c.id)
    backed = backings.is_whole(reservations.c.id)
    for lease_id, *facts in db.execute(
        sa.select(
            reservations.c.lease_id,
            reservations.c.id,
            reservations.c.resource_type == RESOURCE_TYPE,
            reservations.c.status,
            held,
            backed,
        )
        .where(reservations.c.lease_id.in_(lease_ids))
        .order_by(reservations.c.id)
    ):
        reservations_of[lease_id].append(LeaseReservation(*facts))
    executed = executions.of_leases(db, lease_ids)
    abandoned = lease_workers.abandoned(db, lease_ids)
    rows = db.execute(
        sa.select(
            leases.c.id,
            leases.c.status,
            leases.c.start_date,
            leases.c.end_date,
            sa.func.coalesce(leases.c.updated_at, leases.c.created_at),
        ).where(leases.c.id.in_(lease_ids))
    )
    return [
        Lease(
            id=lease_id,
            status=status,
            span=Span(start, end),
            updated_at=updated_at,
            events=tuple(events_of[lease_id]),
            reservations=tuple(reservations_of[lease_id]),
            claim=executed.get(lease_id),
            is_abandoned=lease_id in abandoned and status in lease_states.BY_REQUESTS,
        )
        for lease_id, status, start, end, updated_at in rows
    ]


def ours() -> sa.ColumnElement[bool]:
    """The SQL condition that a lease has a flavor:slot reservation."""
    return sa.exists().where(
        reservations.c.lease_id == leases.c.id, reservations.c.resource_type == RESOURCE_TYPE
    )


def is_executed(db: Session, lease_id: str) -> bool:
    """Whether somebody is starting, ending or deleting a lease.

    This is so if the lease's status says that it is being started or ended, or if a living manager
    has the lease claim.
    """
    status = db.scalar(sa.select(leases.c.status).where(leases.c.id == lease_id))
    during = (DURING[START], DURING[END])
    return status in during or executions.is_claimed(db, lease_id)


@dataclasses.dataclass(frozen=True)
class Present:
    """A lease's status and dates at this moment, whatever the transaction has read before."""

    status: str
    span: Span


def lock(db: Session, lease_id: str) -> Present | None:
    """Read a lease's status and dates, and keep others from changing them.

    Until the caller's transaction is over, other transactions that write the lease's row wait. On
    SQLite they fail.

    :returns: None if there is no such lease.
    """
    row = db.execute(
        sa.select(leases.c.status, leases.c.start_date, leases.c.end_date)
        .where(leases.c.id == lease_id)
        # PostgreSQL locks a row in a weaker way too when a row that refers to it is written. These
        # writes needn't wait.
        .with_for_update(key_share=True)
    ).first()
    return Present(row[0], Span(row[1], row[2])) if row else None


def lock_all(db: Session, lease_ids: Collection[str]) -> None:
    """Keep others from changing leases, as ``lock`` does.

    What the transaction reads afterwards is as it was when the leases were locked, provided that
    this is the transaction's first statement.
    """
    query = sa.select(leases.c.id).where(leases.c.id.in_(lease_ids)).order_by(leases.c.id)
    db.execute(query.with_for_update(key_share=True)).all()


@dataclasses.dataclass(frozen=True)
class Asked:
    """A flavor:slot reservation that Blazar asks the plugin to start or end."""

    reservation_id: str
    lease_status: str
    #: The lease's start and end.
    span: Span


def find_by_resource(db: Session, resource_id: str) -> Asked | None:
    """The reservation whose row in ``instance_reservations`` has this id.

    :returns: None if there is no such reservation.
    """
    row = db.execute(
        sa.select(reservations.c.id, leases.c.status, leases.c.start_date, leases.c.end_date)
        .select_from(reservations.join(leases, leases.c.id == reservations.c.lease_id))
        .where(
            reservations.c.resource_id == resource_id,
            reservations.c.resource_type == RESOURCE_TYPE,
        )
    ).first()
    return Asked(row[0], row[1], Span(row[2], row[3])) if row else None
