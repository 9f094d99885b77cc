"""Finds projects, users and domains in Keystone by their names."""

import argparse
from typing import Any
from urllib.parse import quote

from keystoneauth1 import exceptions as ksa

from warre_blazar.cli import times
from warre_blazar.cli.failure import Failure, WrongOptions
from warre_blazar.client import lookup

_KEYSTONE = {"service_type": "identity", "min_version": (3, 0)}


def add_domain(parser: argparse._ActionsContainer, kind: str) -> None:
    """Add the option for the domain of what another argument names.

    :param kind: ``project`` or ``user``.
    """
    parser.add_argument(
        f"--{kind}-domain",
        metavar="DOMAIN",
        help=f"domain of the {kind} (name or ID), if several domains have a {kind} of this name",
    )


def chosen(parsed_args: argparse.Namespace, kind: str) -> tuple[str | None, str | None]:
    """Return the name or id that the user gave for a project or user, and that of its domain.

    :raises WrongOptions: there is a domain, but nothing that is in it.
    """
    ref, domain = (getattr(parsed_args, name) for name in (kind, f"{kind}_domain"))
    if domain and ref is None:
        raise WrongOptions(f"--{kind}-domain says where a {kind} is; name the {kind} too")
    return ref, domain


def identity(session: Any, kind: str, ref: str, domain: str | None) -> str | None:
    """Return the id of the project or user with a name, or None if Keystone doesn't say it.

    :param kind: ``project`` or ``user``.
    :param domain: the name or the id of the domain in which the name is looked up. If it is None,
        all domains are searched.
    :raises Failure: nothing has this name, or several have it, or there is no such domain.
    """
    query = {"name": ref, **({"domain_id": _domain_id(session, domain)} if domain else {})}
    named = ask(session, f"/{kind}s", query, f"{kind}s")
    if named is None:
        return None
    if len(named) == 1:
        return str(named[0]["id"])
    if not named:
        where = f" in domain {domain!r}" if domain else ""
        raise Failure(f"There is no {kind} {ref!r}{where}; see openstack {kind} list")
    domains = {each["id"]: each["name"] for each in ask(session, "/domains", {}, "domains") or ()}
    lines = "\n".join(
        f"  {each['id']}  domain {domains.get(each['domain_id'], each['domain_id'])}"
        for each in named
    )
    advice = f"give --{kind}-domain, or the ID of one"
    raise Failure(f"Several {kind}s are named {ref!r}; {advice}:\n{lines}")


def _domain_id(session: Any, ref: str) -> str:
    """
    :raises Failure: Keystone has no domain with this name or id.
    """
    if lookup.is_id(ref):
        return ref
    named = ask(session, "/domains", {"name": ref}, "domains")
    if named:
        return str(named[0]["id"])
    # The first domain of a cloud has the id "default". Keystone may refuse to show domains.
    if named is None or ask(session, f"/domains/{quote(ref, safe='')}", {}, "domain"):
        return ref
    raise Failure(f"There is no domain {ref!r}; see openstack domain list")


def user(session: Any, user_id: str) -> str | None:
    """Return the name of a user, or None if Keystone hides it."""
    found = ask(session, f"/users/{quote(user_id, safe='')}", {}, "user")
    return found and str(found["name"])


def ask(session: Any, path: str, query: dict[str, str], part: str) -> Any:
    """Send a GET request to Keystone, and return one part of the answer.

    The result is None if Keystone refuses, doesn't have the object, or doesn't answer.
    """
    try:
        answer = session.get(
            path,
            params=query,
            endpoint_filter=_KEYSTONE,
            timeout=times.REQUEST_TIMEOUT,
            raise_exc=False,
        )
        return answer.json()[part] if answer.status_code == 200 else None
    except (ksa.ClientException, ValueError, KeyError):
        return None
