"""Errors as answers, in the API's one shape, for what is refused outside of its controllers."""

import json

import webob

from warre_blazar import exceptions
from warre_blazar.api import errors


def refusal(error: exceptions.WarreError) -> webob.Response:
    """The answer; a bad field is 400, as all of Blazar's v1 has it."""
    invalid = isinstance(error, exceptions.InvalidField)
    status = 400 if invalid else errors.STATUS.get(error.code, 400)
    return webob.Response(
        json.dumps(errors.body(status, error)).encode(),
        status=status,
        content_type="application/json",
        charset="UTF-8",
    )
