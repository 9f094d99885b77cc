"""Leases whose creator is gone: another user takes the creator's place, or deletes the lease.

Blazar changes and deletes a lease by its trust only, which is dead once the creator is disabled,
deleted or without the roles in the project. Starts and ends need no trust: ``services.executor``.
"""

from collections.abc import Mapping
from typing import Any

from blazar.db import api as db_api
from oslo_log import log as logging
from oslo_utils import timeutils

from warre_blazar import exceptions
from warre_blazar.clients import trusts
from warre_blazar.db import leases, session
from warre_blazar.domain import lease_states
from warre_blazar.services import repair, waiting
from warre_blazar.services.callers import Caller

LOG = logging.getLogger(__name__)

#: Seconds to wait until a manager has deleted a lease.
_DELETED_WITHIN = 20.0


def take_over(caller: Caller, lease_id: str) -> bool:
    """Give a lease whose trust is dead a trust of the caller's.

    :returns: whether the trust was dead, so that what Blazar failed to do may succeed now.
    :raises OwnerGone: Keystone doesn't let the caller make a trust for the lease's project.
    :raises ServiceUnavailable: Keystone is away.
    :raises ServiceRefused: Keystone refuses Blazar's service user its own login.
    """
    lease = db_api.lease_get(lease_id)
    if lease is None or not _is_orphan(lease):
        return False
    try:
        trust_id = trusts.create(caller.token, caller.user_id, lease["project_id"], caller.roles)
    except exceptions.ServiceRefused as error:
        raise exceptions.OwnerGone from error
    try:
        with session.writer() as db:
            leases.replace_trust(db, lease_id, lease["trust_id"], trust_id)
    except session.LostRace:
        # Somebody else has, at the same moment.
        trusts.discard(caller.token, trust_id)
    LOG.info("Lease %s goes on by a trust of user %s", lease_id, caller.user_id)
    return True


def is_orphan(lease_id: str) -> bool:
    """Whether a lease's trust is dead.

    :raises ServiceUnavailable, ServiceRefused: as ``take_over``.
    """
    lease = db_api.lease_get(lease_id)
    return lease is not None and _is_orphan(lease)


def _is_orphan(lease: Mapping[str, Any]) -> bool:
    return lease["trust_id"] is not None and trusts.is_dead(lease["trust_id"])


def delete(lease_id: str) -> bool:
    """Let a manager delete a lease of ours alone without its trust, servers and all.

    :returns: whether the lease is gone; False: that goes on.
    :raises InvalidState: a manager starts or ends the lease, and takes long.
    """
    if waiting.until(lambda: _is_deleted(lease_id), _DELETED_WITHIN):
        return True
    lease = db_api.lease_get(lease_id)
    if lease is not None and lease["status"] != lease_states.DELETING:
        raise exceptions.InvalidState(
            f"Lease {lease_id} is {lease['status']}; try again in a few seconds"
        )
    return lease is None


def _is_deleted(lease_id: str) -> bool:
    repair.request_deletion(lease_id)
    return db_api.lease_get(lease_id) is None


def delete_after_failure(lease_id: str) -> bool | None:
    """Delete a lease that Blazar was allowed to delete over v1, and failed to.

    :returns: whether the lease is gone, False: that goes on; None: the failure has another reason
        than a dead trust, or the lease holds reservations of other types, and Blazar's answer
        stands.
    :raises InvalidState: as ``delete``.
    :raises ServiceUnavailable, ServiceRefused: as ``take_over``.
    """
    if not _is_ours_alone(lease_id):
        return None
    if not is_orphan(lease_id):
        repair.settle(lease_id, timeutils.utcnow())
        return None
    return delete(lease_id)


def take_over_after_failure(caller: Caller, lease_id: str) -> bool:
    """Prepare that a change which Blazar allowed over v1, and failed to make, is made again.

    :returns: whether to send the same request again; otherwise Blazar's answer stands.
    :raises OwnerGone, ServiceUnavailable, ServiceRefused: as ``take_over``.
    """
    if not _is_ours_alone(lease_id):
        return False
    repair.settle(lease_id, timeutils.utcnow())
    return take_over(caller, lease_id)


def _is_ours_alone(lease_id: str) -> bool:
    with session.reader() as db:
        return any(r.is_ours() and not r.is_mixed() for r in leases.read(db, [lease_id]))
