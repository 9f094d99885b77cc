"""Commands on reservations: what is booked."""

import argparse
import datetime
import functools
from typing import Any

from warre_blazar.cli import arguments, base, deleting, flavors, offers, progress, projects, times
from warre_blazar.cli.failures import Failure
from warre_blazar.client import Reservation, errors, lookup
from warre_blazar.client.types import Document

_SHORT = ("id", "flavor", "instance_count", "start", "end", "status")
_LONG = (
    *_SHORT,
    "status_reason",
    "affinity",
    "project_id",
    "user_id",
    "flavor_id",
    "compute_flavor",
    "lease_id",
    "created_at",
)
_REF = "ID of the reservation, its beginning, or its flavor's name if only one is booked"
#: As shells say it of a program that was interrupted.
_INTERRUPTED = 130


class _Reservations(base.Command):
    noun = "reservation"
    nouns = "reservations"

    def wait(self, made: Reservation) -> Reservation:
        """Wait until it is ACTIVE, and tell how that goes; the reservation survives a Ctrl-C."""
        try:
            with progress.telling(self.now) as tell:
                return self.v2.reservations.wait(made.id, tell=tell)
        except KeyboardInterrupt:
            self.tell(
                f"\nNot waited for: the reservation goes on. reservation-show {made.id} tells how "
                f"it is, reservation-delete {made.id} gives it back."
            )
            raise SystemExit(_INTERRUPTED) from None


class ListReservations(_Reservations, base.ListCommand):
    """List reservations of flavors, those of your project unless you ask for more."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        whose = parser.add_mutually_exclusive_group()
        whose.add_argument(
            "--all-projects", action="store_true", help="those of all projects (admin only)"
        )
        whose.add_argument(
            "--project", metavar="PROJECT", help="those of this project (ID or name; admin only)"
        )
        parser.add_argument("--flavor", metavar="FLAVOR", help="only of this flavor (ID or name)")
        parser.add_argument("--long", action="store_true", help="all columns")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        project = flavor = None
        if parsed_args.project is not None:
            project = projects.identity(self, parsed_args.project)
        if parsed_args.flavor is not None:
            flavor = self._flavor_id(parsed_args.flavor)
        found = self.v2.reservations.list(
            all_projects=parsed_args.all_projects, project_id=project, flavor_id=flavor
        )
        columns = (*_SHORT, "project_id") if parsed_args.all_projects else _SHORT
        return self.table(_LONG if parsed_args.long else columns, map(_flat, found))

    def _flavor_id(self, ref: str) -> str:
        """Ids as they are: the history names flavors that are deleted."""
        return ref if lookup.is_id(ref) else self.v2.flavors.get(ref).id

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        if parsed_args.flavor is None:
            return super().advice(error, parsed_args)
        return flavors.on_flavor(self, error, parsed_args.flavor)


class ShowReservation(_Reservations, base.ShowCommand):
    """Show a reservation; compute_flavor is the Nova flavor to boot its instances on."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("reservation", metavar="RESERVATION", help=_REF)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        return self.details(_flat(self.v2.reservations.get(parsed_args.reservation)))


class CreateReservation(_Reservations, base.ShowCommand):
    """Book instances of a flavor for a time; compute_flavor is the Nova flavor to boot them on."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", metavar="FLAVOR", help="ID or name of the flavor to book")
        arguments.add_start(parser, "when it starts (default: in a minute)")
        until = parser.add_mutually_exclusive_group(required=True)
        arguments.add_end(until, "when it ends")
        until.add_argument(
            "--hours", metavar="N", type=arguments.count, help="how long it is, instead of an end"
        )
        parser.add_argument(
            "--count",
            metavar="N",
            type=arguments.count,
            default=1,
            help="how many instances (default: 1)",
        )
        arguments.add_affinity(parser)
        parser.add_argument(
            "--wait", action="store_true", help="until it has begun; Ctrl-C ends only the waiting"
        )
        arguments.add_timezone(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        # Looked at first: what is wrong in it would be found too late.
        times.zone(parsed_args.timezone)
        start, end = self._period(parsed_args)
        try:
            made = self._book(parsed_args, start, end)
        except errors.ApiError as error:
            if error.code not in offers.CODES:
                raise
            wanted = offers.Wanted(
                parsed_args.flavor, start, end, parsed_args.count, parsed_args.affinity
            )
            raise Failure(offers.instead(self.v2, wanted, error)) from error
        except KeyboardInterrupt:
            self.tell("\nInterrupted: it may have been booked all the same; see reservation-list.")
            raise SystemExit(_INTERRUPTED) from None
        if parsed_args.wait:
            made = self.wait(made)
        return self.details(_flat(made))

    def _book(
        self, parsed_args: argparse.Namespace, start: datetime.datetime, end: datetime.datetime
    ) -> Reservation:
        book = functools.partial(
            self.v2.reservations.create,
            parsed_args.flavor,
            count=parsed_args.count,
            affinity=parsed_args.affinity,
        )
        try:
            return book(start=start, end=end)
        except errors.ApiError as error:
            if parsed_args.start != "now" or error.code != "invalid_period":
                raise
        # The minute of now passed on the way.
        start, end = self._period(parsed_args)
        return book(start=start, end=end)

    def _period(
        self, parsed_args: argparse.Namespace
    ) -> tuple[datetime.datetime, datetime.datetime]:
        start, end = _next_minute(self.now()), None
        if parsed_args.start is not None:
            start = self.time(parsed_args.start, parsed_args, "Start")
        if parsed_args.end is not None:
            end = self.time(parsed_args.end, parsed_args, "End")
        return arguments.span(start, end, parsed_args.hours)

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        return flavors.on_flavor(self, error, parsed_args.flavor)


class UpdateReservation(_Reservations, base.ShowCommand):
    """Give a reservation more time or less, before it has begun or while it runs."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("reservation", metavar="RESERVATION", help=_REF)
        until = parser.add_mutually_exclusive_group(required=True)
        arguments.add_end(until, f"its new end: {arguments.TIME_HELP}")
        until.add_argument(
            "--hours",
            metavar="N",
            type=arguments.count,
            help="its new length from its start, instead of an end",
        )
        arguments.add_timezone(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        ref = parsed_args.reservation
        if parsed_args.end is not None:
            end = self.time(parsed_args.end, parsed_args, "End")
        else:
            found = self.v2.reservations.get(ref)
            ref = found.id
            _, end = arguments.span(found.start, None, parsed_args.hours)
        return self.details(_flat(self.v2.reservations.update(ref, end=end)))


class DeleteReservation(_Reservations, base.DeleteCommand):
    """Delete reservations, with the servers on them."""

    refs = "ID, its beginning, or the flavor's name if only one is booked,"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--yes",
            action="store_true",
            help="don't ask, on a terminal, before servers are deleted",
        )
        return parser

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> bool:
        if not parsed_args.yes and deleting.on_terminal():
            found = self.v2.reservations.get(ref)
            deleting.ask(self.v2.transport.session, found)
            ref = found.id
        return self.v2.reservations.delete(ref)


def _next_minute(now: datetime.datetime) -> datetime.datetime:
    """The API takes whole minutes, and refuses those that have passed when it looks."""
    return now.replace(second=0, microsecond=0) + datetime.timedelta(minutes=1)


def _flat(item: Reservation) -> Document:
    """A reservation with its flavor's name and id in place of the flavor."""
    flat: Document = {}
    for name, value in item.document.items():
        if name == "flavor":
            flat |= {"flavor": value["name"], "flavor_id": value["id"]}
        else:
            flat[name] = value
    return flat
