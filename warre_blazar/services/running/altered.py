"""Makes anew what somebody has deleted or changed in Nova of a running reservation.

Without its Nova flavor, or without its hosts in its aggregate, a reservation is ACTIVE, but Nova
boots no server on it.
"""

from collections.abc import Sequence

from oslo_log import log as logging
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import texts
from warre_blazar.db import session, tables, turns
from warre_blazar.db.booking import reservations
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running import backings
from warre_blazar.domain.audit import cloud_side
from warre_blazar.domain.running.backing import Note
from warre_blazar.domain.running.wanted import (
    Backing,
    Do,
    HostUse,
    Step,
    in_nova,
    tolerated,
)
from warre_blazar.openstack import nova

LOG = logging.getLogger(__name__)

_TURN = "altered"
#: The steps that are made good when a backing is made and opened anew.
_MENDED = (Do.MAKE_FLAVOR, Do.SET_SPECS, Do.MAKE_AGGREGATE, Do.SET_METADATA, Do.ADD_HOSTS)


def look(manager_id: str) -> None:
    """See that Nova has the flavor and the aggregate of each running reservation.

    If something is missing, ``backing.reconcile`` makes it and opens the reservation anew. Until
    then, the reservation's status_reason says what it is. What is too much may have been meant, and
    stays. One manager at a time looks. This takes two requests, however many reservations run; none
    without a running reservation.

    :raises ServiceUnavailable, ServiceRefused: the next call looks again.
    """
    with session.reader() as db:
        notes = backings.opened(db, timeutils.utcnow())
        places = allocations.host_uses(db, backings.is_open(tables.allocations.c.reservation_id))
    if not notes or not session.change(turns.take, _TURN, manager_id):
        return
    listed = nova.flavors_of_reservations(with_projects=False)
    flavors = {each.reservation_id: each for each in listed}
    aggregates = {each.name: each for each in nova.aggregates()}
    for reservation_id, note in notes.items():
        seen = Backing(flavors.get(reservation_id), aggregates.get(reservation_id))
        its_places = places.get(reservation_id, [])
        missing = _missing(seen, note, its_places)
        if not missing:
            continue
        said = f"reservation {reservation_id} {', and '.join(map(cloud_side.lack, missing))}"
        reason = texts.refusals.PUT_BACK(said=said)
        if session.change(_make_again, note, its_places, reason):
            LOG.warning("Somebody has changed Nova: %s. It is being put back", said)


def _make_again(db: Session, note: Note, places: Sequence[HostUse], reason: str) -> bool:
    """Let a reservation be opened anew, unless it has changed or moved since it was read."""
    reservation_id = note.reservation_id
    same = backings.get(db, reservation_id) == note
    if not same or set(allocations.hosts_of(db, reservation_id)) != set(places):
        return False
    reservations.set_reason(db, reservation_id, reason)
    return backings.make_again(db, reservation_id)


def _missing(seen: Backing, note: Note, places: Sequence[HostUse]) -> list[Step]:
    # Nova takes a host out of its aggregates when its compute service is deleted.
    working = [host for host in places if host.reservable]
    todo = in_nova(seen, tolerated(note, working, is_running=True))
    return [step for step in todo if step.do in _MENDED]
