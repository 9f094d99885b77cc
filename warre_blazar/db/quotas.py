"""How much projects hold, and the generation by which that is claimed."""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from blazar.db.sqlalchemy import models as blazar
from oslo_db import exception as db_exc
from sqlalchemy.orm import Session

from warre_blazar.db import functions, models, session
from warre_blazar.domain import states
from warre_blazar.domain.quota import Amount

_W = models.reservations
_P = models.projects
_R = blazar.Reservation.__table__
_L = blazar.Lease.__table__
_I = blazar.InstanceReservations.__table__
_A = blazar.ComputeHostAllocation.__table__


def usage(
    db: Session, project_id: str, types: Collection[str], but: Collection[str] = ()
) -> Amount:
    """What a project holds of these resource types, in one query.

    :param but: Blazar's reservations to leave out.
    """
    query = _usage(types).where(_L.c.project_id == project_id)
    if but:
        query = query.where(_R.c.id.not_in(but))
    return _amount(*db.execute(query).one())


def usage_by_project(db: Session, types: Collection[str]) -> dict[str, Amount]:
    """The same of every project that holds any, in one query."""
    query = _usage(types).add_columns(_L.c.project_id).group_by(_L.c.project_id)
    return {project: _amount(count, hours) for count, hours, project in db.execute(query)}


def _amount(count: int, hours: Any) -> Amount:
    # A sum is a Decimal on some databases, and of nothing NULL on all.
    return Amount(count, int(hours or 0))


def _usage(types: Collection[str]) -> sa.Select[Any]:
    """Count and hours of the live reservations.

    One that is being made counts from the moment that its instances are known.
    """
    tables = _R.join(_L, _L.c.id == _R.c.lease_id)
    instances: dict[str, sa.ColumnElement[Any]] = {}
    if "flavor:slot" in types:
        tables = tables.outerjoin(_W, _W.c.reservation_id == _R.c.id)
        instances["flavor:slot"] = _W.c.instance_count
    stock = {"virtual:instance", "flavor:instance"}.intersection(types)
    if stock:
        tables = tables.outerjoin(_I, _I.c.reservation_id == _R.c.id)
        instances |= dict.fromkeys(stock, _I.c.amount)
    if "physical:host" in types:
        hosts = sa.select(sa.func.count()).where(_A.c.reservation_id == _R.c.id)
        instances["physical:host"] = sa.func.nullif(hosts.scalar_subquery(), 0)
    count: Any = sa.case(*((_R.c.resource_type == t, i) for t, i in instances.items()))
    return (
        sa.select(sa.func.count(), sa.func.sum(_hours("flavor:slot" in types) * count))
        .select_from(tables)
        .where(_R.c.resource_type.in_(instances), count.is_not(None), _live())
    )


def _hours(with_ours: bool) -> sa.ColumnElement[int]:
    """A lease's length, or the length that an update was promised if that is more."""
    own = functions.hours_between(_L.c.start_date, _L.c.end_date)
    if not with_ours:
        return own
    promised = functions.hours_between(_W.c.claim_start, _W.c.claim_end)
    return sa.case(
        (sa.and_(_W.c.claim_end.is_not(None), promised > own), promised),
        else_=own,
    )


def _live() -> sa.ColumnElement[bool]:
    """``states.derive(...) in states.LIVE``, of a reservation that isn't over."""
    return sa.and_(
        _R.c.status != "deleted",
        sa.or_(
            _L.c.status.in_(states.LIVE_LEASES),
            sa.and_(
                _L.c.status.not_in(states.DECISIVE_LEASES),
                _R.c.status.in_(states.LIVE_RESERVATIONS),
            ),
        ),
    )


def generation(db: Session, project_id: str) -> int:
    """How often a project's quota was claimed; to be read before what the project holds."""
    query = sa.select(_P.c.generation).where(_P.c.project_id == project_id)
    return db.execute(query).scalar_one_or_none() or 0


def claim(db: Session, project_id: str, generation: int) -> None:
    """Move the generation, provided it is still the one that was read.

    :raises session.LostRace: when another claim came between.
    """
    if not generation:
        try:
            db.execute(_P.insert().values(project_id=project_id, generation=1))
        except db_exc.DBDuplicateEntry:
            raise session.LostRace from None
        return
    moved = db.execute(
        _P.update()
        .where(_P.c.project_id == project_id, _P.c.generation == generation)
        .values(generation=generation + 1)
    )
    if moved.rowcount != 1:  # type: ignore[attr-defined]
        raise session.LostRace
