"""Commands on maintenance windows: when flavors can't be booked."""

import argparse
from typing import Any

from warre_blazar.cli import arguments, base, display, flavors, trials
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


class CreateWindow(_Windows, base.ChangeCommand, base.ShowCommand):
    """Close flavors for a time; refused when one of them is booked then."""

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavors", metavar="FLAVOR", nargs="+", help="ID or name of a flavor")
        arguments.add_start(parser, "when it starts", required=True)
        arguments.add_until(parser, "when it ends", "how long it is, instead of an end")
        parser.add_argument("--note", help="why, for people")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        start, end = self.times(parsed_args)
        assert start is not None
        start, end = arguments.span(start, end, parsed_args.hours, self.where)
        period = display.period(start, end, start.tzinfo or self.where)
        plan = f"{', '.join(parsed_args.flavors)} closed, {period}"
        self.agree(plan, (parsed_args.start, parsed_args.end), parsed_args)
        flavor_ids = self.flavor_ids(parsed_args.flavors)
        if parsed_args.dry_run:
            trials.window(self.v2, flavor_ids, start, end, self.where)
            return self.would(f"make a window: {plan}")
        made = self.v2.windows.create(
            start=start, end=end, flavor_ids=flavor_ids, note=parsed_args.note
        )
        return self.details(_flat(made))


class UpdateWindow(_Windows, base.ChangeCommand):
    """Change a maintenance window."""

    asks = True

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
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> None:
        start, end = self.times(parsed_args)
        values: dict[str, Any] = {"start": start, "end": end, "note": parsed_args.note}
        if parsed_args.flavors is not None:
            values["flavor_ids"] = self.flavor_ids(parsed_args.flavors)
        values = {name: value for name, value in values.items() if value is not None}
        if not values:
            raise Failure("Nothing to change: give at least one option")
        ref = parsed_args.window
        if start or end or parsed_args.dry_run:
            ref = self._agreed(parsed_args, values)
        if parsed_args.dry_run:
            return
        self.v2.windows.update(ref, **values)
        print(f"Updated maintenance window: {parsed_args.window}", file=self.app.stdout)

    def _agreed(self, parsed_args: argparse.Namespace, values: dict[str, Any]) -> str:
        """The id of the window, once it is agreed when it is to be."""
        found = self.v2.windows.get(parsed_args.window)
        start, end = values.get("start", found.start), values.get("end", found.end)
        start, end = arguments.span(start, end, None, self.where)
        given = values.get("start") or values.get("end") or start.astimezone(self.where)
        period = display.period(start, end, given.tzinfo or self.where)
        self.agree(f"{_told(found)}, {period}", (parsed_args.start, parsed_args.end), parsed_args)
        if parsed_args.dry_run:
            flavor_ids = values.get("flavor_ids", [flavor.id for flavor in found.flavors])
            trials.window(self.v2, flavor_ids, start, end, self.where)
            note = f", noted {values['note']!r}" if "note" in values else ""
            self.would(f"change {_told(found)}: {period}, {len(flavor_ids)} flavors{note}")
        return found.id


class DeleteWindow(_Windows, base.DeleteCommand):
    """Delete maintenance windows: their flavors can be booked again."""

    refs = "ID, its beginning, or the note"

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> bool:
        self.v2.windows.delete(ref)
        return True

    def describe(self, ref: str) -> str:
        found = self.v2.windows.get(ref)
        return f"{_told(found)}, {display.period(found.start, found.end, self.where)}"


def _told(window: Window) -> str:
    names = ", ".join(flavor.name for flavor in window.flavors)
    noted = f" {window.note!r}" if window.note else ""
    return f"window{noted} ({window.id}) of {names}"


def _flat(window: Window) -> Document:
    """With its flavors' names."""
    return {**window.document, "flavors": [flavor.name for flavor in window.flavors]}
