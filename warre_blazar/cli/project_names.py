"""Translates between names and ids of projects, as far as Keystone shows projects to the user."""

import argparse
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from warre_blazar.cli import base, keystone_names
from warre_blazar.client import lookup


def identity(command: base.Command, parsed_args: argparse.Namespace) -> str | None:
    """Return the id of the project that the user has named, or None if there is none.

    :raises Failure: no project has this name, or several projects have it.
    """
    ref, domain = keystone_names.chosen(parsed_args, "project")
    if ref is None or lookup.is_id(ref):
        return ref
    # If Keystone refuses to list projects, the text is used as an id, even though it doesn't look
    # like one.
    return keystone_names.identity(command.v2.transport.session, "project", ref, domain) or ref


def required(command: base.Command, parsed_args: argparse.Namespace) -> str:
    """Return the id of the project that the user has named, for a command that needs a project.

    :raises Failure: no project has this name, or several projects have it.
    """
    project_id = identity(command, parsed_args)
    assert project_id is not None
    return project_id


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
        project = keystone_names.ask(
            session, f"/projects/{quote(project_id, safe='')}", {}, "project"
        )
        listed = [project] if project else []
    else:
        listed = keystone_names.ask(session, "/projects", {}, "projects") or []
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
