"""Reads and writes the rows that an import from Warre changes, and restores them for an undo.

A lease that Warre made in Blazar is adopted in place:

- Its reservation gets the resource type ``flavor:slot``.
- The lease gets the user who owns the reservation in Warre.
- The row in ``instance_reservations`` gets the values that flavor:slot reservations have there.
- Rows in this package's tables are added.

Nothing else of the lease changes, not even ``updated_at``.

Nothing in Nova and Placement has to change either. Warre's leases hold ``virtual:instance``
reservations, for which Blazar has made the same things as this package makes, even with the same
names. So an import sends no requests to any service.
"""

import datetime
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import generations
from warre_blazar.db.booking.instance_reservations import on_fullest_host, source_flavor
from warre_blazar.db.tables import (
    allocations,
    backings,
    bookings,
    executions,
    flavor_projects,
    flavors,
    imported,
    instance_reservations,
    leases,
    maintenance_windows,
    reservations,
    window_flavors,
)
from warre_blazar.domain.booking.reservation_states import ERROR
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.running.backing import Phase
from warre_blazar.domain.running.lease_states import ACTIVE
from warre_blazar.warre_import import seals
from warre_blazar.warre_import.reservations import (
    Adoption,
    BlazarLease,
    BlazarReservation,
    InstanceRow,
)

_TABLES = {
    "flavors": (flavors,),
    "flavor_projects": (flavor_projects,),
    "windows": (maintenance_windows,),
    "reservations": (bookings,),
}

_Columns = Mapping[str, Any]


def known(db: Session, noun: str, ids: Collection[str]) -> set[str]:
    """Which of the given ids already exist in this package's tables.

    :param noun: the kind of things that have the ids: a key of ``_TABLES``.
    """
    return {
        row_id
        for table in _TABLES[noun]
        for row_id in db.scalars(sa.select(table.c.id).where(table.c.id.in_(ids)))
    }


def failed_records(db: Session, ids: Collection[str]) -> dict[str, bool]:
    """The imported records in state ERROR that have the given ids.

    :returns: by id, whether a user has deleted the record since.
    """
    query = (
        sa.select(bookings.c.id, bookings.c.deleted_at.is_not(None))
        .join(imported, imported.c.id == bookings.c.id)
        .where(imported.c.kind == "past", bookings.c.id.in_(ids), bookings.c.status == ERROR)
    )
    return {record_id: bool(deleted) for record_id, deleted in db.execute(query)}


def granted(db: Session) -> set[tuple[str, str]]:
    """Which projects have access to which flavors: pairs of a flavor's id and a project's id."""
    access = flavor_projects.c
    return {(f, p) for f, p in db.execute(sa.select(access.flavor_id, access.project_id))}


def leases_named(
    db: Session, ids: Collection[str | None], names: Collection[str]
) -> list[sa.RowMapping]:
    """The rows of the leases that have one of the ids or one of the names, which are locked."""
    by_id: dict[str, sa.RowMapping] = {}
    for column, wanted in ((leases.c.id, ids), (leases.c.name, names)):
        if wanted:
            query = sa.select(leases).where(column.in_(wanted)).with_for_update()
            rows = db.execute(query).mappings()
            by_id |= {row["id"]: row for row in rows}
    return list(by_id.values())


def leases_of(
    db: Session, ids: Collection[str | None], names: Collection[str]
) -> list[BlazarLease]:
    """The leases that have one of the ids or one of the names, with their reservations.

    The rows are locked until the transaction ends. A locked row is read in its last committed
    state, even if another transaction committed it after this transaction began.
    """
    rows = leases_named(db, ids, names)
    holding = _reservations_of(db, [row["id"] for row in rows])
    return [
        BlazarLease(
            id=row["id"],
            name=row["name"],
            status=row["status"],
            project_id=row["project_id"],
            user_id=row["user_id"],
            start=row["start_date"],
            end=row["end_date"],
            reservations=tuple(holding[row["id"]]),
        )
        for row in rows
    ]


def _reservations_of(db: Session, lease_ids: Collection[str]) -> dict[str, list[BlazarReservation]]:
    by_lease: dict[str, list[BlazarReservation]] = defaultdict(list)
    query = sa.select(reservations).where(reservations.c.lease_id.in_(lease_ids))
    held = list(db.execute(query.with_for_update()).mappings())
    ids = [row["id"] for row in held]
    of_instances = sa.select(instance_reservations).where(
        instance_reservations.c.reservation_id.in_(ids)
    )
    rows = {
        row["reservation_id"]: row for row in db.execute(of_instances.with_for_update()).mappings()
    }
    hosts: dict[str, dict[str, int]] = defaultdict(dict)
    counted = (
        sa.select(allocations.c.reservation_id, allocations.c.compute_host_id, sa.func.count())
        .where(allocations.c.reservation_id.in_(ids))
        .group_by(allocations.c.reservation_id, allocations.c.compute_host_id)
    )
    for reservation_id, host_id, count in db.execute(counted):
        hosts[reservation_id][host_id] = count
    for row in held:
        by_lease[row["lease_id"]].append(
            BlazarReservation(
                id=row["id"],
                resource_type=row["resource_type"],
                status=row["status"],
                row=_instance_row(rows.get(row["id"])),
                hosts=hosts[row["id"]],
            )
        )
    return by_lease


