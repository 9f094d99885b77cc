"""Finds out to which address a message goes."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from warre_blazar.db import session
from warre_blazar.db.messages import message_settings as stored
from warre_blazar.domain.messages.messages import is_address, is_same, mailbox_of
from warre_blazar.errors import exceptions
from warre_blazar.openstack import people


@dataclasses.dataclass(frozen=True)
class Recipient:
    """Who gets a message."""

    #: None: no address is known.
    address: str | None
    #: Whether the address is that of the reservation's user in Keystone.
    is_own: bool
    #: Whether the address is the contact of the reservation.
    is_contact: bool
    #: The name of the project, or its id if Keystone doesn't know it.
    project: str
    #: The user of the reservation.
    user_id: str | None


def of(reservation: Mapping[str, Any]) -> Recipient:
    """Who gets messages about a reservation.

    The address is the reservation's contact, or else that of its user in Keystone, or else that of
    its project (attribute ``email`` or ``contact``). What isn't an email address is passed over,
    and so is an address other than the user's whose owner has stopped messages.

    :param reservation: the reservation in a notice.
    :raises ServiceUnavailable, ServiceRefused: Keystone can't be asked.
    """
    project = people.find_project(reservation["project_id"]) or {}
    name = str(project.get("name") or reservation["project_id"])
    contact, user_id = reservation.get("contact"), reservation["user_id"]
    if is_address(contact):
        is_own = _is_own(contact, user_id)
        if is_own or not _is_stopped(contact):
            return Recipient(contact, is_own, True, name, user_id)
    own = _own(user_id)
    return Recipient(own or _of_project(project), own is not None, False, name, user_id)


def address_of(user_id: str, project_id: str | None) -> str | None:
    """The address of messages about a user's reservations in a project that have no contact.

    :raises ServiceUnavailable, ServiceRefused: Keystone can't be asked.
    """
    project = people.find_project(project_id) if project_id else None
    return _own(user_id) or _of_project(project or {})


def _own(user_id: str | None) -> str | None:
    """The address that Keystone has for a user."""
    user = people.find_user(user_id) if user_id else None
    own = (user or {}).get("email")
    return own if is_address(own) else None


def _is_own(contact: str, user_id: str | None) -> bool:
    """Whether a contact is known to be the address of a user."""
    try:
        return is_same(contact, _own(user_id))
    except (exceptions.ServiceUnavailable, exceptions.ServiceRefused):
        # The message is the same, but it also says how to stop messages.
        return False


def _of_project(project: Mapping[str, Any]) -> str | None:
    known = filter(is_address, (project.get("email"), project.get("contact")))
    return next((address for address in known if not _is_stopped(address)), None)


def _is_stopped(address: str) -> bool:
    with session.reader() as db:
        return stored.is_stopped(db, mailbox_of(address))


def name_of(user_id: str) -> str:
    """The name of a user, or the id if Keystone doesn't know the user.

    :raises ServiceUnavailable, ServiceRefused: Keystone can't be asked.
    """
    return str((people.find_user(user_id) or {}).get("name") or user_id)
