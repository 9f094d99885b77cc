"""What is and what was booked of a flavor, for operators."""

import sqlalchemy as sa
from blazar.db.sqlalchemy import models as blazar
from sqlalchemy.orm import Session

from warre_blazar.db import models, reservations
from warre_blazar.domain.timeline import Claim, Span

_W = models.reservations
_R = blazar.Reservation.__table__
_L = blazar.Lease.__table__
_A = blazar.ComputeHostAllocation.__table__


def booked(db: Session, flavor_id: str, window: Span) -> list[Claim]:
    """Instances of a flavor that are, or were, booked at some time of the window.

    Those that are over have no claim on anything; Blazar keeps their leases until these are
    deleted.
    """
    held = sa.exists().where(_A.c.reservation_id == _R.c.id)
    over = (
        sa.select(_L.c.start_date, _L.c.end_date, _W.c.instance_count)
        .select_from(_W.join(_R, _R.c.id == _W.c.reservation_id).join(_L, _L.c.id == _R.c.lease_id))
        .where(
            _W.c.flavor_id == flavor_id,
            _R.c.status == "deleted",
            ~held,
            _L.c.start_date < window.end,
            _L.c.end_date > window.start,
        )
    )
    past = [Claim(Span(start, end), count) for start, end, count in db.execute(over)]
    return past + reservations.slot_claims(db, flavor_id, window)
