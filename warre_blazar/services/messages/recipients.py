"""Finds out to which addresses messages go."""

import dataclasses
import datetime
from collections.abc import Callable, Collection, Mapping
from typing import Any

from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.messages import message_settings as stored
from warre_blazar.domain.messages.messages import is_address, is_same, mailbox_of
from warre_blazar.errors import exceptions
from warre_blazar.openstack import people

#: What Keystone says about a user or a project. None: it doesn't exist.
Found = Mapping[str, Any] | None


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


class People:
    """Users and projects in Keystone. Each is looked up once, even if Keystone fails."""

    def __init__(self) -> None:
        self._known: dict[tuple[Callable[[str], Found], str], Found | exceptions.WarreError] = {}

    def project(self, project_id: str) -> Mapping[str, Any]:
        """A project as Keystone shows it. It is empty if Keystone doesn't know the project.

        :raises ServiceUnavailable, ServiceRefused: Keystone can't be asked.
        """
        return self._find(people.find_project, project_id)

    def address_of(self, user_id: str | None) -> str | None:
        """The address that Keystone has for a user.

        :raises ServiceUnavailable, ServiceRefused: Keystone can't be asked.
        """
        own = self._find(people.find_user, user_id).get("email") if user_id else None
        return own if is_address(own) else None

    def address_if_known(self, user_id: str | None) -> str | None:
        """The address that Keystone has for a user, or None also if Keystone can't be asked."""
        try:
            return self.address_of(user_id)
        except (exceptions.ServiceUnavailable, exceptions.ServiceRefused):
            return None

    def name_of(self, user_id: str) -> str:
        """The name of a user, or the id if Keystone doesn't know the user.

        :raises ServiceUnavailable, ServiceRefused: Keystone can't be asked.
        """
        return str(self._find(people.find_user, user_id).get("name") or user_id)

    def _find(self, find: Callable[[str], Found], identity: str) -> Mapping[str, Any]:
        key = (find, identity)
        if key not in self._known:
            try:
                self._known[key] = find(identity)
            except (exceptions.ServiceUnavailable, exceptions.ServiceRefused) as error:
                self._known[key] = error
        found = self._known[key]
        if isinstance(found, Exception):
            raise found.with_traceback(None)
        return found or {}


class Mailboxes:
    """What is stored about the mailboxes to which a batch of messages goes. Each is read once."""

    def __init__(self, channel: str, hour: datetime.datetime) -> None:
        """
        :param hour: the beginning of the hour in which the messages are sent.
        """
        self._channel, self._hour = channel, hour
        self._stopped: set[str] = set()
        #: By mailbox, how many messages it had got when it was read, and has got since.
        self._before: dict[str, int] = {}
        self._sent: dict[str, int] = {}

    def read(self, addresses: Collection[str]) -> None:
        """Read what isn't known of the mailboxes of addresses."""
        unknown = {mailbox_of(address) for address in addresses} - self._before.keys()
        if not unknown:
            return
        with session.reader() as db:
            self._stopped |= stored.stopped(db, unknown)
            counted = stored.messages_sent(db, self._channel, unknown, self._hour)
        self._before |= {mailbox: counted.get(mailbox, 0) for mailbox in unknown}

    def is_stopped(self, address: str) -> bool:
        """Whether the owner of an address has stopped messages about reservations of others."""
        self.read([address])
        return mailbox_of(address) in self._stopped

    def sent(self, address: str) -> int:
        """How many messages a mailbox has got in this hour."""
        self.read([address])
        mailbox = mailbox_of(address)
        return self._before[mailbox] + self._sent.get(mailbox, 0)

    def count(self, address: str) -> None:
        """Count a message that is sent."""
        mailbox = mailbox_of(address)
        self._sent[mailbox] = self._sent.get(mailbox, 0) + 1

    def note(self, db: Session) -> None:
        """Write how many messages are sent."""
        if self._sent:
            stored.count_messages(db, self._channel, self._sent, self._hour)


def find(reservation: Mapping[str, Any], known: People, mailboxes: Mailboxes) -> Recipient:
    """Who gets messages about a reservation.

    The address is the reservation's contact, or else that of its user in Keystone, or else that of
    its project (attribute ``email`` or ``contact``). What isn't an email address is passed over,
    and so is an address other than the user's whose owner has stopped messages.

    :param reservation: the reservation in a notice.
    :raises ServiceUnavailable, ServiceRefused: Keystone can't be asked.
    """
    project = known.project(reservation["project_id"])
    name = str(project.get("name") or reservation["project_id"])
    contact, user_id = reservation.get("contact"), reservation["user_id"]
    if is_address(contact):
        # If it isn't known, the message is the same, but it also says how to stop messages.
        is_own = is_same(contact, known.address_if_known(user_id))
        if is_own or not mailboxes.is_stopped(contact):
            return Recipient(contact, is_own, True, name, user_id)
    own = known.address_of(user_id)
    address = own or _of_project(project, mailboxes.is_stopped)
    return Recipient(address, own is not None, False, name, user_id)


def address_of(user_id: str, project_id: str | None) -> str | None:
    """The address of messages about a user's reservations in a project that have no contact.

    :raises ServiceUnavailable, ServiceRefused: Keystone can't be asked.
    """
    known = People()
    project = known.project(project_id) if project_id else {}
    return known.address_of(user_id) or _of_project(project, _is_stopped)


def _of_project(project: Mapping[str, Any], is_stopped: Callable[[str], bool]) -> str | None:
    known = filter(is_address, (project.get("email"), project.get("contact")))
    return next((address for address in known if not is_stopped(address)), None)


def _is_stopped(address: str) -> bool:
    with session.reader() as db:
        return stored.is_stopped(db, mailbox_of(address))
