"""Reads in one statement what decides about a booking, apart from slots and hosts."""

import dataclasses
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import flavors, maintenance
from warre_blazar.db import tables as t
from warre_blazar.db.booking import quotas
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.timeline import Span


@dataclasses.dataclass(frozen=True)
class ProjectUse:
    """How much of its quota a project uses, and the project's generation."""

    used: Amount
    generation: int


@dataclasses.dataclass(frozen=True)
class Terms:
    """A flavor that a project can book, and what else decides about a booking of it."""

    flavor: Flavor
    #: Whether a maintenance window closes the flavor at some time of the booking.
    is_closed: bool
    #: None if nobody asked for it.
    usage: ProjectUse | None


def read(
    db: Session, ref: str, project_id: str, span: Span, counted: Collection[str] | None
) -> list[Terms]:
    """The terms of the flavors with an id or a name, as ``flavors.find`` finds them.

    Private flavors to which the project has no access are left out.

    :param counted: the resource types whose reservations count against the project's quota. None:
        the usage isn't read.
    """
    is_closed = maintenance.closes(t.flavors.c.id, span).label("is_closed")
    columns: list[Any] = [t.flavors, is_closed]
    source: Any = t.flavors
    if counted is not None:
        usage = quotas.standing(project_id, counted).subquery()
        columns += usage.c
        source = t.flavors.join(usage, sa.true())
    conditions = [*flavors.named(ref), flavors.accessible_to(project_id)]
    query = sa.select(*columns).select_from(source).where(*conditions).order_by(t.flavors.c.id)
    rows = db.execute(query).mappings().all()
    found = [_terms(row, with_usage=counted is not None) for row in rows]
    return [terms for terms in found if terms.flavor.id == ref] or found


def _terms(row: sa.RowMapping, *, with_usage: bool) -> Terms:
    usage = None
    if with_usage:
        used = quotas.amount(row["used_reservations"], row["used_hours"])
        usage = ProjectUse(used, row["project_generation"] or 0)
    return Terms(flavors.of_row(row), bool(row["is_closed"]), usage)
