"""Tells how many requests this process serves at the same time."""

import importlib
from typing import Any

from warre_blazar import waiting

#: The modules that web servers bring, with the attribute that has the number. With uWSGI, one core
#: serves one request at a time, be it a thread or, with ``gevent``, a greenlet.
_SERVERS = (("uwsgi", "cores"), ("mod_wsgi", "threads_per_process"))
#: The seconds that a request waits at most for a manager, if its process can't serve any other
#: request meanwhile.
LONGEST_WAIT = 5

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
    if _told is not None:
        return _told
    for name, attribute in _SERVERS:
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue
        number = getattr(module, attribute, None)
        return number if isinstance(number, int) else None
    return None


def limit_waiting() -> None:
    """If this process serves one request at a time, don't let it wait long for a manager."""
    if count() == 1:
        waiting.limit = LONGEST_WAIT
