"""Queries on maintenance windows. All take the caller's session."""

import datetime
from collections import defaultdict
from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import models
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.window import Window

_W = models.windows
_B = models.window_flavors
_F = models.flavors


def insert(db: Session, window: Window, now: datetime.datetime) -> None:
    """Add a window with the flavors it closes."""
    db.execute(_W.insert().values(id=window.id, created_at=now, **_columns(window)))
    _bind(db, window)


def update(db: Session, window: Window) -> None:
    """Write a window anew, with the flavors it closes."""
    db.execute(_W.update().where(_W.c.id == window.id).values(**_columns(window)))
    db.execute(_B.delete().where(_B.c.window_id == window.id))
    _bind(db, window)


def _columns(window: Window) -> dict[str, datetime.datetime | str | None]:
    return {
        "start_date": window.span.start,
        "end_date": window.span.end,
        "note": window.note,
    }


def _bind(db: Session, window: Window) -> None:
    rows = [{"window_id": window.id, "flavor_id": flavor_id} for flavor_id, _ in window.flavors]
    if rows:
        db.execute(_B.insert(), rows)


def delete(db: Session, window_id: str) -> bool:
    """Remove a window; whether there was one."""
    db.execute(_B.delete().where(_B.c.window_id == window_id))
    return db.execute(_W.delete().where(_W.c.id == window_id)).rowcount == 1  # type: ignore[attr-defined]


def find(db: Session, window_id: str) -> Window | None:
    """A window by id."""
    found = _read(db, sa.select(_W).where(_W.c.id == window_id))
    return found[0] if found else None


def listing(db: Session, limit: int | None, offset: int) -> tuple[list[Window], int]:
    """A page of windows by start, and how many there are in all."""
    total = db.execute(sa.select(sa.func.count()).select_from(_W)).scalar_one()
    query = sa.select(_W).order_by(_W.c.start_date, _W.c.id)
    if limit is not None:
        query = query.limit(limit).offset(offset)
    return _read(db, query), total


def _read(db: Session, query: sa.Select[tuple[object, ...]]) -> list[Window]:
    rows = db.execute(query).mappings().all()
    bound: dict[str, list[tuple[str, str]]] = defaultdict(list)
    flavors = (
        sa.select(_B.c.window_id, _F.c.id, _F.c.name)
        .join(_F, _F.c.id == _B.c.flavor_id)
        .where(_B.c.window_id.in_([row["id"] for row in rows]), _F.c.deleted == "")
        .order_by(_F.c.name)
    )
    for window_id, flavor_id, name in db.execute(flavors):
        bound[window_id].append((flavor_id, name))
    return [
        Window(
            id=row["id"],
            span=Span(row["start_date"], row["end_date"]),
            note=row["note"],
            flavors=tuple(bound[row["id"]]),
        )
        for row in rows
    ]


def closing(db: Session, flavor_id: str, during: Span) -> list[Span]:
    """The windows that close a flavor at some time of a span."""
    query = (
        sa.select(_W.c.start_date, _W.c.end_date)
        .join(_B, _B.c.window_id == _W.c.id)
        .where(
            _B.c.flavor_id == flavor_id,
            _W.c.start_date < during.end,
            _W.c.end_date > during.start,
        )
    )
    return [Span(start, end) for start, end in db.execute(query)]


def living_flavors(db: Session, ids: Iterable[str]) -> list[tuple[str, str]]:
    """(id, name) of those of the flavors that aren't deleted, by name."""
    query = (
        sa.select(_F.c.id, _F.c.name)
        .where(_F.c.id.in_(set(ids)), _F.c.deleted == "")
        .order_by(_F.c.name)
    )
    return [(flavor_id, name) for flavor_id, name in db.execute(query)]
