"""What is checked inside Blazar's application, once Keystone's middleware knows who asks."""

from collections.abc import Mapping
from typing import Any

import flask
from blazar import policy
from blazar.api import context
from blazar.db import api as db_api
from oslo_utils import timeutils
from pecan import hooks

from warre_blazar import exceptions
from warre_blazar.wsgi import answers, changes, leases, orphans

_NO_PROJECT = (
    "The token is for no project, so there is nothing here that it may see or do; ask Keystone "
    "for a token for a project (OS_PROJECT_NAME and OS_PROJECT_DOMAIN_NAME, or the cloud's entry "
    "in clouds.yaml)"
)


class ProjectHook(hooks.PecanHook):
    """Refuses tokens without a project for v2, before Blazar looks for what it will do."""

    def on_route(self, state: Any) -> None:
        if state.request.path_info not in ("/", "/versions"):
            check_project(state.request.environ)


def install(v1: flask.Flask) -> None:
    """Check requests to v1 before Blazar's functions get them, and mend what these fail at."""
    v1.register_error_handler(exceptions.WarreError, _answer)
    v1.before_request(_check)
    v1.after_request(_mend)


def _mend(answer: flask.Response) -> flask.Response:
    try:
        return orphans.mended(answer)
    except exceptions.WarreError as error:
        return _answer(error)


def _answer(error: exceptions.WarreError) -> flask.Response:
    refusal = answers.refusal(error)
    return flask.Response(refusal.body, refusal.status_int, list(refusal.headers.items()))


def _check() -> None:
    # Blazar reads this off every request once it is answered.
    flask.request.api_version_request = None  # type: ignore[attr-defined]
    if not flask.request.path.startswith("/v1"):
        return
    check_project(flask.request.environ)
    body = flask.request.environ.get(leases.CHECKED)
    if body is not None:
        changes.check_expressions(body)
        if flask.request.view_args:
            _check_update(flask.request.view_args["lease_id"], body)


def _check_update(lease_id: str, body: Mapping[str, Any]) -> None:
    """Refuse a change of a lease that the manager would break on; others' leases stay unseen."""
    lease = db_api.lease_get(lease_id)
    if lease is None:
        return
    target = {"project_id": lease["project_id"], "user_id": lease["user_id"]}
    caller = context.ctx_from_headers(flask.request.headers)
    if policy.enforce(caller, "blazar:leases:put", target, do_raise=False):
        changes.check(
            lease, db_api.reservation_get_all_by_lease_id(lease_id), body, timeutils.utcnow()
        )


def check_project(environ: Mapping[str, Any]) -> None:
    """:raises Refused: Keystone confirmed the token, which is for no project."""
    confirmed = environ.get("HTTP_X_IDENTITY_STATUS") == "Confirmed"
    if confirmed and not environ.get("HTTP_X_PROJECT_ID"):
        raise exceptions.Refused("forbidden", _NO_PROJECT)
