"""Runs checks inside Blazar's application, after Keystone's middleware has checked the token."""

import re
from collections.abc import Mapping
from typing import Any

import flask
from blazar import policy
from blazar.api import context
from blazar.db import api as db_api
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from warre_blazar import texts
from warre_blazar.api import parsing
from warre_blazar.errors import exceptions
from warre_blazar.wsgi import error_answers, lease_bodies, lease_changes, stock_form

#: Flask's name of Blazar's list of plugins, for which Blazar has no policy and no content.
_PLUGINS = "v1_0.plugins_list"
_LEASE_ID = re.compile(r"[0-9a-zA-Z-]{1,36}")


def install(v1: flask.Flask) -> None:
    """Add checks to Blazar's v1 application.

    The checks run before Blazar handles a request.
    """
    for kind in (exceptions.WarreError, db_exc.DBError):
        v1.register_error_handler(kind, _error_answer)
    v1.before_request(_check)


def _error_answer(error: exceptions.WarreError | db_exc.DBError) -> flask.Response:
    is_ours = isinstance(error, exceptions.WarreError)
    refusal = (error_answers.refusal if is_ours else error_answers.database_is_away)(error)
    return flask.Response(refusal.body, refusal.status_int, list(refusal.headers.items()))


def _check() -> None:
    # Blazar reads ``api_version_request`` of each request, even of a request that is refused here.
    flask.request.api_version_request = None  # type: ignore[attr-defined]
    if not flask.request.path.startswith("/v1"):
        return
    check_project(flask.request.environ)
    parsing.check_encoding(flask.request.environ.get("QUERY_STRING", ""))
    if flask.request.endpoint == _PLUGINS:
        raise exceptions.Refused(texts.refusals.NO_PLUGINS())
    lease_id = (flask.request.view_args or {}).get("lease_id")
    if lease_id is not None:
        check_lease(lease_id, flask.request)
    body = flask.request.environ.get(lease_bodies.CHECKED)
    if body is not None:
        lease_changes.check_expressions(body)
        if flask.request.view_args:
            _check_update(flask.request.view_args["lease_id"], body)
            # Blazar takes this in place of the body.
            flask.request.parsed_data = stock_form.without_type(body)  # type: ignore[attr-defined]


def check_lease(lease_id: str, request: Any) -> None:
    """Check a request about a lease, before Blazar looks for the lease.

    Leases that don't exist, and leases that the caller may not see, get one answer. Blazar's
    answers differ, so that they tell everybody which leases exist.

    :param request: the request, with the caller as Keystone's middleware has set it.
    :raises Refused: the caller may not see the lease, or its creation isn't finished and the
        request is to delete it.
    """
    lease = db_api.lease_get(lease_id) if _LEASE_ID.fullmatch(lease_id) else None
    if lease is None or not _is_visible(lease, request.headers):
        raise exceptions.Refused(texts.refusals.LEASE_NOT_FOUND(lease=parsing.shown(lease_id)))
    if request.method == "DELETE" and not {"start_lease", "end_lease"} <= {
        event["event_type"] for event in lease["events"]
    }:
        # Blazar's manager would fail, and leave the lease in the status ERROR.
        raise exceptions.Refused(texts.refusals.LEASE_BEING_MADE(lease=lease_id))


def _is_visible(lease: Mapping[str, Any], headers: Any) -> bool:
    target = {"project_id": lease["project_id"], "user_id": lease["user_id"]}
    caller = context.ctx_from_headers(headers)
    return bool(policy.enforce(caller, "blazar:leases:get", target, do_raise=False))


def _check_update(lease_id: str, body: Mapping[str, Any]) -> None:
    """Refuse a change of a lease if the manager would fail to make the change.

    If the caller may not change the lease, nothing is checked, so that the answer reveals nothing
    about the lease.
    """
    lease = db_api.lease_get(lease_id)
    if lease is None:
        return
    target = {"project_id": lease["project_id"], "user_id": lease["user_id"]}
    caller = context.ctx_from_headers(flask.request.headers)
    if policy.enforce(caller, "blazar:leases:put", target, do_raise=False):
        lease_changes.check(
            lease, db_api.reservation_get_all_by_lease_id(lease_id), body, timeutils.utcnow()
        )


def check_project(environ: Mapping[str, Any]) -> None:
    """Check that a request's token is for a project. Invalid tokens aren't checked here.

    :param environ: the WSGI environment of the request.
    :raises Refused: the token is valid, but not for a project.
    """
    confirmed = environ.get("HTTP_X_IDENTITY_STATUS") == "Confirmed"
    if confirmed and not environ.get("HTTP_X_PROJECT_ID"):
        raise exceptions.Refused(texts.permissions.NO_PROJECT())
