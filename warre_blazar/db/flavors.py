"""Queries on flavors, their access and their booked shapes, in the caller's session."""

import dataclasses
import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import generations, session
from warre_blazar.db.booking.claims import slot_claims
from warre_blazar.db.models import TEXT
from warre_blazar.db.tables import (
    allocations,
    bookings,
    bookings_in_leases,
    flavor_projects,
    flavors,
    leases,
    reservations,
)
from warre_blazar.domain.flavors import devices
from warre_blazar.domain.flavors.flavor import Flavor, ProjectAccess, Shape
from warre_blazar.domain.timeline import Claim, Span
from warre_blazar.errors import exceptions


def shape_of(columns: Mapping[str, Any] | sa.RowMapping) -> Shape:
    """The shape that columns of a flavor describe.

    :param columns: values by column name. Other columns are ignored.
    """
    return Shape(
        vcpu=columns["vcpu"],
        memory_mb=columns["memory_mb"],
        disk_gb=columns["disk_gb"],
        ephemeral_gb=columns["ephemeral_gb"],
        extra_specs=columns["extra_specs"],
        properties=columns["properties"],
        availability_zone=columns["availability_zone"],
        device_groups=devices.of_column(columns["device_groups"]),
    )


#: The attributes of a flavor that are columns of the same name.
_PLAIN = [field.name for field in dataclasses.fields(Flavor) if field.name in flavors.c]
#: The columns that no rule reads.
_TEXTS = [column.name for column in flavors.c if column.info == TEXT]


def of_row(row: sa.RowMapping) -> Flavor:
    """The flavor in a row with all columns of the table."""
    return Flavor(
        **{name: row[name] for name in _PLAIN},
        shape=shape_of(row),
        start=row["start_date"],
        end=row["end_date"],
        texts={name: row[name] for name in _TEXTS},
    )


def accessible_to(
    project_id: str | sa.BindParameter[str] | None,
) -> sa.ColumnElement[bool]:
    """The condition that a flavor is public, or that the project has access to it."""
    granted = sa.select(flavor_projects.c.flavor_id).where(
        flavor_projects.c.project_id == project_id
    )
    return sa.or_(flavors.c.is_public, flavors.c.id.in_(granted))


def insert(db: Session, values: Mapping[str, Any], now: datetime.datetime) -> None:
    """Add a flavor.

    :param values: values by column name.
    """
    db.execute(flavors.insert().values(generation=0, deleted="", created_at=now, **values))


def compare(db: Session, values: Mapping[str, Any]) -> None:
    """Raise an error if the database can't store the texts among values by column name."""
    texts = {flavors.c[name]: text for name, text in values.items() if isinstance(text, str)}
    session.compare(db, texts)


def named(ref: str | sa.BindParameter[str]) -> list[sa.ColumnElement[bool]]:
    """The conditions that a flavor has an id or a name, and isn't deleted."""
    return [flavors.c.deleted == "", sa.or_(flavors.c.id == ref, flavors.c.name == ref)]


def find(
    db: Session, ref: str, *, project_id: str | None = None, everything: bool = True
) -> list[Flavor]:
    """The flavor with this id, or else all flavors with this name. Deleted flavors aren't found.

    :param everything: whether to also find private flavors to which the project has no access.
    """
    rows = db.execute(_FOUND[everything], {"ref": ref, "project_id": project_id}).mappings()
    candidates = [of_row(row) for row in rows]
    return [flavor for flavor in candidates if flavor.id == ref] or candidates


def _found(*more: sa.ColumnElement[bool]) -> sa.Select[Any]:
    conditions = (*named(sa.bindparam("ref")), *more)
    return sa.select(flavors).where(*conditions).order_by(flavors.c.id)


#: The queries of ``find``, by ``everything``.
_FOUND = {True: _found(), False: _found(accessible_to(sa.bindparam("project_id")))}


def bookable(db: Session, refs: Collection[str], project_id: str) -> set[str]:
    """Those of some ids and names that a flavor has to which a project has access."""
    named = sa.or_(flavors.c.id.in_(refs), flavors.c.name.in_(refs))
    query = sa.select(flavors.c.id, flavors.c.name).where(
        flavors.c.deleted == "", named, accessible_to(project_id)
    )
    return {text for row in db.execute(query) for text in row} & set(refs)


def require(
    db: Session, ref: str, *, project_id: str | None = None, everything: bool = True
) -> Flavor:
    """The only flavor with this id or name.

    :param everything: the same as for ``find``.
    :raises FlavorNotFound: no flavor has this id or name.
    :raises FlavorAmbiguous: several flavors have this name.
    """
    candidates = find(db, ref, project_id=project_id, everything=everything)
    if not candidates:
        raise exceptions.FlavorNotFound(ref)
    return only(ref, candidates)


