"""A lease as the repairer and the executor see it."""

import dataclasses
import datetime
from typing import NamedTuple

from warre_blazar import times
from warre_blazar.domain.running import execution, lease_states
from warre_blazar.domain.running.lease_states import State, Statuses
from warre_blazar.domain.timeline import Span

START_EVENT, END_EVENT, BEFORE_END_EVENT = "start_lease", "end_lease", "before_end_lease"
BLAZARS_EVENTS = (START_EVENT, END_EVENT, BEFORE_END_EVENT)


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
    #: Whether this package starts and ends the reservation: it is of the resource type flavor:slot,
    #: or of ``BESIDE`` in a lease that has one of flavor:slot.
    is_ours: bool
    #: The reservation's status in Blazar's table.
    status: str
    #: Whether the reservation has host allocations in Blazar's table.
    held: bool
    #: Whether the table ``warre_backings`` has a note for the reservation, and the backing isn't
    #: being removed.
    backed: bool


class LeaseRow(NamedTuple):
    """The columns of a lease that must be as they were read when others are written."""

    id: str
    status: str
    span: Span


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
    claim: execution.Execution | None
    #: Whether a manager began to work on the lease by Blazar's code, and nobody works on it now.
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
            claim=execution.claim_state(self.claim),
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


def _is_on_time(event: Event, due: datetime.datetime, now: datetime.datetime) -> bool:
    """Whether the time of an event is as expected.

    - An event that is done may have any time.
    - Usually an event has the time at which its lease starts or ends.
    - After a failed attempt, the event is postponed. It is later than the lease's start or end, but
      at most ``times.EVENT_POSTPONED_FOR`` in the future.

    :param due: the lease's start for a start event, the lease's end for an end event.
    """
    if event.time == due or event.status == lease_states.DONE:
        return True
    return event.time is not None and due <= event.time <= now + times.EVENT_POSTPONED_FOR
