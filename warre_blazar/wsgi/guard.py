"""Checks every request before its token is checked with Keystone and before Blazar gets it.

A request can be refused here without asking Keystone or the manager. The guard must know each path
that Flask treats as one of a lease. So it splits a path at its slashes, and ignores repeated ones.
Blazar's parser might read other values from a body than the guard, for example if a key occurs
twice. So the guard replaces the body of a lease by the document that it has checked.
"""

import importlib.metadata
import json
import sys
import urllib.parse
from collections.abc import Callable, Iterable
from typing import Any

import webob
from oslo_context.context import RequestContext
from oslo_log import log as logging

from warre_blazar import texts, times
from warre_blazar.errors import exceptions
from warre_blazar.wsgi import (
    calendar_files,
    error_answers,
    host_bodies,
    json_bodies,
    lease_bodies,
    request_bodies,
    request_threads,
    stop_page,
)

LOG = logging.getLogger(__name__)

Application = Callable[..., Iterable[bytes]]
Headers = list[tuple[str, str]]

#: The header that says which version of this package serves, and in how many threads.
HEADER = "X-Warre-Blazar"
#: What is answered without a token of Keystone. The rest of such a path is a secret.
_WITHOUT_TOKEN = (stop_page, calendar_files)
_READING = {"GET", "HEAD", "OPTIONS"}
#: The methods whose body Blazar's v1 reads.
_WRITING = {"POST", "PUT", "PATCH"}
#: The methods that /v2/leases and /v2/os-hosts allow.
_V2_METHODS = ("GET", "HEAD", "DELETE")


