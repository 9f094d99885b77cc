"""What every request passes before Blazar sees it, and before anybody asks Keystone about it."""

import json
import sys
import urllib.parse
from collections.abc import Callable, Iterable
from typing import Any

import webob
from oslo_config import cfg
from oslo_log import log as logging

from warre_blazar import exceptions
from warre_blazar.wsgi import answers, bodies, leases

LOG = logging.getLogger(__name__)

Application = Callable[..., Iterable[bytes]]

_READING = {"GET", "HEAD", "OPTIONS"}
#: What /v2/leases may be asked for.
_V2_LEASES = ("GET", "HEAD", "DELETE")


class Guard:
    """WSGI middleware around Blazar's application."""

    def __init__(self, application: Application) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer a request: refuse it, or let Blazar answer."""
        begun = False

        def begin(status: str, headers: list[tuple[str, str]], *failure: Any) -> Any:
            nonlocal begun
            begun = True
            return start_response(status, headers, *failure)

        try:
            _prepare(environ)
            if environ["REQUEST_METHOD"] == "HEAD":
                return self._head(environ, begin)
            return self.application(environ, begin)
        except exceptions.WarreError as error:
            return _refuse(error, environ, start_response)
        except Exception:
            # A WSGI server would drop the connection.
            LOG.exception("%s failed", _line(environ))
            answer = answers.refusal(exceptions.Refused("internal", "Internal Server Error"))
            failure = [sys.exc_info()] if begun else []
            start_response(answer.status, answer.headerlist, *failure)
            return [answer.body]

    def _head(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer as to GET, without the body: Blazar's v2 fails on an error that has none."""
        environ["REQUEST_METHOD"] = "GET"
        answer = webob.Request(environ).get_response(self.application)
        answer.content_length = len(answer.body)
        start_response(answer.status, answer.headerlist)
        return [b""]


def _prepare(environ: dict[str, Any]) -> None:
    """Read the body; refuse what Blazar must not see, and replace what it has to see otherwise."""
    _complete(environ)
    _check_path(environ["PATH_INFO"])
    body = bodies.read(environ, cfg.CONF.warre.max_request_body)
    method = environ["REQUEST_METHOD"]
    match _segments(environ["PATH_INFO"]):
        case ["v1", "leases" | "leases.json", *_] if method not in {*_READING, "DELETE"}:
            _check_type(environ.get("CONTENT_TYPE") or "")
            document = leases.checked(method, body, cfg.CONF.warre.max_lease_reservations)
            # What was checked is what Blazar reads, however it would have read what was sent.
            bodies.put(environ, json.dumps(document).encode())
            environ[leases.CHECKED] = document
        case ["v2", "leases", *_]:
            _only_read(method, environ)


def _complete(environ: dict[str, Any]) -> None:
    """Add what Blazar's v1 fails without, some of it after it has done what was asked."""
    # Behind a Unix socket a request has no address.
    environ.setdefault("REMOTE_ADDR", "-")
    if not environ.get("HTTP_ACCEPT"):
        environ["HTTP_ACCEPT"] = "application/json"


def _check_path(path: str) -> None:
    try:
        path.encode("latin-1").decode()
    except UnicodeError:
        raise exceptions.InvalidField("path", "expected UTF-8") from None


def _segments(path: str) -> list[str]:
    """The parts of a path between slashes, however many slashes; Blazar routes by no more."""
    return [part for part in path.split("/") if part]


def _check_type(content_type: str) -> None:
    if content_type.partition(";")[0].strip().lower() not in ("", "application/json"):
        raise exceptions.InvalidField("Content-Type", "expected application/json")


def _only_read(method: str, environ: dict[str, Any]) -> None:
    """Leases are made and changed over v1 and by bookings: v2 has no check of what it passes on."""
    # By this, Pecan lets a query or a form choose the method.
    chosen = "_method" in urllib.parse.unquote(environ.get("QUERY_STRING", ""))
    if method not in _V2_LEASES or chosen:
        raise exceptions.Refused(
            "method_not_allowed",
            "Leases are made and changed at /v1/leases, bookings at /v2/reservations; "
            f"/v2/leases takes {', '.join(_V2_LEASES)}",
        )
    bodies.put(environ, b"")


def _refuse(
    error: exceptions.WarreError, environ: dict[str, Any], start_response: Any
) -> Iterable[bytes]:
    LOG.info("%s refused: %s", _line(environ), error.message)
    answer = answers.refusal(error)
    if answer.status_int == 405:
        answer.allow = _V2_LEASES
    return answer(environ, start_response)


def _line(environ: dict[str, Any]) -> str:
    return f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']!a}"