def only(ref: str, candidates: Sequence[Flavor]) -> Flavor:
    """The only flavor among candidates.

    :param ref: the id or name that the candidates were found by.
    :param candidates: the flavors that ``find`` returned, at least one.
    :raises FlavorAmbiguous: there are several candidates.
    """
    if len(candidates) == 1:
        return candidates[0]
    raise exceptions.FlavorAmbiguous(
        ref,
        [
            {
                "id": flavor.id,
                "vcpu": flavor.shape.vcpu,
                "memory_mb": flavor.shape.memory_mb,
                "disk_gb": flavor.shape.disk_gb,
                "category": flavor.texts["category"],
                "availability_zone": flavor.shape.availability_zone,
            }
            for flavor in candidates
        ],
    )


_MANY = sa.select(flavors).where(flavors.c.id.in_(sa.bindparam("ids", expanding=True)))


def get_many(db: Session, ids: set[str]) -> dict[str, Flavor]:
    """The flavors with these ids, by id. Deleted flavors are included."""
    if not ids:
        return {}
    rows = db.execute(_MANY, {"ids": list(ids)}).mappings()
    return {row["id"]: of_row(row) for row in rows}


def listing(
    db: Session,
    *,
    project_id: str | None,
    everything: bool,
    filters: Mapping[str, Any],
    limit: int | None,
    offset: int,
) -> tuple[list[Flavor], int]:
    """A page of flavors, sorted by name and memory, and the number of flavors on all pages.

    Deleted flavors are left out.

    :param project_id: the project that must have access to the flavors.
    :param everything: also include inactive flavors, and private flavors to which the project has
        no access.
    :param filters: values that columns must have, by column name.
    """
    conditions = [flavors.c.deleted == "", *(flavors.c[k] == v for k, v in filters.items())]
    if not everything:
        conditions += [accessible_to(project_id), flavors.c.active]
    query = (
        sa.select(flavors)
        .where(*conditions)
        .order_by(flavors.c.name, flavors.c.memory_mb, flavors.c.id)
    )
    if limit is not None:
        query = query.limit(limit).offset(offset)
    page = [of_row(row) for row in db.execute(query).mappings()]
    if limit is None:
        return page, len(page)
    total = sa.select(sa.func.count()).select_from(flavors).where(*conditions)
    return page, db.execute(total).scalar_one()


def shown_in_nova(db: Session) -> list[tuple[Flavor, frozenset[str], str | None]]:
    """The flavors that Nova should show, or may show although it shouldn't.

    :returns: each with its projects, and the digest of what Nova was last told to show.
    """
    wanted = sa.and_(flavors.c.show_in_nova, flavors.c.deleted == "")
    query = sa.select(flavors).where(sa.or_(wanted, flavors.c.shown_in_nova.is_not(None)))
    rows = db.execute(query.order_by(flavors.c.id)).mappings().all()
    projects: dict[str, set[str]] = {row["id"]: set() for row in rows}
    columns = (flavor_projects.c.flavor_id, flavor_projects.c.project_id)
    for flavor_id, project_id in db.execute(
        sa.select(*columns).where(flavor_projects.c.flavor_id.in_(projects))
    ):
        projects[flavor_id].add(project_id)
    return [
        (
            dataclasses.replace(
                of_row(row), show_in_nova=row["show_in_nova"] and not row["deleted"]
            ),
            frozenset(projects[row["id"]]),
            row["shown_in_nova"],
        )
        for row in rows
    ]


def note_shown(db: Session, flavor_id: str, before: str | None, after: str | None) -> None:
    """Write the digest of what Nova shows of a flavor.

    :param before: the digest that was read.
    :raises session.LostRace: another manager has written it since.
    """
    noted = flavors.c.shown_in_nova
    as_read = noted.is_(None) if before is None else noted == before
    session.write_or_lose(
        db,
        flavors.update().where(flavors.c.id == flavor_id, as_read).values(shown_in_nova=after),
    )


def every(db: Session) -> list[Flavor]:
    """All flavors that aren't deleted, sorted by name."""
    page, _ = listing(db, project_id=None, everything=True, filters={}, limit=None, offset=0)
    return page


def is_accessible(db: Session, flavor: Flavor, project_id: str | None) -> bool:
    """Whether the flavor is public, or the project has access to it."""
    if flavor.is_public:
        return True
    query = sa.select(flavor_projects.c.id).where(
        flavor_projects.c.flavor_id == flavor.id, flavor_projects.c.project_id == project_id
    )
    return db.execute(query).first() is not None


