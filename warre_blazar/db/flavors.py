"""Queries on flavors and the projects that may use them. All take the caller's session."""

import datetime
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import models, session
from warre_blazar.domain.flavor import Flavor, Shape

_F = models.flavors
_P = models.flavor_projects


def _flavor(row: sa.RowMapping) -> Flavor:
    return Flavor(
        id=row["id"],
        name=row["name"],
        description=row["description"],
        shape=Shape(
            vcpu=row["vcpu"],
            memory_mb=row["memory_mb"],
            disk_gb=row["disk_gb"],
            ephemeral_gb=row["ephemeral_gb"],
            extra_specs=row["extra_specs"],
            properties=row["properties"],
            availability_zone=row["availability_zone"],
        ),
        slots=row["slots"],
        max_length_hours=row["max_length_hours"],
        start=row["start_date"],
        end=row["end_date"],
        category=row["category"],
        is_public=row["is_public"],
        active=row["active"],
        generation=row["generation"],
    )


def _accessible_to(project_id: str | None) -> sa.ColumnElement[bool]:
    granted = sa.select(_P.c.flavor_id).where(_P.c.project_id == project_id)
    return sa.or_(_F.c.is_public, _F.c.id.in_(granted))


def insert(db: Session, values: Mapping[str, Any], now: datetime.datetime) -> None:
    """Add a flavor; ``values`` are columns.

    :raises oslo_db.exception.DBDuplicateEntry: for a name that is taken.
    """
    db.execute(_F.insert().values(generation=0, deleted="", created_at=now, **values))


def find(db: Session, ref: str) -> Flavor | None:
    """A living flavor by id, else by name."""
    query = (
        sa.select(_F)
        .where(_F.c.deleted == "", sa.or_(_F.c.id == ref, _F.c.name == ref))
        .order_by(sa.case((_F.c.id == ref, 0), else_=1))
        .limit(1)
    )
    row = db.execute(query).mappings().first()
    return _flavor(row) if row else None


def get_many(db: Session, ids: set[str]) -> dict[str, Flavor]:
    """Flavors by id, the deleted ones too."""
    if not ids:
        return {}
    rows = db.execute(sa.select(_F).where(_F.c.id.in_(ids))).mappings()
    return {row["id"]: _flavor(row) for row in rows}


def listing(
    db: Session,
    *,
    project_id: str | None,
    everything: bool,
    filters: Mapping[str, Any],
    limit: int | None,
    offset: int,
) -> tuple[list[Flavor], int]:
    """A page of living flavors, by name, and how many there are in all.

    :param everything: private flavors of others and inactive ones too.
    :param filters: column values that must be equal.
    """
    conditions = [_F.c.deleted == "", *(_F.c[k] == v for k, v in filters.items())]
    if not everything:
        conditions += [_accessible_to(project_id), _F.c.active]
    total = db.execute(sa.select(sa.func.count()).select_from(_F).where(*conditions)).scalar_one()
    query = sa.select(_F).where(*conditions).order_by(_F.c.name, _F.c.id)
    if limit is not None:
        query = query.limit(limit).offset(offset)
    return [_flavor(row) for row in db.execute(query).mappings()], total


def is_accessible(db: Session, flavor: Flavor, project_id: str | None) -> bool:
    """Whether the project may use the flavor."""
    if flavor.is_public:
        return True
    query = sa.select(_P.c.id).where(_P.c.flavor_id == flavor.id, _P.c.project_id == project_id)
    return db.execute(query).first() is not None


def update(db: Session, flavor: Flavor, values: Mapping[str, Any]) -> None:
    """Change columns, provided that nobody claimed or changed the flavor since it was read.

    :raises session.LostRace: when somebody did.
    """
    moved = db.execute(
        _F.update()
        .where(_F.c.id == flavor.id, _F.c.generation == flavor.generation)
        .values(generation=flavor.generation + 1, **values)
    )
    if moved.rowcount != 1:  # type: ignore[attr-defined]
        raise session.LostRace


def delete(db: Session, flavor: Flavor) -> None:
    """Take the flavor away from all but the history.

    :raises session.LostRace: when it was claimed or changed since it was read.
    """
    update(db, flavor, {"deleted": flavor.id})
    db.execute(_P.delete().where(_P.c.flavor_id == flavor.id))