def _instance_row(row: sa.RowMapping | None) -> InstanceRow | None:
    if row is None:
        return None
    names = ("id", "vcpus", "memory_mb", "disk_gb", "amount", "affinity", "resource_properties")
    more = ("flavor_id", "aggregate_id", "server_group_id")
    return InstanceRow(**{name: row[name] for name in names + more})


# Rows that an import writes.


def add_flavors(db: Session, taken: Sequence[_Columns], now: datetime.datetime) -> None:
    """Add flavors."""
    more = {"generation": 0, "deleted": "", "created_at": now}
    _insert(db, flavors, [{**columns, **more} for columns in taken])


def add_access(db: Session, taken: Sequence[_Columns]) -> None:
    """Add access to private flavors."""
    _insert(db, flavor_projects, taken)


def add_window(
    db: Session, columns: _Columns, flavor_ids: Collection[str], now: datetime.datetime
) -> None:
    """Add a maintenance window and the list of the flavors that it closes."""
    _insert(db, maintenance_windows, [{**columns, "created_at": now}])
    bound = [{"window_id": columns["id"], "flavor_id": flavor_id} for flavor_id in flavor_ids]
    _insert(db, window_flavors, bound)


def note(db: Session, rows: Sequence[_Columns]) -> None:
    """Add rows to ``warre_imported``.

    :param rows: a row for each imported thing, with its kind and its id. The column ``before``
        has, as JSON, the values that Blazar's rows had before the import.
    """
    _insert(db, imported, [{"after": None, **row} for row in rows])


def _insert(db: Session, table: sa.Table, rows: Sequence[_Columns]) -> None:
    if rows:
        db.execute(table.insert(), [dict(row) for row in rows])


def move_generations(db: Session, flavor_ids: Collection[str]) -> None:
    """Increase the generations of flavors, so that unfinished bookings read the slots again."""
    table = flavors
    db.execute(
        table.update().where(table.c.id.in_(flavor_ids)).values(generation=table.c.generation + 1)
    )


def adopt(db: Session, adopted: Sequence[Adoption], now: datetime.datetime) -> None:
    """Turn ``virtual:instance`` leases into flavor:slot leases."""
    _outdate_hosts(db, [adoption.reservation.id for adoption in adopted])
    _insert(
        db,
        bookings,
        [
            {
                "id": adoption.id,
                "live_id": adoption.reservation.id,
                "reservation_id": adoption.reservation.id,
                "lease_id": adoption.lease.id,
                "project_id": adoption.lease.project_id,
                "user_id": adoption.user_id,
                "flavor_id": adoption.flavor_id,
                "instance_count": adoption.row.amount,
                "shape": adoption.shape.to_json(),
                "status_reason": adoption.status_reason,
                "created_at": adoption.created_at,
            }
            for adoption in adopted
        ],
    )
    _insert(
        db,
        backings,
        [
            {
                "reservation_id": adoption.reservation.id,
                "project_id": adoption.lease.project_id,
                "aggregate_id": adoption.row.aggregate_id,
                "phase": Phase.OPEN if adoption.lease.status == ACTIVE else Phase.MADE,
                "created_at": now,
                "nova_flavor": adoption.row.flavor_id,
                # Blazar's aggregates name each project alone.
                "made_confined": True,
            }
            for adoption in adopted
        ],
    )
    _set_columns(
        db, leases, {adoption.lease.id: {"user_id": adoption.user_id} for adoption in adopted}
    )
    _set_columns(
        db,
        reservations,
        {adoption.reservation.id: {"resource_type": RESOURCE_TYPE} for adoption in adopted},
    )
    rows = {}
    for adoption in adopted:
        source = source_flavor(adoption.flavor_id, adoption.flavor_name, adoption.shape)
        rows[adoption.row.id] = {
            **on_fullest_host(adoption.shape, adoption.reservation.hosts),
            "resource_properties": source,
        }
    _set_columns(db, instance_reservations, rows)


def _outdate_hosts(db: Session, reservation_ids: Sequence[str]) -> None:
    generations.outdate_hosts_of(db, reservations.c.id.in_(reservation_ids))


def _set_columns(db: Session, table: sa.Table, values: Mapping[str, _Columns]) -> None:
    """Write columns of rows in one statement, without changing ``updated_at``.

    :param values: the new values of the columns, by the id of the row. The columns must be the
        same for all rows.
    """
    if not values:
        return
    names = next(iter(values.values())).keys()
    cases = {
        name: sa.case(
            {row_id: sa.literal(row[name], table.c[name].type) for row_id, row in values.items()},
            value=table.c.id,
            else_=table.c[name],
        )
        for name in names
    }
    written = table.update().where(table.c.id.in_(values))
    db.execute(
        written.values(**cases, updated_at=table.c.updated_at),
        execution_options=seals.UNCACHED,
    )


