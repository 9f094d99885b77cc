"""Shows the progress of waiting for a reservation.

On a terminal, one line is kept up to date. Elsewhere, a line is printed for each change.
"""

import contextlib
import datetime
import sys
from collections.abc import Callable, Iterator

from warre_blazar.cli import time_display
from warre_blazar.client import Reservation

Report = Callable[[Reservation], None]


@contextlib.contextmanager
def reporting(now: Callable[[], datetime.datetime], where: datetime.tzinfo) -> Iterator[Report]:
    """Give a function that shows the present state of a reservation on stderr.

    :param where: the zone in which times are shown.
    """
    if not sys.stderr.isatty():
        yield _Lines(now, where).report
        return
    # Rich is imported here, because only waiting on a terminal needs it.
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    with Console(stderr=True).status("") as status:
        yield lambda reservation: status.update(Text(line(reservation, now(), where)))


class _Lines:
    """Prints a reservation's status and what has to happen next, whenever one of them changes.

    The text doesn't contain the remaining time, because that changes every second.
    """

    def __init__(self, now: Callable[[], datetime.datetime], where: datetime.tzinfo) -> None:
        self._now = now
        self._where = where
        self._last = ""

    def report(self, reservation: Reservation) -> None:
        text = f"{reservation.status}: {awaited(reservation, self._now(), self._where)}"
        if text != self._last:
            print(text, file=sys.stderr, flush=True)
            self._last = text


def line(reservation: Reservation, now: datetime.datetime, where: datetime.tzinfo) -> str:
    """Return the status, the remaining time and what has to happen next."""
    left = (reservation.start - now).total_seconds()
    clock = (
        f" {time_display.left(left)} left,"
        if reservation.status == "ALLOCATED" and left > 0
        else ""
    )
    return f"{reservation.status}:{clock} {awaited(reservation, now, where)}"


def awaited(reservation: Reservation, now: datetime.datetime, where: datetime.tzinfo) -> str:
    """Return what has to happen next, in words."""
    if reservation.status == "PENDING_CREATE":
        return "waiting for Blazar to make it"
    if reservation.status == "ALLOCATED":
        if reservation.start > now:
            return f"waiting for its start, {time_display.brief(reservation.start, where)}"
        return "waiting for Blazar to start it, which takes about ten seconds"
    if reservation.status == "ACTIVE":
        return f"servers can be booted until {time_display.brief(reservation.end, where)}"
    return reservation.status_reason or "nothing more will happen"
