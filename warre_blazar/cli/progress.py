"""How waiting goes: a line that changes on a terminal, a line for each change elsewhere."""

import contextlib
import datetime
import sys
from collections.abc import Callable, Iterator

from warre_blazar.cli import display
from warre_blazar.client import Reservation

Tell = Callable[[Reservation], None]


@contextlib.contextmanager
def telling(now: Callable[[], datetime.datetime], where: datetime.tzinfo) -> Iterator[Tell]:
    """A function that tells of a reservation, on stderr: what is printed is for programs.

    :param where: the zone of the times that are told.
    """
    if not sys.stderr.isatty():
        yield _Lines(now, where).tell
        return
    # Late, for only waiting needs it.
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    with Console(stderr=True).status("") as status:
        yield lambda found: status.update(Text(line(found, now(), where)))


class _Lines:
    """A line when the state or what is awaited changes, without a time that runs."""

    def __init__(self, now: Callable[[], datetime.datetime], where: datetime.tzinfo) -> None:
        self._now = now
        self._where = where
        self._last = ""

    def tell(self, found: Reservation) -> None:
        text = f"{found.status}: {awaited(found, self._now(), self._where)}"
        if text != self._last:
            print(text, file=sys.stderr, flush=True)
            self._last = text


def line(found: Reservation, now: datetime.datetime, where: datetime.tzinfo) -> str:
    """State, time left, what is awaited."""
    left = (found.start - now).total_seconds()
    clock = f" {display.left(left)} left," if found.status == "ALLOCATED" and left > 0 else ""
    return f"{found.status}:{clock} {awaited(found, now, where)}"


def awaited(found: Reservation, now: datetime.datetime, where: datetime.tzinfo) -> str:
    """What has to happen next."""
    if found.status == "PENDING_CREATE":
        return "waiting for Blazar to make it"
    if found.status == "ALLOCATED":
        if found.start > now:
            return f"waiting for its start, {display.brief(found.start, where)}"
        return "waiting for Blazar to start it, some ten seconds"
    if found.status == "ACTIVE":
        return f"servers can be booted until {display.brief(found.end, where)}"
    return found.status_reason or "nothing more will come"
