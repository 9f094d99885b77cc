"""Commands about many flavors: when they can be booked, and how many are free."""

import argparse
import datetime
from collections.abc import Iterable
from typing import Any

from warre_blazar import texts
from warre_blazar.cli import (
    arguments,
    base,
    flavor_choice,
    time_display,
    wording,
)
from warre_blazar.client import Client, Missing, Offer

#: How many offers to ask for. Sizes are compared here, so no offer may be left out before that.
_ALL = 2**31 - 1


class _ListOfFlavors(base.ListCommand):
    """Lists something about many flavors."""

    def _tell_why(self, found: Iterable[Missing], parsed_args: argparse.Namespace) -> None:
        """Print why some flavors are missing."""
        for missing in found:
            if flavor_choice.is_chosen(missing.flavor, parsed_args):
                self.tell(why(missing, self))
                self.nothing = ""


class ListOffers(_ListOfFlavors):
    """List when flavors can be booked, and for how long, the earliest start first.

    For each flavor, the command says how long it can be had at most, and from when. For each flavor
    that can't be booked as asked, it says why, and what could be booked with fewer instances or
    hours.
    """

    noun = "offer"
    nouns = "offers"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        arguments.add_start(parser, "the earliest start (default: now)")
        arguments.add_end(
            parser, f"the latest end (default: 90 days after the start): {arguments.time_help()}"
        )
        arguments.add_length(parser, "length of the booking (default: 1 hour)")
        arguments.add_count(parser, "number of instances")
        arguments.add_affinity(parser)
        flavor_choice.add_named(parser)
        flavor_choice.add_properties(parser)
        parser.add_argument(
            "--limit",
            metavar="N",
            type=arguments.count,
            default=20,
            help="the largest number of offers to list (default: 20)",
        )
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        start, end = self.times(parsed_args, self.now())
        self.tell_time("From", parsed_args.start, start)
        self.tell_time("Until", parsed_args.end, end)
        flavor_choice.check(self, parsed_args)
        found = self.v2.offers.list(
            start=start,
            end=end,
            length=parsed_args.hours,
            count=parsed_args.count,
            affinity=parsed_args.affinity,
            limit=_ALL,
            **flavor_choice.query(parsed_args),
        )
        flavor_choice.check_found(self, parsed_args, [*found.offers, *found.missing])
        offers = [o for o in found.offers if flavor_choice.is_chosen(o.flavor, parsed_args)]
        self._tell_why(found.missing, parsed_args)
        for offer in found.longest:
            if flavor_choice.is_chosen(offer.flavor, parsed_args):
                self.tell(_longest(offer, self))
        names = ("flavor", "start", "latest_end", "longest_hours")
        rows = [
            {
                "flavor": offer.flavor.name,
                "start": offer.start.isoformat(),
                "latest_end": offer.latest_end.isoformat(),
                "longest_hours": _hours(offer),
            }
            for offer in offers[: parsed_args.limit]
        ]
        return self.table(names, rows)


class ListAvailability(_ListOfFlavors):
    """Show by day or hour how many instances of flavors are free."""

    noun = "flavor"
    nouns = "flavors"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        arguments.add_start(
            parser, "the start of the first day or hour (default: the present day, or now)"
        )
        arguments.add_end(
            parser, f"the end (default: 14 days after the start): {arguments.time_help()}"
        )
        parser.add_argument(
            "--by",
            choices=("day", "hour"),
            default="day",
            help="count by day or by hour (default: day); days and hours begin at the start",
        )
        arguments.add_count(parser, "only flavors of which so many are ever free")
        flavor_choice.add_named(parser)
        flavor_choice.add_properties(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        start, end = self.times(parsed_args, self.now())
        self.tell_time("From", parsed_args.start, start)
        self.tell_time("Until", parsed_args.end, end)
        if start is None and parsed_args.by == "day":
            # The API leaves out what has passed of the day.
            today = datetime.datetime.combine(self.now().astimezone(self.where), datetime.time())
            start = today.replace(tzinfo=self.where)
        flavor_choice.check(self, parsed_args)
        found = self.v2.offers.availability(
            start=start,
            end=end,
            by=parsed_args.by,
            count=parsed_args.count,
            **flavor_choice.query(parsed_args),
        )
        flavor_choice.check_found(self, parsed_args, [*found.flavors, *found.missing])
        self._tell_why(found.missing, parsed_args)
        rows = [
            {
                "flavor": each.flavor.name,
                "start": part.span.start.isoformat(),
                "end": part.span.end.isoformat(),
                "free": part.instances,
            }
            for each in found.flavors
            if flavor_choice.is_chosen(each.flavor, parsed_args)
            for part in each.free
        ]
        return self.table(("flavor", "start", "end", "free"), rows)


def why(missing: Missing, command: base.Command) -> str:
    """Return a line that says why a flavor has no offer, and what could be booked instead."""
    ways = [
        way
        for way in (
            _way(missing.fewer_instances, command, wording.slots),
            _way(missing.fewer_hours, command),
        )
        if way
    ]
    text = none_of(missing.flavor.name, missing.reason)
    return f"{text}. Possible: {'; '.join(ways)}" if ways else text


def none_of(flavor: str, code: str) -> str:
    """Return a clause that says why nothing of a flavor can be booked."""
    why = texts.BRIEF.get(code)
    return f"No {flavor}: {why.sentence({}) if why else code}"


def _longest(offer: Offer, command: base.Command) -> str:
    """Return a line with the longest booking of a flavor in the time that was searched."""
    start = time_display.brief(offer.start, command.where)
    much = f"{wording.slots(offer.instance_count)} for up to {_hours(offer):g} h"
    return f"Longest of {offer.flavor.name}: {much} from {start}"


def _way(offer: Offer | None, command: base.Command, count: Any = None) -> str:
    if offer is None:
        return ""
    much = count(offer.instance_count) if count else f"up to {_hours(offer):g} h"
    return f"{much} from {time_display.brief(offer.start, command.where)}"


def _hours(offer: Offer) -> float:
    """Return the longest length of an offer, as a number that ``--hours`` accepts."""
    return time_display.hours(datetime.timedelta(hours=offer.longest_hours))


def next_start(
    offer: Offer, length: datetime.timedelta, now: datetime.datetime
) -> datetime.datetime:
    """The start at which an offer can be booked for some length.

    It isn't before the next minute, because the present minute may end before a request. But if the
    booking would then end after the offer's latest end, it may start in the present minute.
    """
    minute = now.replace(second=0, microsecond=0)
    start = max(offer.start, minute + datetime.timedelta(minutes=1))
    # An offer that ends as far ahead as can be booked now gets longer with each minute.
    return start if start + length <= offer.latest_end else max(offer.start, minute)


def earliest(
    client: Client, parsed_args: argparse.Namespace, start: datetime.datetime | None
) -> tuple[list[Offer], list[Missing]]:
    """The offers for a booking, the earliest start first, and the flavors that have none.

    :param start: the earliest start. None: now.
    """
    found = client.offers.list(
        start=start,
        length=parsed_args.hours,
        count=parsed_args.count,
        affinity=parsed_args.affinity,
        limit=_ALL,
        **flavor_choice.query(parsed_args),
    )
    offers = [each for each in found.offers if flavor_choice.is_chosen(each.flavor, parsed_args)]
    return offers, [m for m in found.missing if flavor_choice.is_chosen(m.flavor, parsed_args)]
