"""What every one of our controllers has around it: errors leave as JSON."""

import contextlib
import json
from typing import Any

import webob
import webob.exc
from oslo_db import exception as db_exc
from oslo_log import log as logging
from pecan import hooks

from warre_blazar import exceptions
from warre_blazar.api import errors
from warre_blazar.db import session

LOG = logging.getLogger(__name__)


class _Answer(webob.Response):
    """One that Blazar's middleware for errors can look into, which takes HEAD for having a body."""

    def __call__(self, environ: Any, start_response: Any) -> Any:
        body = super().__call__(environ, start_response)
        return [b""] if environ["REQUEST_METHOD"] == "HEAD" else body


class ErrorHook(hooks.PecanHook):
    """Answers any error that a controller, or pecan on its behalf, raises."""

    def on_error(self, state: Any, error: Exception) -> webob.Response:
        known = _uncarried(error, state.request) or as_warre(error)
        code = errors.status(known.code, state.request.method)
        if code >= 500:
            LOG.error("%s %s: %s", state.request.method, state.request.path, known, exc_info=error)
        return _Answer(
            json.dumps(errors.body(code, known)).encode(),
            status=code,
            content_type="application/json",
            charset="UTF-8",
        )


def _uncarried(error: Exception, request: Any) -> exceptions.WarreError | None:
    """For a character that the database's connection has no room for: where it is."""
    if not session.is_uncarried(error):
        return None
    sent = list(request.GET.items())
    with contextlib.suppress(ValueError, AttributeError):
        sent += json.loads(request.body).items()
    fields = [name for name, value in sent if any(ord(char) > 0xFFFF for char in str(value))]
    return exceptions.UncarriedText(fields[0] if fields else "path")


def as_warre(error: Exception) -> exceptions.WarreError:
    """Any exception as one of ours; what nobody expected tells a client nothing."""
    if isinstance(error, exceptions.WarreError):
        return error
    if isinstance(error, UnicodeDecodeError):
        return exceptions.InvalidField("query", "expected UTF-8")
    if isinstance(error, RecursionError):
        return exceptions.Refused("malformed_json", "body: nested too deeply")
    if isinstance(error, LookupError) and "encoding" in str(error):
        return exceptions.InvalidField("Content-Type", "expected the character set UTF-8")
    if isinstance(error, webob.exc.HTTPBadRequest):
        # Pecan's answer to text that it can't decode, and to nothing else.
        return exceptions.Refused("malformed_json", "body: expected JSON in UTF-8")
    if isinstance(error, webob.exc.HTTPException):
        return exceptions.Refused(errors.CODES.get(error.code, "refused"), error.title)
    if isinstance(error, db_exc.DBDataError):
        return exceptions.InvalidField("body", "a value can't be stored by this database")
    # What oslo.db doesn't know, such as a missing table, comes as SQLAlchemy's own.
    if isinstance(error, session.FAILURES):
        return exceptions.ServiceUnavailable("The database", type(error).__name__)
    return exceptions.Refused("internal", "Internal Server Error")
