"""Keystone's WSGI application, with a middleware that threads can share.

Keystone 30's ``AuthContextMiddleware`` keeps the token of the present request as an attribute of
itself, and all threads of a process have the same middleware. So a request can be judged by the
token of another one. Here each thread has a token of its own.
"""

import threading
from typing import Any

from keystone.server.flask.request_processing.middleware import auth_context
from keystone.wsgi.api import application  # noqa: F401


class _OfThread:
    """An attribute with a value for each thread."""

    def __init__(self) -> None:
        self._local = threading.local()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return getattr(self._local, "value", None)

    def __set__(self, instance: Any, value: Any) -> None:
        self._local.value = value


auth_context.AuthContextMiddleware.token = _OfThread()
