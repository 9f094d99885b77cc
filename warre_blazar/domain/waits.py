"""Waits: what projects want to book once there is room, and who is first in line."""

import dataclasses
import datetime
import enum
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from warre_blazar import texts, times
from warre_blazar.domain.booking import constraints, verdict
from warre_blazar.domain.booking.constraints import Case, Search
from warre_blazar.domain.booking.labels import NO_LABELS, Labels
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots.free_time import Supply
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions


class Mode(enum.StrEnum):
    """What is done once there is room."""

    BOOK = "book"
    TELL = "tell"


class WaitState(enum.StrEnum):
    """What has become of a wait."""

    WAITING = "WAITING"
    #: A manager books it at this moment, or was killed while it did.
    BOOKING = "BOOKING"
    BOOKED = "BOOKED"
    TOLD = "TOLD"
    EXPIRED = "EXPIRED"
    CANCELED = "CANCELED"
    #: Its user may no longer book, or its flavor is gone.
    REFUSED = "REFUSED"


#: The states of waits that can still be served, and of those that were.
OPEN = (WaitState.WAITING, WaitState.BOOKING)
SERVED = (WaitState.BOOKED, WaitState.TOLD)


@dataclasses.dataclass(frozen=True)
class Wait:
    """A wish to book some instances for some time, or to be told when that is possible."""

    #: Also the id of the lease that the wait gets.
    id: str
    project_id: str
    user_id: str
    #: The only flavor, or a category of which any flavor will do. One of the two is None.
    flavor_id: str | None
    category: str | None
    instance_count: int
    length: datetime.timedelta
    #: The time within which the reservation must be.
    window: Span
    created_at: datetime.datetime
    #: The last minute at which the wait is served.
    expires_at: datetime.datetime
    mode: Mode = Mode.BOOK
    affinity: bool | None = None
    before_end: str | None = None
    labels: Labels = NO_LABELS
    state: WaitState = WaitState.WAITING
    status_reason: str | None = None
    #: What was booked, or told to be free.
    found_flavor_id: str | None = None
    found: Span | None = None
    reservation_id: str | None = None
    ended_at: datetime.datetime | None = None
    #: Who has canceled it.
    ended_by: str | None = None
    #: Until when the room that it was told of is kept for its project. None: it isn't kept.
    kept_until: datetime.datetime | None = None
    #: Counts up with each wait. 0: the wait isn't stored yet.
    number: int = 0

    @property
    def wish(self) -> tuple[str, str | None, str | None]:
        """The project, and what it waits for."""
        return self.project_id, self.flavor_id, self.category

    def is_over(self, now: datetime.datetime) -> bool:
        """Whether it is too late to serve the wait."""
        return now.replace(second=0, microsecond=0) > self.expires_at

    def takes(self, categories: Mapping[str, str | None]) -> set[str]:
        """The ids of the flavors that will do.

        :param categories: the categories of all flavors, by the flavor's id.
        """
        if self.flavor_id is not None:
            return {self.flavor_id}
        return {each for each, category in categories.items() if category == self.category}


def in_line(
    open_waits: Iterable[Wait], served: Iterable[Wait], now: datetime.datetime
) -> list[Wait]:
    """Sort waits by who is first.

    The first wait of each project comes before the second one of any, and so on. Waits for another
    flavor or category don't count. What was served within the last day still counts, so that a
    project with many waits doesn't get everything that becomes free. Otherwise, those who have
    waited for longer come first.
    """
    recent = now - times.SERVED_WAIT_COUNTS_FOR
    ahead = Counter(each.wish for each in served if each.ended_at and each.ended_at > recent)
    ranks = {}
    for wait in sorted(open_waits, key=lambda wait: wait.number):
        ranks[wait.number] = (ahead[wait.wish], wait.number), wait
        ahead[wait.wish] += 1
    return [wait for _, wait in sorted(ranks.values(), key=lambda pair: pair[0])]


def position(wait: Wait, line: Sequence[Wait], categories: Mapping[str, str | None]) -> int | None:
    """The position of a wait among those that wait for the same flavors, or None if it's over.

    :param line: as ``in_line`` returns it.
    :param categories: as for ``Wait.takes``.
    """
    wanted = wait.takes(categories)
    rivals = [each for each in line if each.id == wait.id or each.takes(categories) & wanted]
    return next((i for i, each in enumerate(rivals, 1) if each.id == wait.id), None)


def told_lately(served: Collection[Wait], now: datetime.datetime) -> set[str]:
    """The ids of the flavors that somebody was just told to be free."""
    return {
        wait.found_flavor_id
        for wait in served
        if wait.state is WaitState.TOLD
        and wait.found_flavor_id
        and wait.ended_at
        and wait.ended_at > now - times.TOLD_FIRST_FOR
    }


def check_times(wait: Wait) -> None:
    """Refuse a wait whose own times leave no moment at which it could be served.

    :raises InvalidField: the window is shorter than the reservation, or is over already.
    """
    # An expiry can't be later than the last start.
    last_start = wait.window.end - wait.length
    if last_start < wait.window.start:
        raise exceptions.InvalidField("to", texts.expected.HOURS_AFTER(other="from"))
    if wait.is_over(wait.created_at):
        if wait.expires_at < last_start:
            raise exceptions.InvalidField("expires_at", texts.expected.FUTURE())
        raise exceptions.InvalidField("to", texts.expected.HOURS_AFTER(other="now"))


def check_flavors(
    wait: Wait, offered: Sequence[Flavor], everything: Supply, *, any_length: bool = False
) -> None:
    """Refuse a wait if none of its flavors can be booked like that, however much room there is.

    What other bookings, windows and quotas leave may change while the wait is in line, and closed
    hosts may be opened. So nothing of that is looked at.

    :param offered: the flavors that would do, and that the project may see. One at least.
    :param everything: all hosts, also closed ones, as if nothing was booked on them.
    :param any_length: whether the project may book for longer than ``max_length_hours``.
    :raises WarreError: what a booking would be refused with.
    """
    found = [_refusal(wait, flavor, everything, any_length) for flavor in offered]
    if all(found):
        raise next(refusal for refusal in found if refusal)


def _refusal(
    wait: Wait, flavor: Flavor, everything: Supply, any_length: bool
) -> exceptions.WarreError | None:
    # The later the wait is served, the later its reservation may end.
    case = Case(flavor, wait.created_at, any_length=any_length, until=wait.expires_at)
    rooms = everything.rooms(flavor.shape, wait.project_id)
    rules = constraints.alone(case, constraints.empty_hosts(rooms, wait.affinity))
    search = Search(wait.instance_count, wait.length, wait.window)
    blamed = verdict.find(rules, search).blamed
    return blamed.error(wait.window, wait.instance_count) if blamed else None
