"""What an audit reads from this package's and Blazar's tables, and the report of the last audit.

The number of SQL statements doesn't depend on the number of rows.
"""

import dataclasses
import datetime
import json
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import models, session
from warre_blazar.db.hosts.allocations import host_uses
from warre_blazar.db.running import executions
from warre_blazar.db.running import leases as lease_rows
from warre_blazar.db.running.backings import awaits_late
from warre_blazar.db.running.backings import read as read_notes
from warre_blazar.db.tables import (
    allocations,
    audits,
    backings,
    bookings,
    compute_hosts,
    events,
    instance_reservations,
    leases,
    reservations,
)
from warre_blazar.domain.audit.differences import KeptDifference, LastAudit
from warre_blazar.domain.audit.facts import (
    Booking,
    HaltedLease,
    InstanceReservation,
    Offered,
    Taking,
    TrustedLease,
)
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE, Shape
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.timeline import Span, union

_OURS = reservations.c.resource_type == RESOURCE_TYPE
_DELETED = "deleted"


def live_bookings(db: Session, reservation_id: str | None = None) -> list[Booking]:
    """Every flavor:slot reservation that hasn't ended.

    :param reservation_id: if given, only this reservation is read.
    """
    is_live = sa.and_(_OURS, reservations.c.status != _DELETED)
    if reservation_id is not None:
        is_live = sa.and_(is_live, reservations.c.id == reservation_id)
    live_ids = sa.select(reservations.c.id).where(is_live)
    places = host_uses(db, allocations.c.reservation_id.in_(live_ids))
    notes = read_notes(db, backings.c.reservation_id.in_(live_ids))
    query = (
        sa.select(
            reservations.c.id,
            reservations.c.lease_id,
            reservations.c.status,
            bookings.c.shape,
            bookings.c.instance_count,
            instance_reservations.c.id,
            *_ROW,
        )
        .select_from(
            reservations.outerjoin(
                bookings, bookings.c.reservation_id == reservations.c.id
            ).outerjoin(
                instance_reservations, instance_reservations.c.reservation_id == reservations.c.id
            )
        )
        .where(is_live)
    )
    live = []
    for live_id, lease_id, status, shape, count, row_id, *row in db.execute(query):
        live.append(
            Booking(
                reservation_id=live_id,
                lease_id=lease_id,
                status=status,
                shape=Shape.from_json(shape) if shape else None,
                count=count or 0,
                places=tuple(places.get(live_id, ())),
                note=notes.get(live_id),
                row=InstanceReservation(*row) if row_id else None,
            )
        )
    return live


#: The columns of ``facts.InstanceReservation``, in the order of its fields.
_ROW = (
    instance_reservations.c.amount,
    instance_reservations.c.vcpus,
    instance_reservations.c.memory_mb,
    instance_reservations.c.disk_gb,
    instance_reservations.c.aggregate_id,
    instance_reservations.c.flavor_id,
)


def leftovers(db: Session, since: datetime.datetime, now: datetime.datetime) -> dict[str, bool]:
    """The reservations that have ended or are deleted, and whose backing has a note, by id.

    The boolean is True if it is normal that the note still exists. It is normal in two cases:

    - The reservation's lease was written at or after ``since``.
    - A service may still carry out a request to make the backing.
    """
    fresh = sa.func.coalesce(leases.c.updated_at >= since, sa.false())
    query = (
        sa.select(backings.c.reservation_id, sa.or_(fresh, awaits_late(now)))
        .select_from(
            backings.outerjoin(
                reservations, reservations.c.id == backings.c.reservation_id
            ).outerjoin(leases, leases.c.id == reservations.c.lease_id)
        )
        .where(sa.or_(reservations.c.id.is_(None), reservations.c.status == _DELETED))
    )
    return {reservation_id: bool(is_fresh) for reservation_id, is_fresh in db.execute(query)}


