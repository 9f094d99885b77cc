"""A request's body: read whole, bounded, and put back with its length.

Blazar reads as many bytes as ``Content-Length`` says. A body that comes in chunks has none, so
Blazar takes it for empty.
"""

import io
from collections.abc import Callable, MutableMapping
from typing import Any

from warre_blazar import exceptions

Environ = MutableMapping[str, Any]

_AT_ONCE = 64 * 1024


def read(environ: Environ, limit: int) -> bytes:
    """The body of a request, which stays readable, from then on with its length.

    :param limit: the most bytes that are read.
    :raises Refused: the body has more bytes, can't be read, or has a length nobody knows.
    """
    length = _length(environ)
    if _is_chunked(environ):
        body = _read(_chunks(environ), limit)
    elif length is not None:
        if length > limit:
            raise _too_large(limit)
        body = _read(_pieces(environ, length), limit)
        if len(body) < length:
            raise exceptions.Refused(
                "incomplete_body", f"The body has {len(body)} of the {length} bytes announced"
            )
    elif environ.get("wsgi.input_terminated"):
        body = _read(_pieces(environ, limit + 1), limit)
    else:
        body = b""
    put(environ, body)
    return body


def put(environ: Environ, body: bytes) -> None:
    """Let the application read this body."""
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    environ.pop("wsgi.input_terminated", None)


def _length(environ: Environ) -> int | None:
    text = environ.get("CONTENT_LENGTH") or ""
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise exceptions.Refused("refused", "Content-Length: expected a whole number")
    return int(text)


def _is_chunked(environ: Environ) -> bool:
    return "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()


def _pieces(environ: Environ, length: int) -> Callable[[], bytes]:
    """A function that reads the next piece of a body of at most so many bytes."""
    left = length

    def piece() -> bytes:
        nonlocal left
        data: bytes = environ["wsgi.input"].read(min(left, _AT_ONCE)) if left else b""
        left -= len(data)
        return data

    return piece


def _chunks(environ: Environ) -> Callable[[], bytes]:
    """A function that reads the next piece of a body in chunks, as the server at hand lets us."""
    if environ.get("wsgi.input_terminated"):
        return lambda: environ["wsgi.input"].read(_AT_ONCE)
    try:
        # uWSGI's own module, which is there only inside uWSGI.
        import uwsgi  # noqa: PLC0415
    except ImportError:
        raise exceptions.Refused(
            "length_required", "This server takes no body in chunks; send its Content-Length"
        ) from None
    return uwsgi.chunked_read


def _read(piece: Callable[[], bytes], limit: int) -> bytes:
    found = bytearray()
    try:
        while data := piece():
            found += data
            if len(found) > limit:
                raise _too_large(limit)
    except (OSError, ValueError) as error:
        # The client went away, or its chunks are none.
        raise exceptions.Refused("incomplete_body", "The body can't be read") from error
    return bytes(found)


def _too_large(limit: int) -> exceptions.Refused:
    return exceptions.Refused(
        "body_too_large", f"The body is too large, expected at most {limit} bytes", limit=limit
    )
