"""How many requests the web server lets this process serve at the same time."""

import importlib
from typing import Any

#: The names of modules that exist only inside a web server, with the attribute that has the number.
_SERVERS = (("uwsgi", "cores"), ("mod_wsgi", "threads_per_process"))

_said: int | None = None


def say(number: int) -> None:
    """Say the number for this process. The program that serves the API itself calls this."""
    global _said  # noqa: PLW0603
    _said = number


def count() -> int | None:
    """The number of threads that serve requests in this process, or None if it isn't known."""
    if _said is not None:
        return _said
    for name, attribute in _SERVERS:
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue
        number = getattr(module, attribute, None)
        return number if isinstance(number, int) else None
    return None
