"""Counts what managers still have to do, and couldn't do any more without this package's tables."""

import dataclasses
from typing import Any

import sqlalchemy as sa

from warre_blazar.db.tables import backings, leases, reservations, series, waits
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.running.backing_phases import Phase
from warre_blazar.domain.running.lease_states import TERMINATED
from warre_blazar.domain.series.series import SeriesStatus
from warre_blazar.domain.waits import OPEN


@dataclasses.dataclass(frozen=True)
class _Kind:
    noun: str
    table: sa.Table
    condition: sa.ColumnElement[bool]


#: Blazar's plugins remove what is made for their own reservations. The exact plugins note it too.
_THEIRS = sa.select(reservations.c.id).where(
    reservations.c.resource_type != RESOURCE_TYPE, reservations.c.status != "deleted"
)
_OVER = sa.select(leases.c.id).where(leases.c.status == TERMINATED)
_KINDS = (
    _Kind(
        "reservations",
        reservations,
        sa.and_(
            reservations.c.resource_type == RESOURCE_TYPE, reservations.c.lease_id.not_in(_OVER)
        ),
    ),
    _Kind(
        "reservations that have something in Nova or Placement",
        backings,
        sa.and_(backings.c.phase != Phase.PLANNED, backings.c.reservation_id.not_in(_THEIRS)),
    ),
    _Kind("series", series, series.c.status != SeriesStatus.ENDED.value),
    _Kind("waits", waits, waits.c.state.in_(OPEN)),
)


def counts(db: sa.Connection) -> dict[str, int]:
    """How many there are of each kind of which there are any.

    A downgrade that was interrupted may have dropped some of the tables.
    """
    names = set(sa.inspect(db).get_table_names())
    found: dict[str, Any] = {
        kind.noun: db.scalar(
            sa.select(sa.func.count()).select_from(kind.table).where(kind.condition)
        )
        for kind in _KINDS
        if kind.table.name in names
    }
    return {noun: number for noun, number in found.items() if number}
