"""Keystone trusts, by which Blazar acts for the user who created a lease of stock types."""

import contextlib
import functools
from collections.abc import Collection
from concurrent import futures

from keystoneauth1 import exceptions as ks_exc
from oslo_config import cfg

from warre_blazar.openstack import keystone

_SERVICE = "Keystone"
_PATH = "/OS-TRUST/trusts"
#: The number of trusts that are deleted at the same time.
_AT_ONCE = 8


@functools.cache
def _trustee() -> str:
    with keystone.speaking_of(_SERVICE):
        user_id = keystone.service_session().get_user_id()
    assert user_id is not None  # a password login has a user
    return user_id


def of_service_user() -> frozenset[str]:
    """The ids of all trusts whose trustee is Blazar's service user.

    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Keystone's policy doesn't allow the list.
    """
    with keystone.speaking_of(_SERVICE, "the list of trusts: "):
        answer = keystone.service_session().get(
            keystone.auth_url(cfg.CONF) + _PATH, params={"trustee_user_id": _trustee()}
        )
    return frozenset(trust["id"] for trust in answer.json()["trusts"])


def delete(trust_ids: Collection[str]) -> None:
    """Delete trusts as Blazar's service user, which must be an administrator in Keystone.

    It is no error if a trust doesn't exist. After an error, no further trust is deleted, except
    those whose deletion has begun.

    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Keystone's policy doesn't allow the deletion.
    """
    with futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            deletions = [pool.submit(_delete, trust_id) for trust_id in sorted(trust_ids)]
            for deletion in deletions:
                deletion.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _delete(trust_id: str) -> None:
    with keystone.speaking_of(_SERVICE), contextlib.suppress(ks_exc.NotFound):
        keystone.service_session().delete(f"{keystone.auth_url(cfg.CONF)}{_PATH}/{trust_id}")
