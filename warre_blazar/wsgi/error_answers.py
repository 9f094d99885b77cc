"""The answers to requests that are refused before they reach a controller.

These answers have the same form as the errors of the controllers.
"""

import json

import webob

from warre_blazar.api import error_bodies
from warre_blazar.errors import exceptions, statuses


def refusal(error: exceptions.WarreError) -> webob.Response:
    """The answer to a request that is refused with an error."""
    status = statuses.around_blazar(error.code)
    return webob.Response(
        json.dumps(error_bodies.body(status, error)).encode(),
        status=status,
        content_type="application/json",
        charset="UTF-8",
    )
