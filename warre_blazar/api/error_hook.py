"""The Pecan hook that answers the errors of this package's controllers in JSON."""

import contextlib
import json
from typing import Any

import webob
import webob.exc
from oslo_db import exception as db_exc
from oslo_log import log as logging
from pecan import hooks

from warre_blazar import texts
from warre_blazar.api import error_bodies
from warre_blazar.db import session
from warre_blazar.errors import exceptions, statuses

LOG = logging.getLogger(__name__)


#: The key in a request's WSGI environment that marks a request to Warre's path.
_WARRES = "warre.path"


def mark_as_warres(request: Any) -> None:
    """Mark a request to Warre's path, /v2/warre/v1, where answers have the form of Warre's."""
    request.environ[_WARRES] = True


def is_warres(request: Any) -> bool:
    """Whether a request came to Warre's path."""
    return _WARRES in request.environ


class ErrorHook(hooks.PecanHook):
    """Answers every error that is raised by a controller, or by Pecan while it calls one."""

    def on_error(self, state: Any, error: Exception) -> webob.Response:
        request = state.request
        warre_error = _uncarried_text(error, request) or as_warre(error)
        as_answered = error_bodies.as_warres if is_warres(request) else error_bodies.as_ours
        warre_error = as_answered(warre_error)
        status = statuses.in_controllers(warre_error.code, request.method)
        if status >= 500 and not isinstance(error, exceptions.Busy):
            LOG.error("%s %s: %s", request.method, request.path, warre_error, exc_info=error)
        return webob.Response(
            json.dumps(error_bodies.body(status, warre_error)).encode(),
            status=status,
            content_type="application/json",
            charset="UTF-8",
        )


def _uncarried_text(error: Exception, request: Any) -> exceptions.WarreError | None:
    """The error for a text that the database's connection can't encode. The error names the field.

    :returns: None if ``error`` has another cause.
    """
    if not session.is_uncarried(error):
        return None
    values = list(request.GET.items())
    with contextlib.suppress(ValueError, AttributeError):
        values += json.loads(request.body).items()
    fields = [name for name, value in values if any(ord(char) > 0xFFFF for char in str(value))]
    return exceptions.UncarriedText(fields[0] if fields else "path")


def as_warre(error: Exception) -> exceptions.WarreError:
    """Convert any exception to an error of this package.

    An unexpected exception becomes an error with the code ``internal``. Its text tells a client
    nothing about the cause.
    """
    if isinstance(error, exceptions.WarreError):
        return error
    if isinstance(error, UnicodeDecodeError):
        return exceptions.InvalidField("query", texts.expected.UTF8())
    if isinstance(error, RecursionError):
        return exceptions.Refused(texts.bodies.NESTED_TOO_DEEPLY())
    if isinstance(error, LookupError) and "encoding" in str(error):
        return exceptions.InvalidField("Content-Type", texts.expected.CHARACTER_SET())
    if isinstance(error, webob.exc.HTTPBadRequest):
        # Pecan raises this only for text that it can't decode.
        return exceptions.Refused(texts.bodies.MALFORMED_JSON())
    if isinstance(error, webob.exc.HTTPException):
        return exceptions.Relayed(
            {
                "code": error_bodies.CODES.get(error.code, "refused"),
                "message": error.title,
                "detail": {},
            }
        )
    if isinstance(error, db_exc.DBDataError):
        return exceptions.InvalidField("body", texts.expected.NOT_STORABLE())
    # FAILURES includes SQLAlchemy's errors that oslo.db doesn't translate, such as a missing table.
    if isinstance(error, session.FAILURES):
        return exceptions.DatabaseUnavailable(error)
    return exceptions.Refused(texts.refusals.INTERNAL())
