"""The accounts of leases that a credits service charges (``domain.credits.charges.Account``).

The account of a lease is an entry of the log that stays as long as the charge can change. What has
to be looked at is a notice about it, for the channel of the credits service (``LOOKS``).
"""

import dataclasses
import datetime
from typing import Any, cast

import sqlalchemy as sa
from oslo_serialization import jsonutils
from sqlalchemy.orm import Session

from warre_blazar.db.messages.outbox import Telling
from warre_blazar.db.tables import (
    deliveries,
    instance_reservations,
    leases,
    log_entries,
    reservations,
)
from warre_blazar.domain.credits.charges import Account, PresentLease
from warre_blazar.domain.messages.notices import Kind
from warre_blazar.domain.timeline import Span

#: The channel whose notices say which accounts to look at.
LOOKS = "credits"


@dataclasses.dataclass
class StoredAccount:
    """An account and its row."""

    id: int
    project_id: str
    account: Account


def find(db: Session, lease_id: str) -> StoredAccount | None:
    """The account of a lease, which nobody else changes until the transaction ends."""
    return next(iter(find_all(db, lease_id)), None)


def find_all(db: Session, lease_id: str) -> list[StoredAccount]:
    """The accounts of a lease. There are several for the moment until one is withdrawn."""
    entry = log_entries.c
    query = sa.select(entry.id, entry.project_id, entry.content).where(*_is_account(lease_id))
    rows = db.execute(query.order_by(entry.id).with_for_update()).all()
    return [
        StoredAccount(
            row.id, row.project_id, Account.from_dict(jsonutils.loads(row.content)["content"])
        )
        for row in rows
    ]


def _is_account(lease_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    entry = log_entries.c
    return entry.subject == lease_id, entry.telling == Telling.KEPT.value


def add(db: Session, lease_id: str, account: Account, now: datetime.datetime) -> StoredAccount:
    """Write a new account."""
    project_id = account.context["project_id"]
    values = {
        "subject": lease_id,
        "kind": Kind.CREDITS.value,
        "at": now.replace(microsecond=0),
        "project_id": project_id,
        "is_logged": False,
        "telling": Telling.KEPT.value,
        "content": _text(account),
    }
    made = cast("sa.CursorResult[Any]", db.execute(log_entries.insert().values(values)))
    assert made.inserted_primary_key is not None
    return StoredAccount(made.inserted_primary_key[0], project_id, account)


def write(db: Session, stored: StoredAccount, **changes: Any) -> None:
    """Change values of an account."""
    stored.account = dataclasses.replace(stored.account, **changes)
    changed = log_entries.update().where(log_entries.c.id == stored.id)
    db.execute(changed.values(content=_text(stored.account)))


def _text(account: Account) -> str:
    return jsonutils.dumps({"content": account.to_dict()})


def delete(db: Session, stored: StoredAccount) -> None:
    """Remove an account, and what is to be looked at."""
    db.execute(deliveries.delete().where(deliveries.c.entry_id == stored.id))
    db.execute(log_entries.delete().where(log_entries.c.id == stored.id))


def look_at(
    db: Session,
    lease_id: str,
    stored: StoredAccount,
    now: datetime.datetime,
    due: datetime.datetime,
) -> None:
    """Let the channel look at an account at a moment."""
    db.execute(
        deliveries.insert().values(
            channel=LOOKS,
            entry_id=stored.id,
            subject=lease_id,
            project_id=stored.project_id,
            at=now.replace(microsecond=0),
            attempts=0,
            next_at=due,
        )
    )


def look_at_once(db: Session, stored: StoredAccount) -> None:
    """Let the channel look now at an account that it would look at later."""
    due = deliveries.update().where(deliveries.c.entry_id == stored.id)
    db.execute(due.values(next_at=None))


def present(db: Session, lease_id: str) -> PresentLease | None:
    """A lease as it is now."""
    query = sa.select(leases.c.status, leases.c.start_date, leases.c.end_date)
    row = db.execute(query.where(leases.c.id == lease_id)).first()
    if row is None:
        return None
    held = instance_reservations.c
    amounts = (
        sa.select(reservations.c.id, held.amount)
        .join(instance_reservations, held.reservation_id == reservations.c.id)
        .where(reservations.c.lease_id == lease_id)
    )
    found = {reservation_id: amount for reservation_id, amount in db.execute(amounts)}
    return PresentLease(row.status, Span(row.start_date, row.end_date), found)
