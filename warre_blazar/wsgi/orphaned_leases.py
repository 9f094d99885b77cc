"""Changes and deletes leases over v1 where Blazar fails because the lease's creator is gone.

Blazar needs the lease's trust for a change or a deletion. When the user who created the lease is
gone, the trust is dead, and Blazar answers 500. If Keystone has deleted the trust, Blazar answers
404, as if the lease didn't exist.
"""

import flask
from blazar import policy
from blazar.api import context
from blazar.db import api as db_api

from warre_blazar.services.booking import orphaned_leases
from warre_blazar.services.caller import Caller

#: The policies that Blazar checks for requests on a lease, by method.
_POLICIES = {"DELETE": "blazar:leases:delete", "PUT": "blazar:leases:put"}


def final_answer(answer: flask.Response) -> flask.Response:
    """The answer to send to a client of v1, after Blazar has answered its request.

    If the request failed because of a dead trust, this function carries it out in another way.

    :param answer: Blazar's answer.
    :returns: Blazar's answer if the request succeeded, or failed for another reason. Otherwise the
        answer to the second attempt.
    :raises OwnerGone: the caller can't take over the lease from its creator.
    :raises InvalidState, ServiceUnavailable, ServiceRefused: the errors of
        ``booking.orphaned_leases``.
    """
    lease_id = (flask.request.view_args or {}).get("lease_id")
    has_failed = answer.status_code >= 500 or answer.status_code == 404
    if not has_failed or lease_id is None or not _is_allowed(lease_id):
        return answer
    if flask.request.method == "DELETE":
        is_gone = orphaned_leases.delete_after_failure(lease_id, _caller().user_id)
        return answer if is_gone is None else flask.Response(status=204 if is_gone else 202)
    if orphaned_leases.take_over_after_failure(_caller(), lease_id):
        return _handle_again()
    return answer


def _is_allowed(lease_id: str) -> bool:
    """Whether the lease exists, and the policy allows the caller's request for the lease."""
    rule, lease = _POLICIES.get(flask.request.method), db_api.lease_get(lease_id)
    if rule is None or lease is None:
        return False
    target = {"project_id": lease["project_id"], "user_id": lease["user_id"]}
    caller = context.ctx_from_headers(flask.request.headers)
    return bool(policy.enforce(caller, rule, target, do_raise=False))


def _caller() -> Caller:
    request_context = context.ctx_from_headers(flask.request.headers)
    return Caller(
        token=request_context.auth_token,
        user_id=request_context.user_id,
        roles=list(request_context.roles),
        context=request_context.to_dict(),
    )


def _handle_again() -> flask.Response:
    """Let Blazar handle the present request a second time."""
    application = flask.current_app
    # Blazar keeps the parsed body in the request, and may have changed it.
    vars(flask.request._get_current_object()).pop("parsed_data", None)  # type: ignore[attr-defined]
    try:
        answer = application.dispatch_request()
    except Exception as error:
        answer = application.handle_user_exception(error)
    return application.make_response(answer)
