"""The calendar of a project's reservations, for calendar programs that subscribe to its address.

Such a program has no token, so the calendar is answered before Keystone's middleware asks for one.
The address has a signature, and its owner can withdraw it. The owner must still be allowed to list
the project's reservations.
"""

import hashlib
import time
from typing import Any

import webob
from oslo_utils import timeutils

from warre_blazar import times
from warre_blazar.api import views
from warre_blazar.client import Reservation, calendar_file
from warre_blazar.client import times as client_times
from warre_blazar.db import session
from warre_blazar.db.booking.calendars import SubscribedCalendar
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import calendars
from warre_blazar.site_rules import calendar_permits
from warre_blazar.wsgi import request_bodies

ROOT = f"/v2{calendars.PATH}"
_METHODS = ("GET", "HEAD")
_HEADERS = {
    # Whoever keeps an answer asks each time whether it still holds, because of withdrawals.
    "Cache-Control": "private, no-cache",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
#: The largest number of calendars that are kept.
_MOST = 1000
#: The calendars that were answered with last, by id, each with the monotonic time of reading.
_kept: dict[str, tuple[float, bytes | None]] = {}


def is_for(environ: dict[str, Any]) -> bool:
    """Whether a request is for a calendar."""
    return bool(environ.get("PATH_INFO", "").startswith(ROOT))


def answer(environ: dict[str, Any]) -> webob.Response:
    """Answer with a calendar, or with 304 if the program has it as it is.

    :raises CalendarNotFound: there is no such address, or its owner may not see the calendar.
    :raises ServiceUnavailable, ServiceRefused: Keystone doesn't say whether the owner may see it.
    :raises DatabaseUnavailable: the database can't be reached.
    """
    request_bodies.read(environ, request_bodies.MAX_BODY)
    if environ["REQUEST_METHOD"] not in _METHODS:
        return webob.Response(status=405, headerlist=[("Allow", ", ".join(_METHODS))])
    try:
        calendar = calendars.at(environ["PATH_INFO"].removeprefix(ROOT))
        text = _text(calendar)
    except session.FAILURES as error:
        raise exceptions.DatabaseUnavailable(error) from error
    if text is None:
        raise exceptions.CalendarNotFound()
    made = webob.Response(
        text, content_type="text/calendar", charset="UTF-8", conditional_response=True
    )
    made.etag = hashlib.sha256(text).hexdigest()
    made.headers.update(_HEADERS)
    return made


def _text(calendar: SubscribedCalendar) -> bytes | None:
    """A calendar's text, perhaps from some time ago. None: its owner may not see it.

    So programs that ask all the time cost neither Keystone nor the database much.
    """
    begun = time.monotonic()
    kept = _kept.get(calendar.id)
    if kept is not None and begun - kept[0] < times.CALENDAR_KEPT:
        return kept[1]
    text = _written(calendar) if calendar_permits.is_permitted(calendar) else None
    if len(_kept) >= _MOST:
        _kept.clear()
    _kept[calendar.id] = (begun, text)
    return text


def _written(calendar: SubscribedCalendar) -> bytes:
    after = timeutils.utcnow() - client_times.PAST_IN_CALENDARS
    shown = [Reservation.of(views.reservation(*pair)) for pair in calendars.shown(calendar, after)]
    return calendar_file.calendar(
        ((calendar_file.title(r), r) for r in shown), calendar.name
    ).encode()
