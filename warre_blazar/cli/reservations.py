"""Commands on reservations: what is booked."""

import argparse
import datetime
from typing import Any

from oslo_utils import uuidutils

from warre_blazar.cli import arguments, base
from warre_blazar.cli.client import Document, V2Client

_SHORT = ("id", "flavor", "instance_count", "start", "end", "status")
_LONG = (
    *_SHORT,
    "status_reason",
    "project_id",
    "user_id",
    "flavor_id",
    "compute_flavor",
    "lease_id",
    "created_at",
)


class _Reservations(base.Command):
    noun = "reservation"
    nouns = "reservations"


class ListReservations(_Reservations, base.ListCommand):
    """List reservations of flavors, those of your project unless you ask for more."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        whose = parser.add_mutually_exclusive_group()
        whose.add_argument(
            "--all-projects", action="store_true", help="those of all projects (admin only)"
        )
        whose.add_argument(
            "--project", metavar="PROJECT_ID", help="those of this project (admin only)"
        )
        parser.add_argument("--flavor", metavar="FLAVOR", help="only of this flavor (ID or name)")
        parser.add_argument("--long", action="store_true", help="all columns")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        v2 = self.v2()
        query = {}
        columns: tuple[str, ...] = _SHORT
        if parsed_args.all_projects:
            query["all_projects"] = "true"
            columns = (*_SHORT, "project_id")
        if parsed_args.project is not None:
            query["project_id"] = parsed_args.project
        if parsed_args.flavor is not None:
            query["flavor_id"] = _flavor_id(v2, parsed_args.flavor)
        found = [_flat(item) for item in v2.list(self.nouns, query)]
        return self.table(_LONG if parsed_args.long else columns, found)


class ShowReservation(_Reservations, base.ShowCommand):
    """Show a reservation; compute_flavor is the Nova flavor to boot its instances on."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("reservation", metavar="RESERVATION", help="ID of the reservation")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        return self.details(_flat(self.v2().get(self.nouns, parsed_args.reservation)))


class CreateReservation(_Reservations, base.ShowCommand):
    """Book instances of a flavor for a time; compute_flavor is the Nova flavor to boot them on."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", metavar="FLAVOR", help="ID or name of the flavor to book")
        parser.add_argument(
            "--start-date",
            "--start",
            dest="start",
            metavar="TIME",
            type=arguments.time,
            help=f"when it starts (default: in a minute); {arguments.TIME_HELP}",
        )
        until = parser.add_mutually_exclusive_group(required=True)
        until.add_argument(
            # The blazar CLI keeps an --end for itself: what works in both comes first.
            "--end-date",
            "--end",
            dest="end",
            metavar="TIME",
            type=arguments.time,
            help="when it ends",
        )
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
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        start = parsed_args.start or _next_minute(datetime.datetime.now(datetime.UTC))
        end = parsed_args.end or start + datetime.timedelta(hours=parsed_args.hours)
        values = {
            "flavor_id": parsed_args.flavor,
            "start": start.isoformat(),
            "end": end.isoformat(),
            "instance_count": parsed_args.count,
        }
        return self.details(_flat(self.v2().create(self.nouns, values)))


class DeleteReservation(_Reservations, base.DeleteCommand):
    """Delete reservations, with the servers on them."""


def _next_minute(now: datetime.datetime) -> datetime.datetime:
    """The API takes whole minutes, and refuses those that have passed when it looks."""
    return now.replace(second=0, microsecond=0) + datetime.timedelta(minutes=1)


def _flavor_id(v2: V2Client, ref: str) -> str:
    """Ids as they are: the history names flavors that are deleted."""
    return ref if uuidutils.is_uuid_like(ref) else v2.get("flavors", ref)["id"]


def _flat(item: Document) -> Document:
    """A reservation with its flavor's name and id in place of the flavor."""
    flat: Document = {}
    for name, value in item.items():
        if name == "flavor":
            flat |= {"flavor": value["name"], "flavor_id": value["id"]}
        else:
            flat[name] = value
    return flat
