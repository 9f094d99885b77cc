"""Finds out to which address a message goes."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from warre_blazar.fields.kinds import Email
from warre_blazar.openstack import people

_EMAIL = Email()


@dataclasses.dataclass(frozen=True)
class Recipient:
    """Who gets a message."""

    #: None: no address is known.
    address: str | None
    #: Whether the address is the contact of the reservation.
    is_contact: bool
    #: The name of the project, or its id if Keystone doesn't know it.
    project: str


def of(reservation: Mapping[str, Any]) -> Recipient:
    """Who gets messages about a reservation.

    The address is the reservation's contact, or else that of its user in Keystone, or else that of
    its project (attribute ``email`` or ``contact``). What isn't an email address is passed over.

    :param reservation: the reservation in a notice.
    :raises ServiceUnavailable, ServiceRefused: Keystone can't be asked.
    """
    project = people.find_project(reservation["project_id"]) or {}
    name = str(project.get("name") or reservation["project_id"])
    if is_address(reservation.get("contact")):
        return Recipient(reservation["contact"], True, name)
    return Recipient(_known(reservation["user_id"], project), False, name)


def address_of(user_id: str, project_id: str | None) -> str | None:
    """The address of messages about a user's reservations in a project that have no contact.

    :raises ServiceUnavailable, ServiceRefused: Keystone can't be asked.
    """
    return _known(user_id, (people.find_project(project_id) if project_id else None) or {})


def _known(user_id: str | None, project: Mapping[str, Any]) -> str | None:
    """The address that Keystone has for a user, or else for a project."""
    user = people.find_user(user_id) if user_id else None
    known = ((user or {}).get("email"), project.get("email"), project.get("contact"))
    return next(filter(is_address, known), None)


def name_of(user_id: str) -> str:
    """The name of a user, or the id if Keystone doesn't know the user.

    :raises ServiceUnavailable, ServiceRefused: Keystone can't be asked.
    """
    return str((people.find_user(user_id) or {}).get("name") or user_id)


def is_address(value: Any) -> bool:
    try:
        _EMAIL.validate(value)
    except ValueError:
        return False
    return True
