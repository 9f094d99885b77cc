"""A WSGI application that hands requests to a server, for tests that call an application."""

import http.client
import uuid
from collections.abc import Callable, Iterable
from typing import Any

#: Seconds until a request has failed.
_TIMEOUT = 90
#: How often a request is sent at most. Each of them waits for some seconds if the server is busy.
_REPEATS = 20


def to(port: int) -> Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]:
    """An application whose answers are those of the server on a port of this machine.

    A process with one thread answers 503 if a booking takes long. As clients do, the application
    then sends the same request again, with the same key.
    """

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        request = environ["REQUEST_METHOD"], _path(environ), body, _headers(environ)
        for _ in range(_REPEATS):
            answer, content = _sent(port, request)
            if answer.status != 503 or "Retry-After" not in answer.headers:
                break
        start_response(f"{answer.status} {answer.reason}", _kept(answer.getheaders()))
        return [content]

    return application


def _sent(port: int, request: tuple[Any, ...]) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT)
    try:
        connection.request(*request)
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def _path(environ: dict[str, Any]) -> str:
    query = environ.get("QUERY_STRING", "")
    return environ["PATH_INFO"] + (f"?{query}" if query else "")


def _headers(environ: dict[str, Any]) -> dict[str, str]:
    given = {
        name.removeprefix("HTTP_").replace("_", "-"): str(value)
        for name, value in environ.items()
        if name.startswith("HTTP_")
    }
    kind = environ.get("CONTENT_TYPE") or "application/json"
    return {"Idempotency-Key": uuid.uuid4().hex, **given, "Content-Type": kind}


def _kept(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """All headers but those of the connection, which an application may not have."""
    return [(name, value) for name, value in headers if name.lower() not in _OF_CONNECTION]


_OF_CONNECTION = ("connection", "keep-alive", "transfer-encoding")
