"""Email addresses: which ones are the same, and which texts are addresses."""

from typing import Any, TypeGuard

from warre_blazar.fields.kinds import Email

_EMAIL = Email()


def is_address(value: Any) -> TypeGuard[str]:
    """Whether a value is an email address to which messages can go."""
    try:
        _EMAIL.validate(value)
    except ValueError:
        return False
    return True


def is_same(one: str, other: str | None) -> bool:
    """Whether two addresses are the same, apart from capital letters."""
    return other is not None and one.lower() == other.lower()


def domain_of(address: str) -> str:
    """The domain of an address, in small letters."""
    return address.rpartition("@")[2].lower()


def mailbox_of(address: str) -> str:
    """The mailbox to which an address leads: ``team@example.org`` for ``Team+gpu@Example.org``.

    Most servers deliver what follows a plus sign to the same mailbox. So nobody avoids a limit, or
    what the owner of a mailbox wants, by another spelling.
    """
    name, _, domain = address.lower().rpartition("@")
    return f"{name.partition('+')[0] or name}@{domain}"
