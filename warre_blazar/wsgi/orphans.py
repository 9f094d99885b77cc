"""Changes and deletions over v1 that Blazar failed to make because a lease's creator is gone.

Blazar makes them by the lease's trust only, which is dead by then. Keystone's refusal comes out of
v1 as 500, or where the trust is deleted as 404, as if the lease weren't there.
"""

import flask
from blazar import policy
from blazar.api import context
from blazar.db import api as db_api

from warre_blazar.services import successors
from warre_blazar.services.callers import Caller

#: Blazar's policies by method.
_POLICIES = {"DELETE": "blazar:leases:delete", "PUT": "blazar:leases:put"}


def mended(answer: flask.Response) -> flask.Response:
    """Blazar's answer, or where it failed for a dead trust, what is done instead.

    :raises OwnerGone: the caller can't take the creator's place.
    :raises InvalidState, ServiceUnavailable, ServiceRefused: as ``services.successors``.
    """
    lease_id = (flask.request.view_args or {}).get("lease_id")
    failed = answer.status_code >= 500 or answer.status_code == 404
    if not failed or lease_id is None or not _is_allowed(lease_id):
        return answer
    if flask.request.method == "DELETE":
        is_gone = successors.delete_after_failure(lease_id)
        return answer if is_gone is None else flask.Response(status=204 if is_gone else 202)
    if successors.take_over_after_failure(_caller(), lease_id):
        return _asked_again()
    return answer


def _is_allowed(lease_id: str) -> bool:
    """Whether there is such a lease, and the caller may do with it what was asked for."""
    rule, lease = _POLICIES.get(flask.request.method), db_api.lease_get(lease_id)
    if rule is None or lease is None:
        return False
    target = {"project_id": lease["project_id"], "user_id": lease["user_id"]}
    caller = context.ctx_from_headers(flask.request.headers)
    return bool(policy.enforce(caller, rule, target, do_raise=False))


def _caller() -> Caller:
    found = context.ctx_from_headers(flask.request.headers)
    return Caller(
        token=found.auth_token,
        user_id=found.user_id,
        roles=list(found.roles),
        context=found.to_dict(),
    )


def _asked_again() -> flask.Response:
    application = flask.current_app
    # Blazar keeps what it read of the body, and may have changed it.
    vars(flask.request._get_current_object()).pop("parsed_data", None)  # type: ignore[attr-defined]
    try:
        answer = application.dispatch_request()
    except Exception as error:
        answer = application.handle_user_exception(error)
    return application.make_response(answer)
