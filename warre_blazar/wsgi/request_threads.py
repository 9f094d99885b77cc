"""Tells how many requests this process serves at the same time, and checks that it can.

In a process with one thread, a request that waits for a manager keeps all others waiting, the load
balancer's checks included. To refuse a request because it holds the last thread is no way out,
since each request does. So nothing waits long there: a booking may be made after its request was
answered, as with any slow manager. Calls of Blazar's own API are limited in another way, because
leases of stock types may take long: only the time without a sign of the manager is limited
(oslo.messaging's ``call_monitor_timeout``).
"""

import importlib
from typing import Any

from warre_blazar import compat, timer, times

#: The modules that web servers bring, with the attribute that has the number. With uWSGI, one core
#: serves one request at a time, be it a thread or, with ``gevent``, a greenlet.
_SERVERS = (("uwsgi", "cores"), ("mod_wsgi", "threads_per_process"))

#: What this package's own web server has said.
_told: int | None = None


def tell(number: int) -> None:
    """Say with how many threads the web server of this process serves requests."""
    global _told  # noqa: PLW0603
    _told = number


def count() -> int | None:
    """The number of threads of this process that serve requests.

    :returns: None if the web server doesn't tell. Then there are usually many.
    """
    return _of_server() if _told is None else _told


def check() -> None:
    """Check that Blazar's API works in the threads of the web server.

    With eventlet, what one thread waits for can't be woken by another one. Once two threads have
    called the manager, each further call would hang.

    :raises Unsupported: Blazar uses eventlet, and the process has several threads.
    """
    major, _ = compat.version("blazar")
    threads = _of_server() or 1
    if major < compat.WITHOUT_EVENTLET and threads > 1:
        raise compat.Unsupported(
            f"The API of Blazar {major} uses eventlet, so only one thread of a process can serve "
            f"requests, but the web server's process has {threads}: set its number of threads to "
            "1, and let it start more processes"
        )


def limit_waiting() -> None:
    """If this process serves one request at a time, don't let it wait long for a manager."""
    if count() == 1:
        timer.limit = times.LONE_THREAD_WAIT


def _of_server() -> int | None:
    """The number of threads that a web server in this process tells."""
    for name, attribute in _SERVERS:
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue
        number = getattr(module, attribute, None)
        return number if isinstance(number, int) else None
    return None
