"""Reads the whole body of a request, and puts it back with its length for Blazar to read.

Blazar reads as many bytes as ``Content-Length`` says. A request whose body is sent in chunks
doesn't have this header, so Blazar would read an empty body.

A body is read before the request is answered, even if the request is refused. Apache and uWSGI talk
through a socket. If the application answered without reading the body, uWSGI would close the socket
while Apache still wrote the body into it, and Apache would answer 503 in place of the application's
answer.
"""

import contextlib
import io
from collections.abc import Callable, MutableMapping
from typing import Any

from warre_blazar import texts
from warre_blazar.errors import exceptions

Environ = MutableMapping[str, Any]

#: The largest number of bytes of a body that any request of the API may have.
MAX_BODY = 128 * 1024
#: The largest number of bytes that are read in one call.
_AT_ONCE = 64 * 1024
#: The largest number of bytes of a body that are read and dropped if the body is refused.
_DROPPED = 8 * 1024 * 1024


def read(environ: Environ, limit: int) -> bytes:
    """Read the body of a request, and put it back with its length.

    :param environ: the WSGI environment of the request.
    :param limit: the largest number of bytes that the body may have.
    :returns: the body.
    :raises Refused: the body is too long, it can't be read completely, or ``Content-Length`` isn't
        a number. Of a body that is too long, a bounded part is read before.
    """
    length = _length(environ)
    if _is_chunked(environ):
        body = _read(_chunks(environ), limit)
    elif length is not None:
        if length > limit:
            _drop(_pieces(environ, min(length, _DROPPED)))
            raise _too_large(limit)
        body = _read(_pieces(environ, length), limit)
        if len(body) < length:
            raise exceptions.Refused(texts.bodies.INCOMPLETE_BODY(sent=len(body), length=length))
    elif environ.get("wsgi.input_terminated"):
        body = _read(_pieces(environ, limit + 1 + _DROPPED), limit)
    else:
        body = b""
    put(environ, body)
    return body


def put(environ: Environ, body: bytes) -> None:
    """Replace the body of a request."""
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    environ.pop("wsgi.input_terminated", None)


def _length(environ: Environ) -> int | None:
    text = environ.get("CONTENT_LENGTH") or ""
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise exceptions.Refused(texts.bodies.NO_LENGTH())
    return int(text)


def _is_chunked(environ: Environ) -> bool:
    return "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()


def _pieces(environ: Environ, length: int) -> Callable[[], bytes]:
    """A function that reads the next piece of a body each time it is called.

    :param length: the number of bytes that all calls together read at most.
    """
    left = length

    def piece() -> bytes:
        nonlocal left
        data: bytes = environ["wsgi.input"].read(min(left, _AT_ONCE)) if left else b""
        left -= len(data)
        return data

    return piece


def _chunks(environ: Environ) -> Callable[[], bytes]:
    """A function that reads the next piece of a chunked body each time it is called.

    How chunks are read depends on the WSGI server.

    :raises Refused: this server can't read chunks.
    """
    if environ.get("wsgi.input_terminated"):
        return lambda: environ["wsgi.input"].read(_AT_ONCE)
    try:
        # This module exists only inside uWSGI.
        import uwsgi  # noqa: PLC0415
    except ImportError:
        raise exceptions.Refused(texts.bodies.LENGTH_REQUIRED()) from None
    return uwsgi.chunked_read


def _read(piece: Callable[[], bytes], limit: int) -> bytes:
    body = bytearray()
    try:
        while data := piece():
            body += data
            if len(body) > limit:
                _drop(piece)
                raise _too_large(limit)
    except (OSError, ValueError) as error:
        # The client closed the connection, or its chunks are malformed.
        raise exceptions.Refused(texts.bodies.UNREADABLE_BODY()) from error
    return bytes(body)


def _drop(piece: Callable[[], bytes]) -> None:
    """Read the rest of a body that is refused, up to a bound, and keep nothing of it.

    :param piece: a function that reads the next piece of the body each time it is called.
    """
    left = _DROPPED
    with contextlib.suppress(OSError, ValueError):
        while left > 0 and (data := piece()):
            left -= len(data)


def _too_large(limit: int) -> exceptions.Refused:
    return exceptions.Refused(texts.bodies.BODY_TOO_LARGE(limit=limit))
