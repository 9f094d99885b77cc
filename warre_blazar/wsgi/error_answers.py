"""The answers to requests that are refused before they reach a controller.

These answers have the same form as the errors of the controllers.
"""

import json

import webob
from oslo_db import exception as db_exc

from warre_blazar.api import error_bodies
from warre_blazar.errors import exceptions, statuses


def refusal(error: exceptions.WarreError) -> webob.Response:
    """The answer to a request that is refused with an error.

    Its type says no charset, as JSON needs none, and as Azimuth knows the type only without one.
    """
    status = statuses.around_blazar(error.code)
    return webob.Response(
        json.dumps(error_bodies.body(status, error)).encode(),
        status=status,
        content_type="application/json",
    )


def database_is_away(error: db_exc.DBError) -> webob.Response:
    """The answer to a request for which Blazar's code can't read the database."""
    return refusal(exceptions.DatabaseUnavailable(error))
