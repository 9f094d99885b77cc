"""Keystone trusts, by which Blazar acts for the user who created a lease."""

import contextlib
import functools

from keystoneauth1 import exceptions as ks_exc
from oslo_config import cfg
from oslo_log import log as logging

from warre_blazar import exceptions
from warre_blazar.clients import keystone

LOG = logging.getLogger(__name__)

_SERVICE = "Keystone"
_PATH = "/OS-TRUST/trusts"
_REFUSALS = (ks_exc.Unauthorized, ks_exc.Forbidden, ks_exc.NotFound)


@functools.cache
def _trustee() -> str:
    with keystone.speaking_of(_SERVICE):
        user_id = keystone.service_session().get_user_id()
    assert user_id is not None  # a password login has a user
    return user_id


def create(token: str, user_id: str, project_id: str, roles: list[str]) -> str:
    """Make a trust from a user to Blazar's service user.

    :param token: the user's own token.
    :param project_id: the project that the trust is for.
    :param roles: the names of the roles that the trust delegates.
    :returns: the id of the trust.
    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Keystone refuses to make the trust.
    """
    trust = {
        "trustor_user_id": user_id,
        "trustee_user_id": _trustee(),
        "project_id": project_id,
        "impersonation": True,
        "roles": [{"name": role} for role in roles],
    }
    with keystone.speaking_of(_SERVICE):
        made = keystone.service_session().post(
            keystone.auth_url(cfg.CONF) + _PATH,
            json={"trust": trust},
            authenticated=False,
            headers={"X-Auth-Token": token},
        )
    return str(made.json()["trust"]["id"])


def is_dead(trust_id: str) -> bool:
    """Whether Blazar's service user can't log in with a trust any more.

    Keystone refuses the login in two cases:

    - The trust's user or project is disabled or deleted.
    - The user no longer has the trust's roles in the project.

    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Keystone also refuses the service user's login for its own project.
    """
    with keystone.speaking_of(_SERVICE):
        try:
            keystone.log_in(trust_id=trust_id)
            return False
        except _REFUSALS as error:
            LOG.info("The login with trust %s is refused: %s", trust_id, error)
    keystone.check_service_login()
    return True


def discard(token: str, trust_id: str) -> None:
    """Delete a trust that isn't needed after all.

    A failure is only logged, because a trust that stays does no harm.

    :param token: the token of the trust's user.
    """
    try:
        with keystone.speaking_of(_SERVICE):
            keystone.service_session().delete(
                f"{keystone.auth_url(cfg.CONF)}{_PATH}/{trust_id}",
                authenticated=False,
                headers={"X-Auth-Token": token},
            )
    except exceptions.WarreError as error:
        LOG.warning("Trust %s stays: %s", trust_id, error)


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


def exists(trust_id: str) -> bool:
    """Whether Keystone has a trust.

    The list of trusts (``of_service_user``) isn't enough. It can be incomplete, because Keystone's
    option [DEFAULT] list_limit limits its length.

    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Keystone's policy doesn't allow the request.
    """
    with keystone.speaking_of(_SERVICE):
        try:
            keystone.service_session().get(f"{keystone.auth_url(cfg.CONF)}{_PATH}/{trust_id}")
        except ks_exc.NotFound:
            return False
    return True


def delete(trust_id: str) -> None:
    """Delete a trust as Blazar's service user, which must be an administrator in Keystone.

    It is no error if the trust doesn't exist.

    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Keystone's policy doesn't allow the deletion.
    """
    with keystone.speaking_of(_SERVICE), contextlib.suppress(ks_exc.NotFound):
        keystone.service_session().delete(f"{keystone.auth_url(cfg.CONF)}{_PATH}/{trust_id}")
