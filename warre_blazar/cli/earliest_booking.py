"""Books the earliest offer, or the next one if somebody else is faster."""

import argparse
from collections.abc import Callable

from warre_blazar.cli import alternatives, arguments, base, flavor_choice, offers, wording
from warre_blazar.cli.alternatives import WantedBooking
from warre_blazar.cli.failure import Failure
from warre_blazar.client import Offer, Reservation, errors
from warre_blazar.client.types import Document

#: The codes of errors after which the next offer is tried.
_TAKEN = alternatives.CODES | {"invalid_period", "too_long"}
#: How many offers are tried.
_MOST_TRIES = 10


def search(command: base.Command, parsed_args: argparse.Namespace) -> list[Offer]:
    """Return the offers for what the user wants, the earliest start first.

    :raises Failure: there are none. The text says why for each flavor.
    """
    start, _ = command.times(parsed_args)
    command.tell_time("From", parsed_args.start, start)
    found, missing = offers.earliest(command.v2, parsed_args, start)
    if parsed_args.category and not (found or missing):
        flavor_choice.choose(command, parsed_args.category)
    if not found:
        reasons = [offers.why(each, command) for each in missing]
        raise Failure("\n".join(["Nothing can be booked like that", *reasons]))
    return found


def planned(
    command: base.Command, parsed_args: argparse.Namespace, offer: Offer
) -> tuple[WantedBooking, str]:
    """Return the booking of an offer, and a text that describes it."""
    length = parsed_args.hours
    start = offers.next_start(offer, length, command.now()).astimezone(command.where)
    arguments.check_days(start, length, command.where)
    start, end = arguments.span(start, None, length, command.where)
    count, affinity = parsed_args.count, parsed_args.affinity
    wanted = WantedBooking(offer.flavor.id, start, end, count, affinity, command.where)
    return wanted, f"{wording.slots(count)} of {offer.flavor.name}, {wanted.period}"


def fields(wanted: WantedBooking, flavor: str) -> Document:
    """Return the fields of a booking that would be made.

    :param flavor: the name of the flavor.
    """
    return {
        "flavor": flavor,
        "flavor_id": wanted.flavor,
        "start": wanted.start.isoformat(),
        "end": wanted.end.isoformat(),
        "instance_count": wanted.count,
        "affinity": wanted.affinity,
    }


def book(
    command: base.ChangeCommand,
    parsed_args: argparse.Namespace,
    found: list[Offer],
    create: Callable[[WantedBooking], Reservation],
) -> Reservation:
    """Book the first offer that nobody else books before. Each one is shown and confirmed.

    :param create: sends the booking.
    :raises Failure: the user doesn't confirm, or others were faster each time.
    """
    refused: errors.ApiError | None = None
    for offer in found[:_MOST_TRIES]:
        wanted, plan = planned(command, parsed_args, offer)
        if refused:
            command.tell(f"Somebody else was faster. {alternatives.why(refused)}. Next:")
        command.confirm_times(plan, (), parsed_args, otherwise="Nothing booked", derived=True)
        try:
            return _in_time(command, parsed_args, offer, wanted, create)
        except errors.ApiError as error:
            if error.code not in _TAKEN:
                raise
            refused = error
    assert refused is not None
    raise Failure(f"Others were faster each time. {alternatives.why(refused)}; try again")


def _in_time(
    command: base.Command,
    parsed_args: argparse.Namespace,
    offer: Offer,
    wanted: WantedBooking,
    create: Callable[[WantedBooking], Reservation],
) -> Reservation:
    """Book an offer. If the start has passed meanwhile, book the same offer a little later.

    :param wanted: the booking of the offer, as the user has confirmed it.
    """
    try:
        return create(wanted)
    except errors.ApiError as error:
        if error.code != "invalid_period":
            raise
    later, plan = planned(command, parsed_args, offer)
    made = create(later)
    command.tell(f"The start has passed. Booked instead: {plan}")
    return made