def statuses(db: Session, reservation_ids: Collection[str]) -> dict[str, tuple[bool, str]]:
    """Read the statuses of reservations. Reservations that aren't in Blazar's table are left out.

    :returns: for each reservation's id, whether the resource type is flavor:slot, and the status.
    """
    query = sa.select(reservations.c.id, _OURS, reservations.c.status).where(
        reservations.c.id.in_(reservation_ids)
    )
    return {i: (bool(ours), status) for i, ours, status in db.execute(query)}


def halted_leases(db: Session, lease_id: str | None = None) -> list[HaltedLease]:
    """The leases of stock resource types on which nobody works, although their status says so.

    :param lease_id: if given, only this lease is read.
    """
    theirs = reservations.alias("theirs")
    written = sa.func.coalesce(leases.c.updated_at, leases.c.created_at)
    query = (
        sa.select(leases.c.id, leases.c.status, written, theirs.c.id, theirs.c.resource_type)
        .select_from(leases.join(theirs, theirs.c.lease_id == leases.c.id))
        .where(
            leases.c.status.in_(lease_states.TRANSITIONAL),
            sa.not_(lease_rows.ours()),
            sa.not_(executions.is_worked_on(leases.c.id)),
            leases.c.id == lease_id if lease_id else sa.true(),
        )
        .order_by(leases.c.id)
    )
    found: dict[str, HaltedLease] = {}
    for id_, status, written, reservation_id, resource_type in db.execute(query):
        lease = found.setdefault(id_, HaltedLease(id_, status, written, {}))
        found[id_] = dataclasses.replace(
            lease, reservations={**lease.reservations, reservation_id: resource_type}
        )
    return list(found.values())


def orphan_event_count(db: Session) -> int:
    """The number of events that belong to no lease."""
    orphan = sa.or_(
        events.c.lease_id.is_(None),
        sa.not_(sa.exists().where(leases.c.id == events.c.lease_id)),
    )
    return db.scalar(sa.select(sa.func.count()).select_from(events).where(orphan)) or 0


def offered(db: Session) -> list[Offered]:
    """Every flavor that isn't deleted."""
    table = models.flavors
    query = sa.select(table.c.id, table.c.name, table.c.slots).where(table.c.deleted == "")
    return [Offered(*row) for row in db.execute(query)]


def taken(db: Session, now: datetime.datetime) -> tuple[list[Taking], list[Taking]]:
    """What reservations take, now or later, from hosts and from flavors.

    :returns: a list of what reservations of all types take from hosts, and a list of what
        flavor:slot reservations take from flavors.
    """
    query = (
        sa.select(
            allocations.c.compute_host_id,
            reservations.c.id,
            reservations.c.resource_type,
            bookings.c.flavor_id,
            bookings.c.instance_count,
            bookings.c.shape,
            instance_reservations.c.vcpus,
            instance_reservations.c.memory_mb,
            instance_reservations.c.disk_gb,
            instance_reservations.c.resource_properties,
            leases.c.start_date,
            leases.c.end_date,
            bookings.c.claim_start,
            bookings.c.claim_end,
        )
        .select_from(
            allocations.join(reservations, reservations.c.id == allocations.c.reservation_id)
            .join(leases, leases.c.id == reservations.c.lease_id)
            .outerjoin(bookings, bookings.c.reservation_id == reservations.c.id)
            .outerjoin(
                instance_reservations, instance_reservations.c.reservation_id == reservations.c.id
            )
        )
        .where(sa.or_(leases.c.end_date > now, bookings.c.claim_end > now))
    )
    of_hosts: list[Taking] = []
    of_flavors: dict[str, Taking] = {}
    for row in db.execute(query).mappings():
        spans = _spans(row)
        of_hosts.append(Taking(row["compute_host_id"], row["id"], spans, _amounts(row)))
        flavor_id = row["flavor_id"]
        if flavor_id is not None:
            slots = {flavor_id: row["instance_count"]}
            of_flavors[row["id"]] = Taking(flavor_id, row["id"], spans, slots)
    return of_hosts, list(of_flavors.values())


