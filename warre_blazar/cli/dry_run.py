"""Checks for dry runs. They find out whether the API would refuse a change, and write nothing."""

import dataclasses
import datetime
import math

from warre_blazar.cli import alternatives, time_display, wording
from warre_blazar.cli.command_names import Fields
from warre_blazar.cli.failure import Failure
from warre_blazar.client import Client, Flavor, Reservation


def booking(
    client: Client, wanted: alternatives.Wanted, app: object, now: datetime.datetime
) -> None:
    """Check whether a booking would be accepted.

    :raises Failure: the booking would be refused. The text says why, and what could be booked.
    """
    fields = Fields(app)
    flavor = client.flavors.get(wanted.flavor)
    if not flavor.active:
        raise Failure(f"{flavor.name} is closed; see {fields['flavor-list']} for others")
    if flavor.bookable is False:
        raise Failure(alternatives.no_host(flavor.name, app))
    _check_length(flavor, wanted.length)
    _check_limits(client, wanted, fields)
    start, end = (t.astimezone(datetime.UTC) for t in (wanted.start, wanted.end))
    spans = client.flavors.free_slots(
        flavor.id, start=start, end=end, count=wanted.count, affinity=wanted.affinity
    )
    # No span in the API's answer begins before the present minute. If the wanted start is the
    # present minute, and the next minute begins during the request, all spans begin after the
    # wanted start. So it is enough if a span begins at most a minute from now.
    begun = max(start, now + datetime.timedelta(minutes=1))
    if not any(span.start <= begun and end <= span.end for span in spans):
        verb = "isn't" if wanted.count == 1 else "aren't"
        reason = f"{wording.slots(wanted.count)} of {flavor.name} {verb} free then"
        raise Failure(f"{reason}. {alternatives.later(client, wanted, app)}")


@dataclasses.dataclass(frozen=True)
class Changed:
    """A reservation, and its new start, end and number of instances.

    If ``count`` is None, the number of instances stays as it is.
    """

    before: Reservation
    start: datetime.datetime
    end: datetime.datetime
    count: int | None = None

    @property
    def instance_count(self) -> int:
        """The number of instances after the change."""
        return self.count or self.before.instance_count


def change(changed: Changed) -> None:
    """Check whether a change would be accepted. Slots, hosts and quota aren't checked.

    :raises Failure: the change would be refused.
    """
    reservation = changed.before
    start, end = (t.astimezone(datetime.UTC) for t in (changed.start, changed.end))
    if reservation.status in ("COMPLETE", "ERROR"):
        raise Failure(
            f"Reservation {reservation.id} is {reservation.status}; it can no longer be changed"
        )
    if reservation.status == "ACTIVE" and start != reservation.start:
        raise Failure(f"Reservation {reservation.id} has begun, so its start can't change")
    if reservation.status == "ACTIVE" and changed.instance_count > reservation.instance_count:
        raise Failure(f"Reservation {reservation.id} has begun, so it can't have more instances")
    _check_length(reservation.flavor, end - start)


def window(
    client: Client,
    flavor_ids: list[str],
    start: datetime.datetime,
    end: datetime.datetime,
    where: datetime.tzinfo,
) -> None:
    """Check that none of the flavors is booked from ``start`` to ``end``.

    :raises Failure: one of the flavors is booked.
    """
    for flavor_id in flavor_ids:
        for booked in client.reservations.list(all_projects=True, flavor_id=flavor_id):
            if booked.status != "COMPLETE" and booked.start < end and start < booked.end:
                raise Failure(
                    f"{booked.flavor.name} is booked then, by reservation {booked.id} of project "
                    f"{booked.project_id}, {time_display.period(booked.start, booked.end, where)}"
                )


def _check_length(flavor: Flavor, lasting: datetime.timedelta) -> None:
    most = flavor.max_length_hours
    if lasting > datetime.timedelta(hours=most):
        raise Failure(
            f"{time_display.length(lasting)} are too long; {flavor.name} can be booked for at most "
            f"{most} hours at a time, unless the operator has exempted you"
        )


def _check_limits(client: Client, wanted: alternatives.Wanted, fields: Fields) -> None:
    limits = client.limits.get()
    # As in the API, the length of a reservation is rounded up to whole hours.
    hours = wanted.count * math.ceil(wanted.length.total_seconds() / 3600)
    too_many = 0 <= limits.max_reservations < limits.total_reservations_used + 1
    if too_many or 0 <= limits.max_hours < limits.total_hours_used + hours:
        raise Failure(
            f"That is more than your project may book; see {fields['limits-show']}, and delete a "
            "reservation or ask the operator for more"
        )