def delete(db: Session, flavor: Flavor) -> None:
    """Mark a flavor as deleted, and delete all projects' access to it.

    The row stays, for the reservations that were booked from the flavor.

    :raises session.LostRace: the flavor was claimed or changed since it was read.
    """
    generations.increase_flavor(db, flavor, {"deleted": flavor.id})
    db.execute(flavor_projects.delete().where(flavor_projects.c.flavor_id == flavor.id))


def insert_access(db: Session, access: ProjectAccess) -> None:
    """Add an access.

    :raises oslo_db.exception.DBDuplicateEntry: the project already has access to the flavor.
    """
    db.execute(flavor_projects.insert().values(**dataclasses.asdict(access)))


def delete_access(db: Session, access_id: str) -> bool:
    """Delete an access. Return whether it existed."""
    deletion = flavor_projects.delete().where(flavor_projects.c.id == access_id)
    return session.changed(db, deletion) == 1


def accesses(
    db: Session, filters: dict[str, str], limit: int | None, offset: int
) -> tuple[list[ProjectAccess], int]:
    """A page of accesses, and the number of accesses on all pages.

    :param filters: values that columns must have, by column name.
    """
    conditions = [flavor_projects.c[name] == value for name, value in filters.items()]
    count = sa.select(sa.func.count()).select_from(flavor_projects).where(*conditions)
    query = (
        sa.select(flavor_projects)
        .where(*conditions)
        .order_by(flavor_projects.c.flavor_id, flavor_projects.c.project_id)
    )
    if limit is not None:
        query = query.limit(limit).offset(offset)
    rights = [ProjectAccess(**row) for row in db.execute(query).mappings()]
    return rights, db.execute(count).scalar_one()


def claims_of(db: Session, flavor_id: str, window: Span) -> list[Claim]:
    """The reservations of a flavor that overlap a span, as claims.

    Reservations that have ended are included until their leases are deleted, although they don't
    claim slots any more.

    :param window: the span.
    """
    held = sa.exists().where(allocations.c.reservation_id == reservations.c.id)
    over = (
        sa.select(leases.c.start_date, leases.c.end_date, bookings.c.instance_count)
        .select_from(bookings_in_leases)
        .where(
            _is_live(flavor_id),
            reservations.c.status == "deleted",
            ~held,
            leases.c.start_date < window.end,
            leases.c.end_date > window.start,
        )
    )
    past = [Claim(Span(start, end), count) for start, end, count in db.execute(over)]
    return past + slot_claims(db, flavor_id, window)


def hosts_of_shapes(db: Session, flavor_id: str) -> list[str]:
    """The shapes of a flavor's reservations that hold hosts, as JSON. Each shape occurs once."""
    query = sa.select(bookings.c.shape).where(_held_by(flavor_id)).distinct()
    return sorted(db.scalars(query))


def count_of_shape(db: Session, flavor_id: str, shape: str) -> int:
    """The number of a flavor's reservations that hold hosts and have this shape."""
    query = (
        sa.select(sa.func.count())
        .select_from(bookings)
        .where(_held_by(flavor_id), bookings.c.shape == shape)
    )
    return int(db.execute(query).scalar_one())


def replace_shape(db: Session, flavor_id: str, before: str, after: Shape) -> None:
    """Give a new shape to a flavor's reservations that hold hosts and have the shape ``before``.

    :param before: the old shape, as ``holding_hosts`` returned it.
    """
    these = (_held_by(flavor_id), bookings.c.shape == before)
    db.execute(bookings.update().where(*these).values(shape=after.to_json()))


def hosts_of_flavor(db: Session, flavor_id: str) -> set[str]:
    """The ids of the hosts that a flavor's reservations hold."""
    query = (
        sa.select(allocations.c.compute_host_id)
        .join(bookings, bookings.c.live_id == allocations.c.reservation_id)
        .where(_is_live(flavor_id))
        .distinct()
    )
    return set(db.scalars(query))


def _held_by(flavor_id: str) -> sa.ColumnElement[bool]:
    """The condition that a reservation is of a flavor, and holds hosts."""
    held = sa.exists().where(allocations.c.reservation_id == bookings.c.live_id)
    return sa.and_(_is_live(flavor_id), held)


def _is_live(flavor_id: str) -> sa.ColumnElement[bool]:
    """The condition that a reservation is of a flavor, and isn't past."""
    return sa.and_(bookings.c.flavor_id == flavor_id, bookings.c.live_id.is_not(None))
