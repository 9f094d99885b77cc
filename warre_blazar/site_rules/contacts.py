"""Says which contacts users may give to what they book, and checks all labels."""

from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from warre_blazar import conf, texts, times
from warre_blazar.db import series, session, waits
from warre_blazar.db.messages import message_settings as stored
from warre_blazar.domain.booking.labels import NO_LABELS, Labels
from warre_blazar.domain.messages import messages
from warre_blazar.errors import exceptions
from warre_blazar.openstack import people
from warre_blazar.site_rules import webhooks

conf.register(cfg.CONF)

#: Stands for all domains in ``contact_domains``.
ANY = "*"


def checked(labels: Labels, user_id: str | None, kept: Labels = NO_LABELS) -> Labels:
    """Check whether the contact and the webhook of some labels may be told, and return the labels.

    :param user_id: the user who gives the labels.
    :param kept: the labels that the thing has already. They may stay.
    :raises InvalidField: the configuration doesn't allow one of them (``webhooks.check``).
    """
    webhooks.check(labels.webhook, kept.webhook)
    if labels.contact not in (None, kept.contact):
        _check_contact(labels.contact, user_id)
    return labels


def _check_contact(contact: str, user_id: str | None) -> None:
    """
    :raises InvalidField: the contact is neither the user's own address nor in a domain that the
        configuration allows, or its owner has stopped messages. An address also counts as somebody
        else's if Keystone doesn't say which one is the user's.
    """
    domains = [domain.lower() for domain in cfg.CONF.warre_messages.contact_domains]
    is_listed = ANY in domains or messages.domain_of(contact) in domains
    is_stopped = is_listed and _is_stopped(contact)
    if is_listed and not is_stopped:
        return
    own, said = _own(user_id)
    if messages.is_same(contact, own):
        return
    if is_stopped:
        expected = texts.expected.CONTACT_STOPPED(own=said, contact=contact)
    elif domains:
        endings = [f"@{name}" for name in domains]
        expected = texts.expected.CONTACT_OF_DOMAIN(own=said, domains=endings)
    else:
        expected = texts.expected.CONTACT(own=said)
    raise exceptions.InvalidField("contact", expected)


def kept_by(values: Mapping[str, Any]) -> Labels:
    """The labels of the wait or the series for which a reservation is booked.

    :param values: the values of the reservation.
    """
    wait_id, series_id = (str(values.get(name) or "") for name in ("wait_id", "series_id"))
    with session.reader() as db:
        if wait_id and (wait := waits.find(db, wait_id)):
            return wait.labels
        if series_id and (item := series.find(db, series_id)):
            return item.booking.labels
    return NO_LABELS


def _is_stopped(contact: str) -> bool:
    with session.reader() as db:
        return stored.is_stopped(db, messages.mailbox_of(contact))


def _own(user_id: str | None) -> tuple[str | None, texts.Said]:
    """The address that Keystone has for a user, and which contact the user can give."""
    try:
        user = people.recent_user(user_id, times.USER_KNOWN_FOR) if user_id else None
    except (exceptions.ServiceUnavailable, exceptions.ServiceRefused):
        return None, texts.expected.OWN_ADDRESS_UNKNOWN()
    own = (user or {}).get("email")
    if not messages.is_address(own):
        return None, texts.expected.NO_OWN_ADDRESS()
    return own, texts.expected.OWN_ADDRESS(address=own)
