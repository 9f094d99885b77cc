"""Finds out how far a reservation can be extended, and what stops it."""

import argparse
import datetime

from warre_blazar import texts
from warre_blazar.cli import base, time_display
from warre_blazar.cli.failure import Failure, WrongOptions


def find(command: base.Command, parsed_args: argparse.Namespace) -> datetime.datetime:
    """Return the latest end that the reservation can get.

    :raises Failure: the reservation can't be extended now.
    """
    if parsed_args.start or parsed_args.end or parsed_args.hours or parsed_args.count:
        raise WrongOptions("--longest says the new end; leave out other times and --count")
    before = command.v2.reservations.get(parsed_args.reservation)
    found = command.v2.reservations.extension(before.id)
    stops = texts.BRIEF.get(found.stopped_by or "")
    stop = stops.template if stops else found.stopped_by
    if found.latest_end <= before.end:
        wait = found.extend_from
        later = f"; try again from {time_display.brief(wait, command.where)} on" if wait else ""
        raise Failure(f"The reservation can't be extended: {stop}{later}")
    until = time_display.brief(found.latest_end, command.where)
    command.tell(f"Longest: until {until}" + (f", because {stop}" if stop else ""))
    return found.latest_end
