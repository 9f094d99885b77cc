"""Orphaned leases: leases whose creator is gone. Another user can take over or delete them.

Blazar can change or delete a lease only with the lease's trust. The trust is dead if the user who
created it is disabled, is deleted, or has lost the roles in the project. Starts and ends need no
trust (``running.executor``).
"""

from collections.abc import Mapping
from typing import Any

from blazar.db import api as db_api
from oslo_log import log as logging
from oslo_utils import timeutils

from warre_blazar import exceptions, waiting
from warre_blazar.clients import trusts
from warre_blazar.db import lease_writes, leases, session
from warre_blazar.domain import lease_states
from warre_blazar.services.caller import Caller
from warre_blazar.services.running import repair

LOG = logging.getLogger(__name__)

#: Seconds to wait until a manager has deleted a lease.
_DELETED_WITHIN = 20.0


def take_over(caller: Caller, lease_id: str) -> bool:
    """Replace a lease's dead trust by a trust of the caller.

    :returns: whether the trust was dead. If it was, an operation that failed before may succeed
        now.
    :raises OwnerGone: Keystone doesn't let the caller make a trust for the lease's project.
    :raises ServiceUnavailable: Keystone is unavailable.
    :raises ServiceRefused: Keystone refuses the login of Blazar's service user.
    """
    lease = db_api.lease_get(lease_id)
    if lease is None or not _is_orphan(lease):
        return False
    try:
        trust_id = trusts.create(caller.token, caller.user_id, lease["project_id"], caller.roles)
    except exceptions.ServiceRefused as error:
        raise exceptions.OwnerGone from error
    if not session.change(lease_writes.replace_trust, lease_id, lease["trust_id"], trust_id):
        # Another request has replaced the trust at the same moment.
        trusts.discard(caller.token, trust_id)
    LOG.info("Lease %s now has a trust of user %s", lease_id, caller.user_id)
    return True


def is_orphan(lease_id: str) -> bool:
    """Whether a lease's trust is dead.

    :raises ServiceUnavailable, ServiceRefused: the same as for ``take_over``.
    """
    lease = db_api.lease_get(lease_id)
    return lease is not None and _is_orphan(lease)


def _is_orphan(lease: Mapping[str, Any]) -> bool:
    return lease["trust_id"] is not None and trusts.is_dead(lease["trust_id"])


def delete(lease_id: str, user_id: str | None) -> bool:
    """Let a manager delete a lease and its servers without using the lease's trust.

    All reservations of the lease must be of the resource type ``flavor:slot``.

    :param user_id: the user who deletes the lease.
    :returns: True: the lease is gone. False: the deletion is still under way.
    :raises InvalidState: a manager has been starting or ending the lease for too long.
    """
    if waiting.until(lambda: _is_deleted(lease_id, user_id), _DELETED_WITHIN):
        return True
    lease = db_api.lease_get(lease_id)
    if lease is not None and lease["status"] != lease_states.DELETING:
        raise exceptions.InvalidState(
            f"Lease {lease_id} is {lease['status']}; try again in a few seconds"
        )
    return lease is None


def _is_deleted(lease_id: str, user_id: str | None) -> bool:
    repair.request_deletion(lease_id, user_id)
    return db_api.lease_get(lease_id) is None


def delete_after_failure(lease_id: str, user_id: str | None) -> bool | None:
    """Delete a lease that Blazar failed to delete, although its v1 API authorized the deletion.

    :param user_id: the user who deletes the lease.
    :returns: True: the lease is gone. False: the deletion is still under way. None: the caller
        should return Blazar's answer. Either a dead trust isn't the cause of the failure, or the
        lease holds reservations of other types.
    :raises InvalidState: the same as for ``delete``.
    :raises ServiceUnavailable, ServiceRefused: the same as for ``take_over``.
    """
    if not _is_ours_alone(lease_id):
        return None
    if not is_orphan(lease_id):
        repair.settle(lease_id, timeutils.utcnow())
        return None
    return delete(lease_id, user_id)


def take_over_after_failure(caller: Caller, lease_id: str) -> bool:
    """Take over a lease that Blazar failed to change, although its v1 API authorized the change.

    :returns: True: the caller should send the same request again. False: the caller should return
        Blazar's answer.
    :raises OwnerGone, ServiceUnavailable, ServiceRefused: the same as for ``take_over``.
    """
    if not _is_ours_alone(lease_id):
        return False
    repair.settle(lease_id, timeutils.utcnow())
    return take_over(caller, lease_id)


def _is_ours_alone(lease_id: str) -> bool:
    with session.reader() as db:
        return any(r.is_ours() and not r.is_mixed() for r in leases.read(db, [lease_id]))
