"""Keeps the requests that were refused, and counts those of each project and day."""

import dataclasses
import datetime
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import flavors, refusal_counts, refusals
from warre_blazar.domain.records.refusals import Asked, RefusedRequest
from warre_blazar.domain.timeline import Span

#: A project, a day and a code.
Key = tuple[str, datetime.date, str]

#: In place of a code: all codes together.
ANY = ""


def add(db: Session, asked: Asked, code: str, at: datetime.datetime, most: int) -> bool:
    """Count a refused request, and keep it unless its project has too many of that day.

    :param most: the number of requests of one project and day that are kept.
    :returns: whether it is kept.
    :raises session.LostRace: another process counts the first one of the day at this moment.
    """
    at = at.replace(microsecond=0)
    # The row that counts all codes is written first. So the transactions of one project and day
    # wait for each other, and the number of kept requests is exact.
    project_id, day = asked.project_id, at.date()
    is_kept = _count(db, (project_id, day, ANY), 1, 1) <= most
    _count(db, (project_id, day, code), 1, int(is_kept))
    if not is_kept:
        return False
    db.execute(
        refusals.insert().values(
            at=at,
            project_id=asked.project_id,
            user_id=asked.user_id,
            code=code,
            flavor_id=_flavor_id(db, asked, code),
            reservation_id=asked.reservation_id,
            instance_count=asked.count,
            start_date=asked.span.start,
            end_date=asked.span.end,
        )
    )
    return True


def add_numbers(db: Session, numbers: Mapping[Key, int]) -> None:
    """Count refused requests that aren't kept.

    :param numbers: how many, by project, day and code.
    :raises session.LostRace: another process counts the first one of the day at this moment.
    """
    for project_id, day, code in sorted(numbers):
        number = numbers[project_id, day, code]
        _count(db, (project_id, day, ANY), number, 0)
        _count(db, (project_id, day, code), number, 0)


def _count(db: Session, key: Key, number: int, kept: int) -> int:
    """Count requests, and return the number of all with this key."""
    counts, values = refusal_counts.c, dict(zip(("project_id", "day", "code"), key, strict=True))
    same = [counts[name] == value for name, value in values.items()]
    more = {"number": counts.number + number, "kept": counts.kept + kept}
    if not session.changed(db, refusal_counts.update().where(*same).values(**more)):
        first = refusal_counts.insert().values(number=number, kept=kept, **values)
        session.insert_or_lose(db, first)
        return number
    return db.execute(sa.select(counts.number).where(*same)).scalar_one()


def _flavor_id(db: Session, asked: Asked, code: str) -> str | None:
    """The id of the requested flavor, if it is known and the project may know it."""
    if code == "flavor_not_found":
        return None
    named = sa.and_(flavors.c.name == asked.flavor, flavors.c.deleted == "")
    query = sa.select(flavors.c.id).where(sa.or_(flavors.c.id == asked.flavor, named))
    found = set(db.scalars(query))
    return asked.flavor if asked.flavor in found else found.pop() if len(found) == 1 else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class RefusalFilter:
    """Which refused requests are wanted. None means no condition."""

    project_id: str | None = None
    user_id: str | None = None
    flavor_id: str | None = None
    code: str | None = None
    after: datetime.datetime | None = None
    before: datetime.datetime | None = None

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        equal = ("project_id", "user_id", "flavor_id", "code")
        wanted = [(refusals.c[name], getattr(self, name)) for name in equal]
        conditions = [column == value for column, value in wanted if value is not None]
        if self.after is not None:
            conditions.append(refusals.c.at >= self.after)
        if self.before is not None:
            conditions.append(refusals.c.at < self.before)
        return conditions


def listing(
    db: Session, wanted: RefusalFilter, limit: int | None, offset: int
) -> tuple[list[RefusedRequest], int]:
    """A page of the kept requests, the latest first, and the number of those on all pages."""
    conditions = wanted.conditions()
    total = sa.select(sa.func.count()).select_from(refusals).where(*conditions)
    query = (
        sa.select(refusals, flavors.c.name.label("flavor_name"))
        .select_from(refusals.outerjoin(flavors, flavors.c.id == refusals.c.flavor_id))
        .where(*conditions)
        .order_by(refusals.c.at.desc(), refusals.c.id.desc())
    )
    if limit is not None:
        query = query.limit(limit).offset(offset)
    found = [_refusal(row) for row in db.execute(query).mappings()]
    return found, db.execute(total).scalar_one()


def _refusal(row: sa.RowMapping) -> RefusedRequest:
    same = {name: row[name] for name in ("id", "at", "code", "project_id", "user_id")}
    return RefusedRequest(
        **same,
        flavor_id=row["flavor_id"],
        flavor_name=row["flavor_name"],
        reservation_id=row["reservation_id"],
        count=row["instance_count"],
        span=Span(row["start_date"], row["end_date"]),
    )


@dataclasses.dataclass(frozen=True)
class Counted:
    """A number of refused requests. What isn't known of them is None."""

    at: datetime.datetime
    project_id: str
    user_id: str | None
    flavor_id: str | None
    code: str
    number: int


def of_day(db: Session, day: datetime.date) -> dict[str, int]:
    """How many requests of all projects were refused on a day in UTC, by the code of the error."""
    counts = refusal_counts.c
    query = (
        sa.select(counts.code, sa.func.sum(counts.number))
        .where(counts.day == day, counts.code != ANY)
        .group_by(counts.code)
    )
    return {code: int(number) for code, number in db.execute(query)}


def counted(db: Session, wanted: RefusalFilter) -> list[Counted]:
    """The numbers of refused requests within a time, in a fixed number of statements.

    Requests that were only counted have no moment. They count at the beginning of their day, and
    only if they are wanted of all users and flavors.
    """
    columns = ("at", "project_id", "user_id", "flavor_id", "code")
    kept = sa.select(*(refusals.c[name] for name in columns)).where(*wanted.conditions())
    found = [Counted(**row, number=1) for row in db.execute(kept).mappings()]
    if wanted.user_id is None and wanted.flavor_id is None:
        found += _only_counted(db, wanted)
    return found


def _only_counted(db: Session, wanted: RefusalFilter) -> list[Counted]:
    """The numbers of requests that were counted and not kept."""
    counts = refusal_counts.c
    lost = counts.number - counts.kept
    conditions = [counts.code != ANY, lost > 0]
    for column, value in ((counts.project_id, wanted.project_id), (counts.code, wanted.code)):
        if value is not None:
            conditions.append(column == value)
    query = sa.select(counts.day, counts.project_id, counts.code, lost).where(*conditions)
    found = [
        Counted(_midnight(day), project_id, None, None, code, number)
        for day, project_id, code, number in db.execute(query)
    ]
    return [each for each in found if _is_within(each.at, wanted)]


def _midnight(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time())


def _is_within(moment: datetime.datetime, wanted: RefusalFilter) -> bool:
    is_early = wanted.after is not None and moment < wanted.after
    return not is_early and (wanted.before is None or moment < wanted.before)


def delete_old(db: Session, before: datetime.datetime, limit: int) -> int:
    """Delete some of the requests that were refused before a day, and return their number.

    The counts of those days are deleted too.

    :param before: a moment of the day.
    :param limit: the largest number of requests to delete.
    """
    day = before.date()
    db.execute(refusal_counts.delete().where(refusal_counts.c.day < day))
    old = refusals.c.at < _midnight(day)
    ids = list(db.scalars(sa.select(refusals.c.id).where(old).limit(limit)))
    if ids:
        db.execute(refusals.delete().where(refusals.c.id.in_(ids)))
    return len(ids)