def remove_records(db: Session, ids: Collection[str]) -> None:
    """Remove imported past reservations, which are adopted now."""
    db.execute(bookings.delete().where(bookings.c.id.in_(ids), bookings.c.live_id.is_(None)))
    db.execute(imported.delete().where(imported.c.kind == "past", imported.c.id.in_(ids)))


def lock_leases(db: Session) -> None:
    """Keep others from changing the leases of adopted reservations until the transaction ends.

    What the transaction reads afterwards is as it was when the leases were locked, provided that
    this is the transaction's first statement.
    """
    db.execute(adopted_leases().with_for_update(of=leases, key_share=True)).all()


def adopted_leases() -> sa.Select[tuple[str]]:
    """A query of the ids of the leases of adopted reservations."""
    adopted = (
        imported.join(bookings, bookings.c.id == imported.c.id)
        .join(reservations, reservations.c.id == bookings.c.reservation_id)
        .join(leases, leases.c.id == reservations.c.lease_id)
    )
    return sa.select(leases.c.id).select_from(adopted).where(imported.c.kind == "reservation")


def executed(db: Session) -> list[str]:
    """The ids of adopted reservations whose lease has an execution.

    A manager is starting, ending or deleting the lease, or is going to.
    """
    query = (
        sa.select(imported.c.id)
        .select_from(
            imported.join(bookings, bookings.c.id == imported.c.id)
            .join(reservations, reservations.c.id == bookings.c.reservation_id)
            .join(executions, executions.c.lease_id == reservations.c.lease_id)
        )
        .where(imported.c.kind == "reservation")
        .order_by(imported.c.id)
    )
    return list(db.scalars(query))


def booked_since(db: Session) -> list[str]:
    """The ids of reservations of imported flavors that weren't imported themselves.

    Adopted reservations that are past by now are among them.
    """
    of_flavors = sa.select(imported.c.id).where(imported.c.kind == "flavor")
    found: list[str] = []
    # One kind for each query, so that MariaDB looks up each row by the key of ``warre_imported``.
    for is_of_kind, kind in (
        (bookings.c.live_id.is_not(None), "reservation"),
        (bookings.c.live_id.is_(None), "past"),
    ):
        is_imported = sa.exists().where(imported.c.kind == kind, imported.c.id == bookings.c.id)
        these = (bookings.c.flavor_id.in_(of_flavors), is_of_kind, sa.not_(is_imported))
        found += db.scalars(sa.select(bookings.c.id).where(*these))
    return sorted(found)


def deleted_records(db: Session) -> list[str]:
    """The ids of imported past reservations that a user has deleted since the import."""
    query = (
        sa.select(bookings.c.id)
        .join(imported, imported.c.id == bookings.c.id)
        .where(imported.c.kind == "past", bookings.c.deleted_at.is_not(None))
        .order_by(bookings.c.id)
    )
    return list(db.scalars(query))


def counts(db: Session) -> dict[str, int]:
    """The number of imported things of each kind."""
    query = sa.select(imported.c.kind, sa.func.count()).group_by(imported.c.kind)
    return {kind: count for kind, count in db.execute(query)}


def befores(db: Session) -> Iterator[list[str]]:
    """The column ``before`` of all adopted reservations, as JSON.

    ``release`` needs these values. They come in lists of at most ``seals.PART`` values.
    """
    for ids in seals.parts(db, "reservation"):
        query = sa.select(imported.c.before).where(
            imported.c.kind == "reservation", imported.c.id.in_(ids)
        )
        yield [before for before in db.scalars(query) if before]


def release(db: Session, befores: Sequence[_Columns]) -> None:
    """Give adopted leases back to Blazar's instance plugin, with the values from ``befores``.

    :param befores: values of the column ``before`` of ``warre_imported``.
    """
    ids = [before["reservation_id"] for before in befores]
    _outdate_hosts(db, ids)
    db.execute(bookings.delete().where(bookings.c.reservation_id.in_(ids)))
    db.execute(backings.delete().where(backings.c.reservation_id.in_(ids)))
    _set_columns(db, leases, {b["lease_id"]: {"user_id": b["user_id"]} for b in befores})
    types = {b["reservation_id"]: {"resource_type": b["resource_type"]} for b in befores}
    _set_columns(db, reservations, types)
    _set_columns(db, instance_reservations, {b["row_id"]: b["row"] for b in befores})


def remove(db: Session) -> None:
    """Remove the records, access, windows and flavors that imports have added.

    All rows of ``warre_imported`` are removed too.
    """
    for kind, table in (
        ("past", bookings),
        ("access", flavor_projects),
        ("window", maintenance_windows),
        ("flavor", flavors),
    ):
        ids = sa.select(imported.c.id).where(imported.c.kind == kind)
        if kind in ("window", "flavor"):
            bound = window_flavors
            owner = bound.c.window_id if kind == "window" else bound.c.flavor_id
            db.execute(bound.delete().where(owner.in_(ids)))
        db.execute(table.delete().where(table.c.id.in_(ids)))
    db.execute(imported.delete())
