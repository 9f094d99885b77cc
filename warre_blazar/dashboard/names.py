"""The names of projects and users, which the API knows only by their ids."""

import logging
from typing import Any

from keystoneauth1 import exceptions as ksa
from openstack_dashboard.api import keystone

LOG = logging.getLogger(__name__)


def projects(request: Any) -> dict[str, str]:
    """Return the names of all projects by id. Empty if Keystone doesn't tell this user."""
    try:
        listed, _more = keystone.tenant_list(request)
    except ksa.ClientException as error:
        LOG.info("Can't list the projects: %s", error)
        return {}
    return {project.id: project.name for project in listed}


def users(request: Any) -> dict[str, str]:
    """Return the names of all users by id. Empty if Keystone doesn't tell this user."""
    try:
        listed = keystone.user_list(request)
    except ksa.ClientException as error:
        LOG.info("Can't list the users: %s", error)
        return {}
    return {user.id: user.name for user in listed}


def known_users(request: Any, known: dict[str, str]) -> dict[str, str]:
    """Return the names of users for a page of a project.

    :param known: names that are known without Keystone, which tells only operators the others.
    """
    return known if not request.user.is_superuser else {**known, **users(request)}
