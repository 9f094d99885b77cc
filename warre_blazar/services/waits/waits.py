"""Makes, finds, lists and cancels waits."""

import dataclasses
import datetime
from collections.abc import Iterable

from sqlalchemy.orm import Session

from warre_blazar import texts, times
from warre_blazar.db import clock, flavors, generations, session, waits
from warre_blazar.db.waits import WaitFilter
from warre_blazar.domain import waits as rules
from warre_blazar.domain.booking import booking_rules
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.waits import Wait, WaitState
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import lookup
from warre_blazar.services.slots import supply


@dataclasses.dataclass(frozen=True)
class WaitStatus:
    """A wait, the flavors that it names, and its position."""

    wait: Wait
    #: The flavor that the wait is for. None: it is for a category.
    flavor: Flavor | None
    #: The flavor that was booked, or told to be free.
    found: Flavor | None
    #: 1 is the first in line. None: it no longer waits.
    position: int | None


def create(wait: Wait, most: int, any_length: frozenset[str]) -> WaitStatus:
    """Add a wait.

    :param wait: its ``flavor_id`` may also be a flavor's name.
    :param most: the largest number of waits that a project has.
    :param any_length: projects that may book any flavor for longer than its max_length_hours.
    :raises InvalidField: the times of the wait don't fit together.
    :raises FlavorNotBookable, NoHostMatches, HostsExhausted, SlotsExhausted, InvalidPeriod: no
        booking could ever fulfill it.
    :raises FlavorNotFound, FlavorAmbiguous, TooManyWaits:
    """
    _check(wait)
    made = _add(wait, most, wait.project_id in any_length)
    return status(made.id)


def foresee(wait: Wait, most: int, any_length: frozenset[str]) -> WaitStatus:
    """The wait that ``create`` would add, with its position. Nothing is written.

    The parameters and errors are those of ``create``.
    """
    _check(wait)
    with session.reader() as db:
        wait = _checked(db, wait, most, wait.project_id in any_length)
        last = max((each.number for each in waits.every_open(db)), default=0)
        return _statuses(db, [dataclasses.replace(wait, number=last + 1)], new=True)[0]


def _check(wait: Wait) -> None:
    lookup.check_labels(wait.labels)
    rules.check_times(wait)


@session.retried
def _add(wait: Wait, most: int, is_exempt: bool) -> Wait:
    """Add a wait, unless the project has as many as it may have.

    The project's generation is claimed, so that of two simultaneous requests the second one counts
    the first one.
    """
    with session.claiming() as db:
        generation = generations.of_project(db, wait.project_id)
        wait = _checked(db, wait, most, is_exempt)
        generations.increase_project(db, wait.project_id, generation)
        waits.insert(db, wait)
    return wait


def _checked(db: Session, wait: Wait, most: int, is_exempt: bool) -> Wait:
    """The wait with the id of its flavor, if a project with ``most`` waits may add it.

    :raises WarreError: as for ``create``.
    """
    wait, offered = _with_flavor(db, wait)
    everything = supply.everything_empty(db)
    rules.check_flavors(wait, offered, everything, any_length=is_exempt)
    if waits.count_open(db, wait.project_id) >= most:
        raise exceptions.TooManyWaits(most)
    return wait


def _with_flavor(db: Session, wait: Wait) -> tuple[Wait, list[Flavor]]:
    """The wait with the id of its flavor, and the flavors that will do.

    :raises InvalidField, FlavorNotFound, FlavorAmbiguous: the project may book no such flavor.
    :raises FlavorNotBookable: the flavor doesn't let users choose what the wait chooses.
    """
    if wait.flavor_id is not None:
        flavor = flavors.require(db, wait.flavor_id, project_id=wait.project_id, everything=False)
        booking_rules.check_before_end(flavor, wait.before_end)
        return dataclasses.replace(wait, flavor_id=flavor.id), [flavor]
    offered, _ = flavors.listing(
        db,
        project_id=wait.project_id,
        everything=False,
        filters={"category": wait.category},
        limit=None,
        offset=0,
    )
    if not offered:
        raise exceptions.InvalidField("category", texts.expected.CATEGORY())
    return wait, offered


def get(wait_id: str) -> Wait:
    """The wait with this id.

    :raises WaitNotFound:
    """
    with session.reader() as db:
        return _require(db, wait_id)


def _require(db: Session, wait_id: str) -> Wait:
    wait = waits.find(db, wait_id)
    if wait is None:
        raise exceptions.WaitNotFound(wait_id)
    return wait


def status(wait_id: str) -> WaitStatus:
    """The status of a wait.

    :raises WaitNotFound:
    """
    with session.reader() as db:
        return _statuses(db, [_require(db, wait_id)])[0]


def listing(wanted: WaitFilter, limit: int | None, offset: int) -> tuple[list[WaitStatus], int]:
    """A page of waits, the oldest first, and the number of all."""
    with session.reader() as db:
        page, total = waits.listing(db, wanted, limit, offset)
        return _statuses(db, page), total


def _statuses(db: Session, page: list[Wait], *, new: bool = False) -> list[WaitStatus]:
    """The statuses of waits.

    :param new: whether the waits aren't stored, and are to be seen at the end of the line.
    """
    line: list[Wait] = []
    categories: dict[str, str | None] = {}
    if any(wait.state in rules.OPEN for wait in page):
        line = current_line(db, clock.utcnow(), page if new else ())
        categories = waits.categories(db)
    ids = {each for wait in page for each in (wait.flavor_id, wait.found_flavor_id) if each}
    found = flavors.get_many(db, ids)
    return [
        WaitStatus(
            wait,
            found.get(wait.flavor_id or ""),
            found.get(wait.found_flavor_id or ""),
            rules.position(wait, line, categories),
        )
        for wait in page
    ]


def current_line(db: Session, now: datetime.datetime, more: Iterable[Wait] = ()) -> list[Wait]:
    """All who wait, in the order in which they are served.

    :param more: further waits, which aren't stored.
    """
    served = waits.served_since(db, now - times.SERVED_WAIT_COUNTS_FOR)
    return rules.in_line([*waits.every_open(db), *more], served, now)


def cancel(wait: Wait, now: datetime.datetime, user_id: str | None) -> None:
    """End a wait, so that nothing is booked for it any more. It may be canceled again.

    If it was told of room that is still kept for its project, the room is given up.

    :param user_id: the user who cancels it.

    :raises WaitOver: it was served or has ended otherwise, or it is booked at this moment.
    """
    if wait.state is WaitState.WAITING and session.change(
        waits.move,
        wait,
        WaitState.CANCELED,
        ended_at=now.replace(microsecond=0),
        ended_by=user_id,
    ):
        return
    if session.change(waits.release, wait, now):
        return
    present = get(wait.id)
    if present.state is not WaitState.CANCELED:
        raise exceptions.WaitOver(wait.id, present.state.value, present.ended_at)