def _spans(row: sa.RowMapping) -> tuple[Span, ...]:
    own = Span(row["start_date"], row["end_date"])
    if row["claim_start"] is None or row["claim_end"] is None:
        return (own,)
    return tuple(union(own, Span(row["claim_start"], row["claim_end"])))


def _amounts(row: sa.RowMapping) -> Mapping[str, int] | None:
    """The amounts that an allocation takes from a host, by resource class; None: the whole host."""
    if row["resource_type"] == RESOURCE_TYPE:
        # If the reservation has no row in this package's table, nobody knows what it takes.
        return Shape.from_json(row["shape"]).request.amounts if row["shape"] else {}
    if row["resource_type"] == "virtual:instance":
        values = {name: row[name] or 0 for name in ("vcpus", "memory_mb", "disk_gb")}
        return _of_sizes(values["vcpus"], values["memory_mb"], values["disk_gb"])
    if row["resource_type"] == "flavor:instance":
        return _of_source_flavor(row["resource_properties"])
    return None


def _of_sizes(vcpus: int, memory_mb: int, disk_gb: int) -> dict[str, int]:
    return {"VCPU": vcpus, "MEMORY_MB": memory_mb, "DISK_GB": disk_gb}


def _of_source_flavor(text: str | None) -> dict[str, int] | None:
    """The amounts that an instance of a Nova flavor takes, by resource class.

    None means that the text can't be read, and that the whole host counts as taken.

    :param text: the Nova flavor as JSON, as Blazar's flavor plugin has written it.
    """
    try:
        source: dict[str, Any] = json.loads(text or "")
        return _of_sizes(int(source["vcpus"]), int(source["ram"]), int(source["disk"]))
    except (ValueError, KeyError, TypeError):
        return None


def trusts_in_use(db: Session, also: sa.Select[tuple[str]] | None) -> set[str]:
    """The ids of the trusts of hosts, and of leases that aren't booked by clients of this package.

    :param also: a query of the ids of other leases whose trusts are in use too.
    """
    in_stock_form = sa.exists().where(
        bookings.c.lease_id == leases.c.id, bookings.c.sent_flavor.is_not(None)
    )
    others: sa.ColumnElement[bool] = sa.or_(sa.not_(lease_rows.ours()), in_stock_form)
    if also is not None:
        others = sa.or_(others, leases.c.id.in_(also))
    of_leases = sa.select(leases.c.trust_id).where(leases.c.trust_id.is_not(None), others)
    return set(db.scalars(sa.union(of_leases, sa.select(compute_hosts.c.trust_id))))


def trusted_leases(db: Session) -> list[TrustedLease]:
    """The live leases without flavor:slot reservations that have a trust, ordered by end."""
    names = ("id", "name", "status", "user_id", "project_id", "end_date", "trust_id")
    query = (
        sa.select(*(leases.c[name] for name in names))
        .where(
            leases.c.trust_id.is_not(None),
            leases.c.status != lease_states.TERMINATED,
            sa.not_(lease_rows.ours()),
        )
        .order_by(leases.c.end_date, leases.c.id)
    )
    return [TrustedLease(*row) for row in db.execute(query)]


#: The id of the only row.
_ONLY = 1


def write_report(db: Session, report: LastAudit) -> None:
    """Write the report of an audit in place of the one before.

    :raises session.LostRace: another audit writes the first report at this moment.
    """
    document = {
        "findings": [dataclasses.asdict(each) for each in report.findings],
        "total": report.total,
        "away": dict(report.away),
    }
    values = {"finished_at": report.finished_at, "report": json.dumps(document)}
    if session.changed(db, audits.update().where(audits.c.id == _ONLY).values(**values)):
        return
    session.insert_or_lose(db, audits.insert().values(id=_ONLY, **values))


def last_report(db: Session) -> LastAudit | None:
    """The report of the last audit. None: no audit has been kept yet."""
    row = db.execute(sa.select(audits)).mappings().one_or_none()
    if row is None:
        return None
    document = json.loads(row["report"])
    findings = [KeptDifference(**each) for each in document["findings"]]
    return LastAudit(row["finished_at"], findings, document["total"], document["away"])
