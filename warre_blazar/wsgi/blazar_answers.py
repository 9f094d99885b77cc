"""Puts the error answers of Blazar's own code in the form of this package's error answers.

Blazar, Flask and Pecan have forms of their own, and Flask and Pecan answer some requests with HTML.
Errors of Blazar's manager come with a traceback.
"""

import http
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

import webob
from blazar import exceptions as blazar_exc
from blazar.db import api as db_api
from blazar.db import exceptions as db_exc
from blazar.manager import exceptions as manager_exc
from oslo_db import exception as oslo_db_exc

from warre_blazar import texts
from warre_blazar.api import error_bodies
from warre_blazar.errors import exceptions
from warre_blazar.wsgi import error_answers, manager_calls

Application = Callable[..., Iterable[bytes]]

#: The statuses of exceptions that Blazar answers with 500, although the request is at fault.
_STATUSES: dict[type[blazar_exc.BlazarException], int] = {
    manager_exc.NotEnoughHostsAvailable: 409,
    manager_exc.UnsupportedResourceType: 400,
    blazar_exc.InvalidStatus: 409,
    db_exc.BlazarDBInvalidResourceProperty: 404,
}
_LEASE = re.compile(r"/v[12]/leases/([0-9a-zA-Z-]{1,36})/?")
_TRACEBACK = "Traceback (most recent call last)"
#: The middleware for tokens has a form of its own, which clients of all services know.
_FROM_KEYSTONE = 401


def correct_statuses() -> None:
    """Let Blazar's API answer with 4xx where the request is at fault.

    The API reads the status of an error from the class of the exception.
    """
    for cls, status in _STATUSES.items():
        cls.code = status


class Translated:
    """WSGI middleware that translates the error answers of an application."""

    def __init__(self, application: Application) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer like the application, with errors in this package's form."""
        manager_calls.forget()
        try:
            answer = webob.Request(environ).get_response(self.application)
        except exceptions.WarreError as error:
            # Here and not in the guard, so that the answer to a HEAD loses its body too.
            answer = error_answers.refusal(error)
        except oslo_db_exc.DBError as error:
            answer = error_answers.database_is_away(error)
        failure = manager_calls.failure(environ["REQUEST_METHOD"])
        if answer.status_int == 500 and failure:
            answer = error_answers.refusal(failure)
        elif answer.status_int == 500 and _is_gone(environ):
            answer = error_answers.refusal(exceptions.Refused(texts.refusals.LEASE_GONE()))
        if answer.status_int >= 400 and answer.status_int != _FROM_KEYSTONE:
            _translate(answer)
        elif answer.status_int >= 300 and answer.content_type == "text/html":
            # Flask redirects paths with repeated slashes.
            answer.body = b""
        start_response(answer.status, answer.headerlist)
        return [answer.body]


def _is_gone(environ: dict[str, Any]) -> bool:
    """Whether a request is about a lease that doesn't exist.

    Blazar looks for the lease before it calls its manager. Then the manager fails with a TypeError
    if another request has deleted the lease meanwhile.
    """
    lease = _LEASE.fullmatch(environ.get("PATH_INFO", ""))
    try:
        return lease is not None and db_api.lease_get(lease[1]) is None
    except oslo_db_exc.DBError:
        return False


def _translate(answer: webob.Response) -> None:
    document = _document(answer)
    message = str(document.get("error_message") or answer.status.partition(" ")[2])
    shown = message.partition(_TRACEBACK)[0].strip()
    if "error_code" not in document:
        document = _body(answer.status_int)
    elif shown == message:
        return
    answer.body = json.dumps({**document, "error_message": shown}).encode()
    answer.content_type = "application/json"


def _document(answer: webob.Response) -> dict[str, Any]:
    try:
        document = json.loads(answer.body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _body(status: int) -> dict[str, Any]:
    code = "internal" if status >= 500 else error_bodies.CODES.get(status, "refused")
    return {"error_code": status, "error_name": http.HTTPStatus(status).name, "code": code}
