"""Users and projects in Keystone."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from keystoneauth1 import exceptions as ks_exc
from oslo_config import cfg

from warre_blazar.openstack import keystone

#: The seconds for which Keystone may take. A message is tried again later, so it can wait.
_TIMEOUT = 5.0


def find_user(user_id: str) -> Mapping[str, Any] | None:
    """A user, as Keystone's API shows it, or None if the user doesn't exist.

    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Blazar's service user may not read users.
    """
    return _find("user", user_id)


def find_project(project_id: str) -> Mapping[str, Any] | None:
    """A project, as Keystone's API shows it, or None if the project doesn't exist.

    :raises ServiceUnavailable, ServiceRefused: as for ``find_user``.
    """
    return _find("project", project_id)


def has_role(user_id: str, project_id: str) -> bool:
    """Whether a user has any role in a project, also by a group or by inheritance.

    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Blazar's service user may not list role assignments.
    """
    url = f"{keystone.auth_url(cfg.CONF)}/role_assignments?effective&" + urlencode(
        {"user.id": user_id, "scope.project.id": project_id}
    )
    with keystone.speaking_of("Keystone", f"the roles of the user {user_id}: "):
        answer = keystone.service_session().get(url, timeout=_TIMEOUT)
    return bool(answer.json()["role_assignments"])


def _find(noun: str, identity: str) -> Mapping[str, Any] | None:
    url = f"{keystone.auth_url(cfg.CONF)}/{noun}s/{quote(identity, safe='')}"
    with keystone.speaking_of("Keystone", f"the {noun} {identity}: "):
        try:
            answer = keystone.service_session().get(url, timeout=_TIMEOUT)
        except ks_exc.NotFound:
            return None
    found: Mapping[str, Any] = answer.json()[noun]
    return found
