"""Translates between names and ids of users, as far as Keystone shows users."""

import argparse
import re
from collections.abc import Iterable
from typing import Any

from keystoneauth1 import exceptions as ksa

from warre_blazar.cli import base, keystone_names
from warre_blazar.cli.failure import Failure
from warre_blazar.client import lookup

#: The ids that Keystone gives to users of a directory, such as LDAP.
_OF_DIRECTORY = re.compile("[0-9a-f]{64}")
#: The largest number of users whose names are looked up. Each name takes a request to Keystone.
_MOST = 20


def identity(command: base.Command, parsed_args: argparse.Namespace) -> str | None:
    """Return the id of the user that the user of the command has named, or None if there is none.

    :raises Failure: no user has this name, several users have it, or Keystone refuses to say so.
    """
    ref, domain = keystone_names.chosen(parsed_args, "user")
    if ref is None or lookup.is_id(ref) or _OF_DIRECTORY.fullmatch(ref):
        return ref
    session = command.v2.transport.session
    named = keystone_names.identity(session, "user", ref, domain)
    if named is None and not domain:
        own = _own_id(session)
        named = own if own and ref in (own, names(command, [own]).get(own)) else None
    if named is None:
        raise Failure(f"Keystone doesn't tell you who {ref!r} is; give the user's ID")
    return named


def is_own(command: base.Command, user_id: str) -> bool:
    """Whether a user id is that of the user who runs the command."""
    return user_id == _own_id(command.v2.transport.session)


def names(command: base.Command, ids: Iterable[str | None]) -> dict[str, str]:
    """Return the names of users by id. Users that Keystone hides are left out.

    This function sends a request for each user until Keystone refuses a request. For more than 20
    users it sends no request and returns no names.
    """
    wanted = {user_id for user_id in ids if user_id}
    if len(wanted) > _MOST:
        return {}
    session = command.v2.transport.session
    own = _own_id(session)
    names_by_id = {}
    # The user's own name is looked up first, because Keystone never refuses that request.
    for user_id in sorted(wanted, key=lambda user_id: (user_id != own, user_id)):
        name = keystone_names.user(session, user_id)
        if name is not None:
            names_by_id[user_id] = name
        elif user_id != own:
            break
    return names_by_id


def _own_id(session: Any) -> str | None:
    try:
        own: str | None = session.get_user_id()
        return own
    except ksa.ClientException:
        return None
