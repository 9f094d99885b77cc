"""Writes down which requests the manager has refused, whoever has refused them and on every path.

What the API refuses before it calls the manager is written down there. So each refused request is
written down once.
"""

import datetime
import functools
from collections.abc import Callable, Mapping
from typing import Any

from blazar.manager import service
from oslo_log import log as logging
from oslo_utils import timeutils

from warre_blazar.db import session
from warre_blazar.db.booking import reservations
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.records.refusals import Asked, counted_code
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import blazar_errors
from warre_blazar.plugins.wrapping import wrap
from warre_blazar.services.records import refusals
from warre_blazar.site_rules import conditions

LOG = logging.getLogger(__name__)

_FORMAT = "%Y-%m-%d %H:%M"
_Method = Callable[..., Any]


def register() -> None:
    """Write down what the manager of this process refuses."""
    wrap(
        __name__,
        service.ManagerService,
        create_lease=functools.partial(_recording, _of_creation),
        update_lease=functools.partial(_recording, _of_update),
    )


def _recording(asked: Callable[..., Asked | None], method: _Method) -> _Method:
    """Wrap a method of the manager. Blazar passes all arguments by name.

    :param asked: returns what was asked for, from the arguments.
    """

    def call(self: Any, **arguments: Any) -> Any:
        # Blazar changes the values while it works.
        copied = {name: _copied(value) for name, value in arguments.items()}
        try:
            return method(self, **arguments)
        except Exception as error:
            code = counted_code(blazar_errors.code_of(error) or "")
            if code:
                _write(code, functools.partial(asked, **copied))
            raise

    return call


def _write(code: str, asked: Callable[[], Asked | None]) -> None:
    """Write down a refused request. Whatever fails here, the client gets the manager's error."""
    try:
        request = asked()
    except (KeyError, TypeError, ValueError, *session.FAILURES) as error:
        LOG.warning("A request that was refused with %s isn't noted: %r", code, error)
        return
    if request:
        refusals.write(request, code, conditions.refusals_kept())


def _copied(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _of_creation(lease_values: Mapping[str, Any]) -> Asked | None:
    """What a new lease asks for; None if it isn't one of ours."""
    ours = [r for r in lease_values["reservations"] if r["resource_type"] == RESOURCE_TYPE]
    if not ours:
        return None
    caller, first = conditions.caller(), ours[0]
    span = Span(_time(lease_values["start_date"]), _time(lease_values["end_date"]))
    count = int(first["amount"])
    return Asked(caller.project_id, caller.user_id, str(first["flavor_id"]), count, span)


def _of_update(lease_id: str, values: Mapping[str, Any]) -> Asked | None:
    """What a change of a lease asks for; None if the lease isn't one of ours."""
    with session.reader() as db:
        reservation = reservations.find_by_lease(db, lease_id)
    if reservation is None:
        return None
    present = reservation.span
    return Asked(
        reservation.project_id,
        conditions.caller_id(),
        reservation.flavor_id,
        _new_count(reservation, values),
        Span(
            _time(values.get("start_date", present.start)),
            _time(values.get("end_date", present.end)),
        ),
        reservation.reservation_id,
    )


def _new_count(reservation: Reservation, values: Mapping[str, Any]) -> int:
    for change in values.get("reservations", ()):
        if change.get("id") == reservation.reservation_id and change.get("amount") is not None:
            return int(change["amount"])
    return reservation.instance_count


def _time(value: str | datetime.datetime) -> datetime.datetime:
    """A time of a lease, in any of the forms in which Blazar's manager gets it."""
    if isinstance(value, datetime.datetime):
        return value
    if value == "now":
        return timeutils.utcnow().replace(second=0, microsecond=0)
    return datetime.datetime.strptime(value, _FORMAT)
