"""Reads and writes the addresses at which calendar programs read a project's reservations."""

import dataclasses
import datetime
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import calendars


@dataclasses.dataclass(frozen=True)
class SubscribedCalendar:
    """An address at which calendar programs read the reservations of a project."""

    id: str
    name: str
    project_id: str
    user_id: str
    created_at: datetime.datetime


def insert(db: Session, calendar: SubscribedCalendar) -> None:
    """Add a calendar. A user can have one for each project."""
    db.execute(calendars.insert().values(**vars(calendar)))


def listing(
    db: Session, wanted: Mapping[str, str], limit: int | None = None, offset: int = 0
) -> tuple[list[SubscribedCalendar], int]:
    """A page of calendars, the latest first, and the number of calendars on all pages.

    :param wanted: values that a calendar must have, by the names of columns.
    """
    where = [calendars.c[name] == value for name, value in wanted.items()]
    query = sa.select(calendars).where(*where).limit(limit).offset(offset)
    query = query.order_by(calendars.c.created_at.desc(), calendars.c.id)
    total = sa.select(sa.func.count()).select_from(calendars).where(*where)
    return [SubscribedCalendar(**row) for row in db.execute(query).mappings()], db.execute(
        total
    ).scalar_one()


def delete(db: Session, calendar_id: str) -> bool:
    """Delete a calendar. Return whether there was one."""
    return session.changed(db, calendars.delete().where(calendars.c.id == calendar_id)) == 1
