"""Translates between names and ids of projects, as far as Keystone shows projects to the user."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from keystoneauth1 import exceptions as ksa

from warre_blazar.cli import base
from warre_blazar.cli.failure import Failure
from warre_blazar.client import lookup

_TIMEOUT = 60
_KEYSTONE = {"service_type": "identity", "min_version": (3, 0)}


def identity(command: base.Command, ref: str) -> str:
    """Return the id of a project.

    :param ref: the project's id or name.
    :raises Failure: no project has this name, or several projects have it.
    """
    if lookup.is_id(ref):
        return ref
    named = _named(command.v2.transport.session, ref)
    if named is None:
        # Keystone refuses to list projects. So the text is used as an id, even though it doesn't
        # look like one.
        return ref
    if len(named) == 1:
        return named[0]["id"]
    if not named:
        raise Failure(f"There is no project {ref!r}; see openstack project list")
    lines = "\n".join(f"  {p['id']}  domain {p['domain_id']}" for p in named)
    raise Failure(f"Several projects are named {ref!r}; give the ID of one:\n{lines}")


def names(command: base.Command, ids: Iterable[str | None]) -> dict[str, str]:
    """Return the names of projects by id. Projects that Keystone hides are left out.

    This function sends one request to Keystone. If ``ids`` has only one id, the request is for that
    project. If it has several, the request is for all projects.
    """
    wanted = {project_id for project_id in ids if project_id}
    if not wanted:
        return {}
    session = command.v2.transport.session
    if len(wanted) == 1:
        (project_id,) = wanted
        project = ask_keystone(session, f"/projects/{quote(project_id, safe='')}", {}, "project")
        listed = [project] if project else []
    else:
        listed = ask_keystone(session, "/projects", {}, "projects") or []
    return {p["id"]: p["name"] for p in listed if p["id"] in wanted}


def of_another(command: base.Command, project_id: str | None) -> str:
    """Return the name of another project, or its id if the name isn't known.

    :returns: "" if the project is that of the user who runs the command.
    """
    other = unless_own(command.v2.transport.session, project_id)
    return names(command, [other]).get(other, other) if other else ""


def unless_own(session: Any, project_id: str | None) -> str | None:
    """Return the id of a project, or None if it is the project of the session, or not known."""
    own = session.get_project_id()
    return project_id if own and project_id != own else None


def _named(session: Any, name: str) -> list[dict[str, Any]] | None:
    return ask_keystone(session, "/projects", {"name": name}, "projects")


def ask_keystone(session: Any, path: str, query: dict[str, str], part: str) -> Any:
    """Send a GET request to Keystone, and return one part of the answer.

    The result is None if Keystone refuses, doesn't have the object, or doesn't answer.
    """
    try:
        answer = session.get(
            path, params=query, endpoint_filter=_KEYSTONE, timeout=_TIMEOUT, raise_exc=False
        )
        return answer.json()[part] if answer.status_code == 200 else None
    except (ksa.ClientException, ValueError, KeyError):
        return None
