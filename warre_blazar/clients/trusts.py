"""Keystone trusts: what lets Blazar act for the user who booked, when the booking starts."""

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
        found = keystone.service_session().get_user_id()
    assert found is not None  # a password login has a user
    return found


def create(token: str, user_id: str, project_id: str, roles: list[str]) -> str:
    """A trust of the user in Blazar's service user, for a project with roles; and its id.

    :param token: the user's.
    :raises ServiceUnavailable, ServiceRefused:
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
    """Whether Keystone refuses Blazar's service user a login with a trust.

    It does once the trust's user or project is disabled or deleted, or the user has no longer the
    trust's roles in the project.

    :raises ServiceUnavailable: Keystone is away.
    :raises ServiceRefused: Keystone refuses the service user its own login too.
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
    """Delete a trust that came to nothing; one that stays does no harm."""
    try:
        with keystone.speaking_of(_SERVICE):
            keystone.service_session().delete(
                f"{keystone.auth_url(cfg.CONF)}{_PATH}/{trust_id}",
                authenticated=False,
                headers={"X-Auth-Token": token},
            )
    except exceptions.WarreError as error:
        LOG.warning("Trust %s stays: %s", trust_id, error)
