"""The Pecan hook that lets the requests of a process compute one after the other."""

import contextlib
from typing import Any

from pecan import hooks

from warre_blazar import times
from warre_blazar.api import parsing
from warre_blazar.errors import exceptions
from warre_blazar.openstack.locks import READING, Locks

#: The lock of requests that can compute for a second or more. One of a process does so at a time.
_LONG = Locks(refused_after=times.LONG_REQUEST_WAIT)
_LONG_NOUNS = {"series", "maintenancewindows"}

#: The key in a request's WSGI environment. Its value releases the request's lock.
_PLACE = "warre.place"


class ComputingHook(hooks.PecanHook):
    """Lets only a few requests of a process compute at the same time.

    Several threads of a process serve requests, but Python runs only one of them at a time. A list
    computes for most of its time, so lists at the same time don't end sooner than lists one after
    the other. But a booking waits for the database and for a manager again and again. After each of
    these waits it would have to wait for all lists that are computing. So lists and dry runs wait
    for a lock, and bookings need none. Dry runs of series and all changes of maintenance windows
    look at many bookings. They have a lock of their own, so that nobody who reads waits for them.
    """

    # First, so that whatever another hook does is within the lock.
    priority = 1

    def before(self, state: Any) -> None:
        """Wait for the request's lock, if it needs one.

        :raises Busy: there was none for some seconds.
        """
        locks = _locks_of(state.request)
        if locks is not None:
            place = state.request.environ[_PLACE] = contextlib.ExitStack()
            place.enter_context(locks.held("reading"))

    def after(self, state: Any) -> None:
        # Pecan calls this after an error, too.
        if place := state.request.environ.pop(_PLACE, None):
            place.close()


def _locks_of(request: Any) -> Locks | None:
    if request.method == "GET":
        return READING
    nouns = _LONG_NOUNS.intersection(request.path.split("/"))
    is_dry_run = _is_dry_run(request)
    if request.method != "DELETE" and ("maintenancewindows" in nouns or (nouns and is_dry_run)):
        return _LONG
    return READING if is_dry_run else None


def _is_dry_run(request: Any) -> bool:
    try:
        return parsing.boolean("dry_run", request.GET.get("dry_run", "false"))
    except exceptions.InvalidField:
        return False  # The controller refuses it.
