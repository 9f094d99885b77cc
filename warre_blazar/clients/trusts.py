"""Keystone trusts, by which Blazar acts for the user who created a lease of stock types."""

import contextlib
import functools

from keystoneauth1 import exceptions as ks_exc
from oslo_config import cfg

from warre_blazar.clients import keystone

_SERVICE = "Keystone"
_PATH = "/OS-TRUST/trusts"


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


def delete(trust_id: str) -> None:
    """Delete a trust as Blazar's service user, which must be an administrator in Keystone.

    It is no error if the trust doesn't exist.

    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Keystone's policy doesn't allow the deletion.
    """
    with keystone.speaking_of(_SERVICE), contextlib.suppress(ks_exc.NotFound):
        keystone.service_session().delete(f"{keystone.auth_url(cfg.CONF)}{_PATH}/{trust_id}")
