"""Commands on reservations: what is booked."""

import argparse
import datetime
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from warre_blazar.cli import (
    arguments,
    asking,
    base,
    deleting,
    display,
    flavors,
    offers,
    progress,
    projects,
    times,
    trials,
)
from warre_blazar.cli.failures import Failure
from warre_blazar.client import Reservation, errors, lookup
from warre_blazar.client.types import Document

_SHORT = ("id", "flavor", "instance_count", "start", "end", "status")
_LONG = (
    *_SHORT,
    "status_reason",
    "affinity",
    "project",
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
            with progress.telling(self.now, self.where) as tell:
                return self.v2.reservations.wait(made.id, tell=tell)
        except KeyboardInterrupt:
            self.tell(
                f"\nNot waited for: the reservation goes on. {self.name('reservation-show')} "
                f"{made.id} tells how it is, {self.name('reservation-delete')} {made.id} gives it "
                "back."
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
        columns: tuple[str, ...] = _LONG if parsed_args.long else _SHORT
        if parsed_args.all_projects and not parsed_args.long:
            columns = (*_SHORT, "project", "project_id")
        names = {}
        if "project" in columns:
            names = projects.names(self, (reservation.project_id for reservation in found))
        return self.table(columns, (_flat(reservation, names) for reservation in found))

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
        found = self.v2.reservations.get(parsed_args.reservation)
        return self.details(_flat(found, projects.names(self, [found.project_id])))


class CreateReservation(_Reservations, base.ChangeCommand, base.ShowCommand):
    """Book instances of a flavor for a time; compute_flavor is the Nova flavor to boot them on."""

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", metavar="FLAVOR", help="ID or name of the flavor to book")
        arguments.add_start(parser, "when it starts (default: in a minute)")
        arguments.add_until(parser, "when it ends", "how long it is, instead of an end")
        arguments.add_count(parser, "how many instances")
        arguments.add_affinity(parser)
        parser.add_argument(
            "--wait", action="store_true", help="until it has begun; Ctrl-C ends only the waiting"
        )
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        wanted = self._wanted(parsed_args)
        plan = f"{display.slots(wanted.count)} of {wanted.flavor}, {wanted.period}"
        self.agree(plan, (parsed_args.start, parsed_args.end), parsed_args)
        if parsed_args.dry_run:
            trials.booking(self.v2, wanted, self.app, self.now())
            return self.would(f"book {plan}")
        try:
            made = self._book(parsed_args, wanted)
        except errors.ApiError as error:
            if error.code not in offers.CODES:
                raise
            raise Failure(offers.instead(self.v2, wanted, error, self.app)) from error
        except KeyboardInterrupt:
            self.tell(
                "\nInterrupted: it may have been booked all the same; see "
                f"{self.name('reservation-list')}."
            )
            raise SystemExit(_INTERRUPTED) from None
        if parsed_args.wait:
            made = self.wait(made)
        return self.details(_flat(made))

    def _book(self, parsed_args: argparse.Namespace, wanted: offers.Wanted) -> Reservation:
        try:
            return self._create(wanted)
        except errors.ApiError as error:
            if parsed_args.start != "now" or error.code != "invalid_period":
                raise
        # The minute of now passed on the way.
        return self._create(self._wanted(parsed_args))

    def _create(self, wanted: offers.Wanted) -> Reservation:
        return self.v2.reservations.create(
            wanted.flavor,
            start=wanted.start,
            end=wanted.end,
            count=wanted.count,
            affinity=wanted.affinity,
        )

    def _wanted(self, parsed_args: argparse.Namespace) -> offers.Wanted:
        start, end = self.times(parsed_args)
        start, end = arguments.span(
            start or _next_minute(self.now()), end, parsed_args.hours, self.where
        )
        return offers.Wanted(
            parsed_args.flavor, start, end, parsed_args.count, parsed_args.affinity, self.where
        )

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        return flavors.on_flavor(self, error, parsed_args.flavor)


class UpdateReservation(_Reservations, base.ChangeCommand, base.ShowCommand):
    """Give a reservation more time or less, before it has begun or while it runs."""

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("reservation", metavar="RESERVATION", help=_REF)
        arguments.add_until(
            parser,
            f"its new end: {arguments.TIME_HELP}",
            "its new length from its start, instead of an end",
        )
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        _, end = self.times(parsed_args)
        asked = end is not None and not times.is_exact(parsed_args.end)
        if not (asked or parsed_args.dry_run or end is None):
            return self._change(parsed_args.reservation, end)
        found = self.v2.reservations.get(parsed_args.reservation)
        _, end = arguments.span(found.start, end, parsed_args.hours, self.where)
        zone = end.tzinfo if asked and end.tzinfo else self.where
        plan = f"{_told(found)}, {display.period(found.start, end, zone)}"
        self.agree(plan, (parsed_args.end,), parsed_args)
        if parsed_args.dry_run:
            trials.change(found, end, self.where)
            return self.would(f"change {plan}; whether there is room is known when it is done")
        return self._change(found.id, end)

    def _change(self, ref: str, end: datetime.datetime | None) -> tuple[Any, Any]:
        assert end is not None
        return self.details(_flat(self.v2.reservations.update(ref, end=end)))


class DeleteReservation(_Reservations, base.DeleteCommand):
    """Delete reservations, with the servers on them; on a terminal, that is asked about first."""

    asks = True
    refs = "ID, its beginning, or the flavor's name if only one is booked,"

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> bool:
        if not parsed_args.yes and asking.on_terminal():
            found = self.v2.reservations.get(ref)
            deleting.ask(self.v2.transport.session, found, self._what(found))
            ref = found.id
        return self.v2.reservations.delete(ref)

    def describe(self, ref: str) -> str:
        found = self.v2.reservations.get(ref)
        servers = deleting.running(self.v2.transport.session, found)
        return self._what(found) + (f". {servers} would go with it" if servers else "")

    def _what(self, found: Reservation) -> str:
        when = display.period(found.start, found.end, self.where)
        return f"{_told(found)}, {when}, {found.status}"


def _told(found: Reservation) -> str:
    return f"reservation {found.id}, {display.slots(found.instance_count)} of {found.flavor.name}"


def _next_minute(now: datetime.datetime) -> datetime.datetime:
    """The API takes whole minutes, and refuses those that have passed when it looks."""
    return now.replace(second=0, microsecond=0) + datetime.timedelta(minutes=1)


def _flat(item: Reservation, project_names: Mapping[str, str] = MappingProxyType({})) -> Document:
    """A reservation with names beside ids: its flavor's, and its project's if that is known."""
    flat: Document = {}
    for name, value in item.document.items():
        if name == "flavor":
            flat |= {"flavor": value["name"], "flavor_id": value["id"]}
        elif name == "project_id" and value in project_names:
            flat |= {"project": project_names[value], "project_id": value}
        else:
            flat[name] = value
    return flat
