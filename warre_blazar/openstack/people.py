"""Users and projects in Keystone."""

import math
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from keystoneauth1 import exceptions as ks_exc
from oslo_config import cfg

from warre_blazar import texts, times
from warre_blazar.openstack import keystone

#: The largest number of users and projects that are remembered.
_MOST = 10_000
#: What ``_recent`` has read, by noun and id, with the monotonic times of reading.
_read: dict[tuple[str, str], tuple[float, Mapping[str, Any] | None]] = {}


def find_user(user_id: str) -> Mapping[str, Any] | None:
    """A user, as Keystone's API shows it, or None if the user doesn't exist.

    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Blazar's service user may not read users.
    """
    return _find("user", user_id)


def recent_user(user_id: str, max_age: float) -> Mapping[str, Any] | None:
    """A user as Keystone has shown it, perhaps some time ago.

    :param max_age: for how many seconds an answer is good enough.
    :raises ServiceUnavailable, ServiceRefused: as for ``find_user``.
    """
    return _recent("user", user_id, max_age)


def recent_project(project_id: str, max_age: float) -> Mapping[str, Any] | None:
    """A project as Keystone has shown it, perhaps some time ago.

    :param max_age: for how many seconds an answer is good enough.
    :raises ServiceUnavailable, ServiceRefused: as for ``find_user``.
    """
    return _recent("project", project_id, max_age)


def _recent(noun: str, identity: str, max_age: float) -> Mapping[str, Any] | None:
    begun = time.monotonic()
    read_at, found = _read.get((noun, identity), (-math.inf, None))
    if begun - read_at < max_age:
        return found
    found = _find(noun, identity)
    if len(_read) >= _MOST:
        _read.clear()
    _read[noun, identity] = (begun, found)
    return found


def find_project(project_id: str) -> Mapping[str, Any] | None:
    """A project, as Keystone's API shows it, or None if the project doesn't exist.

    :raises ServiceUnavailable, ServiceRefused: as for ``find_user``.
    """
    return _find("project", project_id)


#: Why a user can't act in a project, by the noun of what is gone or disabled, or whose domain is.
_NOT_PERMITTED = {
    "user": (
        texts.permissions.USER_GONE,
        texts.permissions.USER_DISABLED,
        texts.permissions.USER_DOMAIN_DISABLED,
    ),
    "project": (
        texts.permissions.PROJECT_GONE,
        texts.permissions.PROJECT_DISABLED,
        texts.permissions.PROJECT_DOMAIN_DISABLED,
    ),
}


def why_disabled(user_id: str, project_id: str, max_age: float = 0.0) -> texts.Said | None:
    """Why a user can't act in a project, or None if neither of them is gone or disabled.

    :param max_age: for how many seconds an answer about the user is good enough.
    :raises ServiceUnavailable, ServiceRefused: as for ``find_user``.
    """
    for noun, identity in (("user", user_id), ("project", project_id)):
        found = recent_user(identity, max_age) if noun == "user" else find_project(identity)
        gone, disabled, domain_disabled = _NOT_PERMITTED[noun]
        if found is None:
            return gone(id=identity)
        if not found.get("enabled", True):
            return disabled(id=identity)
        domain_id = found.get("domain_id")
        domain = _find("domain", domain_id) if domain_id else None
        if domain and not domain.get("enabled", True):
            return domain_disabled(id=identity)
    return None


def roles(user_id: str, project_id: str) -> list[str]:
    """The names of the roles that a user has in a project, also by groups and by other roles.

    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Blazar's service user may not list role assignments.
    """
    url = f"{keystone.auth_url(cfg.CONF)}/role_assignments"
    query = {
        "user.id": user_id,
        "scope.project.id": project_id,
        "effective": "true",
        "include_names": "true",
    }
    with keystone.speaking_of("Keystone", f"the roles of user {user_id}: "):
        try:
            answer = keystone.service_session().get(url, params=query, timeout=times.PEOPLE_TIMEOUT)
        except ks_exc.NotFound:
            return []
    return sorted({each["role"]["name"] for each in answer.json()["role_assignments"]})


def _find(noun: str, identity: str) -> Mapping[str, Any] | None:
    url = f"{keystone.auth_url(cfg.CONF)}/{noun}s/{quote(identity, safe='')}"
    with keystone.speaking_of("Keystone", f"the {noun} {identity}: "):
        try:
            answer = keystone.service_session().get(url, timeout=times.PEOPLE_TIMEOUT)
        except ks_exc.NotFound:
            return None
    found: Mapping[str, Any] = answer.json()[noun]
    return found
