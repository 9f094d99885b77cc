"""Keystone trusts: what lets Blazar act for the user who booked, when the booking starts."""

import functools

from oslo_config import cfg
from oslo_log import log as logging

from warre_blazar import exceptions
from warre_blazar.clients import keystone

LOG = logging.getLogger(__name__)

_SERVICE = "Keystone"
_PATH = "/OS-TRUST/trusts"


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