class Guard:
    """WSGI middleware that checks requests before Blazar's application gets them.

    :param reads: whether this package itself reads the bodies of requests to a path. Those bodies
        aren't checked here.
    """

    def __init__(self, application: Application, reads: Callable[[str], bool]) -> None:
        self.application = application
        self._reads = reads
        self._served_by = _served_by()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Refuse a request, or pass it to Blazar's application."""
        begun = False
        # The thread still has the context of its last request. Logs would name that request's user.
        RequestContext(overwrite=True)

        def begin(status: str, headers: Headers, *failure: Any) -> Any:
            nonlocal begun
            begun = True
            return start_response(status, self._completed(status, headers), *failure)

        try:
            for page in _WITHOUT_TOKEN:
                if page.is_for(environ):
                    return page.answer(environ)(environ, begin)
            _prepare(environ, self._reads)
            if environ["REQUEST_METHOD"] == "HEAD":
                return self._head(environ, begin)
            return self.application(environ, begin)
        except exceptions.WarreError as error:
            return _refuse(error, environ, begin)
        except Exception:
            # If the server got the exception, it would close the connection without an answer.
            LOG.exception("%s failed", _request_line(environ))
            answer = error_answers.refusal(exceptions.Refused(texts.refusals.INTERNAL()))
            failure = [sys.exc_info()] if begun else []
            begin(answer.status, answer.headerlist, *failure)
            return [answer.body]

    def _completed(self, status: str, headers: Headers) -> Headers:
        """The headers of an answer, with those that each answer has."""
        added = [(HEADER, self._served_by)]
        if status.startswith("503") and "retry-after" not in {n.lower() for n, _ in headers}:
            added.append(("Retry-After", str(times.RETRY_AFTER)))
        return [*headers, *added]

    def _head(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer a HEAD like a GET, but without the body.

        Blazar's application gets a GET, because its v2 API fails on error answers without a body.
        """
        environ["REQUEST_METHOD"] = "GET"
        answer = webob.Request(environ).get_response(self.application)
        answer.content_length = len(answer.body)
        start_response(answer.status, answer.headerlist)
        return [b""]


def _served_by() -> str:
    version, threads = importlib.metadata.version("warre-blazar"), request_threads.count()
    return version if threads is None else f"{version}; threads={threads}"


def _prepare(environ: dict[str, Any], reads: Callable[[str], bool]) -> None:
    """Check a request, and change it so that Blazar can neither fail on it nor misread it.

    :param reads: see ``Guard``.
    :raises WarreError: the request is refused.
    """
    _add_missing_headers(environ)
    # The body is read before anything is refused (see ``request_bodies``).
    body = request_bodies.read(environ, request_bodies.MAX_BODY)
    # The path is empty if the application is mounted at a path, and the request is for that path.
    environ["PATH_INFO"] = environ["PATH_INFO"] or "/"
    _check_path(environ["PATH_INFO"])
    method = environ["REQUEST_METHOD"]
    if method in _READING or not body.strip():
        request_bodies.put(environ, b"")
    if method in _READING:
        # Pecan would parse even an empty body as a form, if the type says so.
        environ["CONTENT_TYPE"] = ""
    else:
        if not reads(environ["PATH_INFO"]):
            json_bodies.check(environ.get("CONTENT_TYPE") or "", body)
        # JSON is always UTF-8. Pecan would decode it as a parameter of the type says.
        environ["CONTENT_TYPE"] = (environ.get("CONTENT_TYPE") or "").partition(";")[0].strip()
    match _segments(environ["PATH_INFO"]):
        case ["v1", "leases" | "leases.json", *_] if method not in {*_READING, "DELETE"}:
            _check_type(environ.get("CONTENT_TYPE") or "")
            document = lease_bodies.checked(method, body)
            # Blazar gets the document that was checked. It might read other values from the
            # original body, for instance if a key occurs twice.
            request_bodies.put(environ, json.dumps(document).encode())
            environ[lease_bodies.CHECKED] = document
        case ["v1", "os-hosts" | "os-hosts.json", *_] if method in _WRITING:
            _check_type(environ.get("CONTENT_TYPE") or "")
            request_bodies.put(environ, json.dumps(host_bodies.checked(method, body)).encode())
        case ["v2", "leases" | "os-hosts" as name, *_]:
            _check_blazars_v2(name, method, environ)


def _add_missing_headers(environ: dict[str, Any]) -> None:
    """Add the headers that Blazar's v1 needs.

    Without them v1 raises an exception, in some cases after it has made a change.
    """
    # A request that comes through a Unix socket has no address.
    environ.setdefault("REMOTE_ADDR", "-")
    if not environ.get("HTTP_ACCEPT"):
        environ["HTTP_ACCEPT"] = "application/json"


def _check_path(path: str) -> None:
    try:
        path.encode("latin-1").decode()
    except UnicodeError:
        raise exceptions.InvalidField("path", texts.expected.UTF8()) from None
    if not path.startswith("/"):
        # A client can send "POST *", as HTTP has it for OPTIONS.
        raise exceptions.InvalidField("path", texts.expected.SLASH())


def _segments(path: str) -> list[str]:
    """The parts of a path between its slashes. Blazar ignores repeated slashes in the same way."""
    return [part for part in path.split("/") if part]


def _check_type(content_type: str) -> None:
    if content_type.partition(";")[0].strip().lower() not in ("", "application/json"):
        raise exceptions.InvalidField("Content-Type", texts.expected.CONTENT_TYPE())


def _check_blazars_v2(name: str, method: str, environ: dict[str, Any]) -> None:
    """Check a request to Blazar's own controllers of v2, which only list, show and delete.

    Blazar's v2 passes new and changed leases and hosts on to the manager without a check. Leases
    are created and changed over v1 and through /v2/reservations, and hosts over v1, where they are
    checked.

    :param name: the controller's name in paths.
    :raises Refused: the method isn't allowed.
    :raises InvalidField: the request has a query.
    """
    # If a query or a form has a field "_method", Pecan takes the request's method from this field.
    chooses_method = "_method" in urllib.parse.unquote(environ.get("QUERY_STRING", ""))
    if method not in _V2_METHODS or chooses_method:
        raise exceptions.Refused(texts.refusals.ONLY_METHODS(noun=name, methods=_V2_METHODS))
    if environ.get("QUERY_STRING"):
        # Blazar has no parameters there, but would take an id from the query.
        raise exceptions.InvalidField("query", texts.expected.NO_PARAMETERS())
    request_bodies.put(environ, b"")


def _refuse(
    error: exceptions.WarreError, environ: dict[str, Any], start_response: Any
) -> Iterable[bytes]:
    LOG.info("%s refused: %s", _request_line(environ), error.message)
    answer = error_answers.refusal(error)
    if answer.status_int == 405:
        answer.allow = _V2_METHODS
    return answer(environ, start_response)


def _request_line(environ: dict[str, Any]) -> str:
    """What the log says of a request: its method and its path, without secrets."""
    roots = (page.ROOT + "..." for page in _WITHOUT_TOKEN if page.is_for(environ))
    return f"{environ['REQUEST_METHOD']} {next(roots, environ['PATH_INFO'])!a}"
