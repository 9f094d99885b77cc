"""Projects by name, as far as Keystone tells the user."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from keystoneauth1 import exceptions as ksa

from warre_blazar.cli import base
from warre_blazar.cli.failures import Failure
from warre_blazar.client import lookup

_TIMEOUT = 60
_WHERE = {"service_type": "identity", "min_version": (3, 0)}


def identity(command: base.Command, ref: str) -> str:
    """The id of a project.

    :raises Failure: none has that name, or several do.
    """
    if lookup.is_id(ref):
        return ref
    named = _named(command.v2.transport.session, ref)
    if named is None:
        # Keystone doesn't say: whoever may not list projects can give an id of any form.
        return ref
    if len(named) == 1:
        return named[0]["id"]
    if not named:
        raise Failure(f"There is no project {ref!r}; see openstack project list")
    lines = "\n".join(f"  {p['id']}  domain {p['domain_id']}" for p in named)
    raise Failure(f"Several projects are named {ref!r}; give the ID of one:\n{lines}")


def names(command: base.Command, ids: Iterable[str | None]) -> dict[str, str]:
    """Names of projects by id: of those that Keystone lets the user look at.

    One request for one project, one for all if there are several.
    """
    wanted = {identity for identity in ids if identity}
    if not wanted:
        return {}
    session = command.v2.transport.session
    if len(wanted) == 1:
        (one,) = wanted
        found = _asked(session, f"/projects/{quote(one, safe='')}", {}, "project")
        listed = [found] if found else []
    else:
        listed = _asked(session, "/projects", {}, "projects") or []
    return {p["id"]: p["name"] for p in listed if p["id"] in wanted}


def _named(session: Any, name: str) -> list[dict[str, Any]] | None:
    return _asked(session, "/projects", {"name": name}, "projects")


def _asked(session: Any, path: str, query: dict[str, str], part: str) -> Any:
    """A part of what Keystone answers; None where it refuses."""
    try:
        answer = session.get(
            path, params=query, endpoint_filter=_WHERE, timeout=_TIMEOUT, raise_exc=False
        )
        return answer.json()[part] if answer.status_code == 200 else None
    except (ksa.ClientException, ValueError, KeyError):
        return None
