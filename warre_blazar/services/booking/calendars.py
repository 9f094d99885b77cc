"""Makes and withdraws the addresses of calendars, and finds what a calendar shows.

An address has the calendar's id and a signature. So the database doesn't have what one must know to
read a calendar, and nobody can guess it.
"""

import datetime
from collections.abc import Mapping

from oslo_db import exception as db_exc

from warre_blazar.db import session
from warre_blazar.db.booking import calendars
from warre_blazar.db.booking.calendars import SubscribedCalendar
from warre_blazar.db.booking.reservations import Filter
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.errors import exceptions
from warre_blazar.services import signed_links
from warre_blazar.services.booking import lookup

#: The path below which the addresses are, and how they end.
PATH, ENDING = "/calendar-files/", ".ics"
#: The name of the key with which addresses are signed.
_KEY = "calendar"
#: The largest numbers of live and of deleted reservations in a calendar. The latest are shown.
_MOST = 1000


def create(calendar: SubscribedCalendar) -> SubscribedCalendar:
    """Add a calendar, and return it.

    :raises CalendarExists: the user has one for the project already.
    """
    try:
        session.change(calendars.insert, calendar)
    except db_exc.DBDuplicateEntry:
        raise exceptions.CalendarExists(calendar.project_id) from None
    return calendar


def listing(
    wanted: Mapping[str, str], limit: int | None, offset: int
) -> tuple[list[SubscribedCalendar], int]:
    """A page of calendars, and the number of calendars on all pages.

    :param wanted: values that a calendar must have, by the names of columns.
    """
    with session.reader() as db:
        return calendars.listing(db, wanted, limit, offset)


def get(calendar_id: str) -> SubscribedCalendar:
    """The calendar with an id.

    :raises CalendarNotFound:
    """
    found, _ = listing({"id": calendar_id}, 1, 0)
    if not found:
        raise exceptions.CalendarNotFound(calendar_id)
    return found[0]


def delete(calendar: SubscribedCalendar) -> None:
    """Withdraw the address of a calendar.

    :raises CalendarNotFound:
    """
    if not session.change(calendars.delete, calendar.id):
        raise exceptions.CalendarNotFound(calendar.id)


def path_of(calendar: SubscribedCalendar) -> str:
    """The path of a calendar's address, below that of the API."""
    return PATH + signed_links.token(calendar.id, signed_links.key(_KEY)) + ENDING


def at(token: str) -> SubscribedCalendar:
    """The calendar whose address ends with a token.

    :raises CalendarNotFound: this site hasn't made the address, or it was withdrawn.
    """
    calendar_id = signed_links.value(token.removesuffix(ENDING), signed_links.key(_KEY))
    found = listing({"id": calendar_id}, 1, 0)[0] if calendar_id else []
    if not found or not token.endswith(ENDING):
        raise exceptions.CalendarNotFound()
    return found[0]


def shown(
    calendar: SubscribedCalendar, after: datetime.datetime
) -> list[tuple[Reservation, Flavor]]:
    """The project's own reservations that a calendar shows, with the deleted ones.

    :param after: only reservations that end after this time are shown.
    """
    wanted = Filter(project_id=calendar.project_id, after=after)
    found = [
        pair
        for deleted in (False, True)
        for pair in lookup.listing(
            wanted, sort="end", descending=True, limit=_MOST, deleted=deleted
        )[0]
        if pair[0].project_id == calendar.project_id
    ]
    counted = lookup.with_changes([reservation for reservation, _ in found])
    return [(each, flavor) for each, (_, flavor) in zip(counted, found, strict=True)]
