"""Commands on maintenance windows: when flavors can't be booked."""

import argparse
from typing import Any

from warre_blazar.cli import arguments, base, flavors
from warre_blazar.cli.failures import Failure
from warre_blazar.client import Window, errors
from warre_blazar.client.types import Document

_COLUMNS = ("id", "start", "end", "note", "flavors")
_REF = "ID of the maintenance window, its beginning, or the note"


class _Windows(base.Command):
    noun = "maintenance window"
    nouns = "maintenance windows"

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        if isinstance(error, errors.NotFound) and error.code == "flavor_not_found":
            return flavors.on_flavor(self, error, str(error.detail.get("flavor", "")))
        return super().advice(error, parsed_args)

    def flavor_ids(self, refs: list[str]) -> list[str]:
        """Ids of flavors: the API takes no names here."""
        return [self.v2.flavors.get(ref).id for ref in refs]


class ListWindows(_Windows, base.ListCommand):
    """List maintenance windows."""

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        return self.table(_COLUMNS, (_flat(w) for w in self.v2.windows.list()))


class ShowWindow(_Windows, base.ShowCommand):
    """Show a maintenance window."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("window", metavar="WINDOW", help=_REF)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        return self.details(_flat(self.v2.windows.get(parsed_args.window)))


class CreateWindow(_Windows, base.ShowCommand):
    """Close flavors for a time; refused when one of them is booked then."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavors", metavar="FLAVOR", nargs="+", help="ID or name of a flavor")
        parser.add_argument(
            "--start-date",
            "--start",
            dest="start",
            metavar="TIME",
            required=True,
            help=f"when it starts: {arguments.TIME_HELP}",
        )
        until = parser.add_mutually_exclusive_group(required=True)
        arguments.add_end(until, "when it ends")
        until.add_argument(
            "--hours", metavar="N", type=arguments.count, help="how long it is, instead of an end"
        )
        parser.add_argument("--note", help="why, for people")
        arguments.add_timezone(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        start = self.time(parsed_args.start, parsed_args, "Start")
        end = None
        if parsed_args.end is not None:
            end = self.time(parsed_args.end, parsed_args, "End")
        start, end = arguments.span(start, end, parsed_args.hours)
        made = self.v2.windows.create(
            start=start,
            end=end,
            flavor_ids=self.flavor_ids(parsed_args.flavors),
            note=parsed_args.note,
        )
        return self.details(_flat(made))


class UpdateWindow(_Windows):
    """Change a maintenance window."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("window", metavar="WINDOW", help=_REF)
        arguments.add_start(parser, "its new start")
        arguments.add_end(parser, "its new end")
        parser.add_argument("--note", help="its new note")
        parser.add_argument(
            "--flavor",
            metavar="FLAVOR",
            dest="flavors",
            action="append",
            help="ID or name of a flavor (repeatable); those given replace those it has",
        )
        arguments.add_timezone(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> None:
        values: dict[str, Any] = {}
        for name in ("start", "end"):
            if getattr(parsed_args, name) is not None:
                values[name] = self.time(getattr(parsed_args, name), parsed_args, name.capitalize())
        if parsed_args.note is not None:
            values["note"] = parsed_args.note
        if parsed_args.flavors is not None:
            values["flavor_ids"] = self.flavor_ids(parsed_args.flavors)
        if not values:
            raise Failure("Nothing to change: give at least one option")
        self.v2.windows.update(parsed_args.window, **values)
        print(f"Updated maintenance window: {parsed_args.window}", file=self.app.stdout)


class DeleteWindow(_Windows, base.DeleteCommand):
    """Delete maintenance windows: their flavors can be booked again."""

    refs = "ID, its beginning, or the note"

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> bool:
        self.v2.windows.delete(ref)
        return True


def _flat(window: Window) -> Document:
    """With its flavors' names."""
    return {**window.document, "flavors": [flavor.name for flavor in window.flavors]}
