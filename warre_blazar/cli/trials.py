"""What a dry run looks at: whether the API would refuse, as far as it says without doing it."""

import datetime
import math

from warre_blazar.cli import display, offers
from warre_blazar.cli.failures import Failure
from warre_blazar.cli.names import Fields
from warre_blazar.client import Client, Flavor, Reservation


def booking(client: Client, wanted: offers.Wanted, app: object, now: datetime.datetime) -> None:
    """Look whether instances could be booked.

    :raises Failure: they couldn't; the text says why, and what could be.
    """
    fields = Fields(app)
    flavor = client.flavors.get(wanted.flavor)
    if not flavor.active:
        raise Failure(f"{flavor.name} is closed; see {fields['flavor-list']} for others")
    _length(flavor, wanted.length)
    _limits(client, wanted, fields)
    start, end = (t.astimezone(datetime.UTC) for t in (wanted.start, wanted.end))
    spans = client.flavors.free_slots(
        flavor.id, start=start, end=end, count=wanted.count, affinity=wanted.affinity
    )
    # The present minute may have passed when the API looks.
    begun = max(start, now + datetime.timedelta(minutes=1))
    if not any(span.start <= begun and end <= span.end for span in spans):
        said = f"{display.slots(wanted.count)} of {flavor.name} aren't free then"
        raise Failure(f"{said}. {offers.later(client, wanted, app)}")


def change(found: Reservation, end: datetime.datetime, where: datetime.tzinfo) -> None:
    """Look whether a reservation could end then; room isn't looked at.

    :raises Failure: it couldn't.
    """
    if found.status in ("COMPLETE", "ERROR"):
        raise Failure(f"Reservation {found.id} is {found.status}; it can't be changed any more")
    if end <= found.start:
        raise Failure(f"{display.brief(end, where)} isn't after the reservation's start")
    _length(found.flavor, end.astimezone(datetime.UTC) - found.start)


def window(
    client: Client,
    flavor_ids: list[str],
    start: datetime.datetime,
    end: datetime.datetime,
    where: datetime.tzinfo,
) -> None:
    """Look whether flavors are booked in a time for which they are to be closed.

    :raises Failure: one is.
    """
    for flavor_id in flavor_ids:
        for found in client.reservations.list(all_projects=True, flavor_id=flavor_id):
            if found.status != "COMPLETE" and found.start < end and start < found.end:
                raise Failure(
                    f"{found.flavor.name} is booked then, by reservation {found.id} of project "
                    f"{found.project_id}, {display.period(found.start, found.end, where)}"
                )


def _length(flavor: Flavor, lasting: datetime.timedelta) -> None:
    most = flavor.max_length_hours
    if lasting > datetime.timedelta(hours=most):
        raise Failure(
            f"{display.length(lasting)} are too long; {flavor.name} can be booked for {most} hours "
            "at a time, unless the operator has exempted you"
        )


def _limits(client: Client, wanted: offers.Wanted, fields: Fields) -> None:
    limits = client.limits.get()
    # As the API counts them: a started hour whole.
    hours = wanted.count * math.ceil(wanted.length.total_seconds() / 3600)
    over = 0 <= limits.max_reservations < limits.total_reservations_used + 1
    if over or 0 <= limits.max_hours < limits.total_hours_used + hours:
        raise Failure(
            f"That is more than your project may book; see {fields['limits-show']}, and delete a "
            "reservation or ask the operator for more"
        )
