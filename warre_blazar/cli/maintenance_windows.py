"""Commands on maintenance windows, in which flavors can't be booked."""

import argparse
import datetime
from typing import Any

from warre_blazar.cli import arguments, base, flavors, time_display, window_conflicts
from warre_blazar.cli.failure import Failure
from warre_blazar.client import Window, errors
from warre_blazar.client.types import Document
from warre_blazar.fields.declaration import answered

_COLUMNS = [field.name for field in answered(Window)]
_REF = "ID of the maintenance window, the start of the ID, or its note"


class _Windows(base.Command):
    noun = "maintenance window"
    nouns = "maintenance windows"

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        if isinstance(error, errors.NotFound) and error.code == "flavor_not_found":
            return flavors.advice_on_flavor(self, error, str(error.detail.get("flavor", "")))
        if isinstance(error, errors.ApiError) and error.code == "window_conflict":
            return self._conflict(error)
        return super().advice(error, parsed_args)

    def _conflict(self, error: errors.ApiError) -> str:
        """Return a text with the reservations because of which the API refused a window."""
        lines = window_conflicts.refused(self, error)
        total = error.detail["total"]
        if total == 1:
            overlap = "1 reservation of its flavors overlaps"
        else:
            overlap = f"{total} reservations of its flavors overlap"
        if total > len(lines):
            lines.append(
                f"  and {total - len(lines)} more: {self.name('reservation-list')} --all-projects "
                "with --from and --to"
            )
        return "\n".join(
            [
                f"The window was refused: {overlap} it. Choose another time, or ask the projects "
                f"to delete these reservations ({self.name('reservation-delete')}):",
                *lines,
            ]
        )

    def flavor_ids(self, refs: list[str]) -> list[str]:
        """Return the ids of flavors. The API accepts only ids in requests about windows."""
        return [self.v2.flavors.get(ref).id for ref in refs]


class ListWindows(_Windows, base.ListCommand):
    """List maintenance windows."""

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        return self.table(_COLUMNS, (_flat(w) for w in self.v2.windows.list()))


class ShowWindow(_Windows, base.ShowCommand):
    """Show a maintenance window, and the reservations of its flavors during the window."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("window", metavar="WINDOW", help=_REF)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        window = self.v2.windows.get(parsed_args.window)
        names, values = self.details(_flat(window))
        booked = window_conflicts.within(self, window)
        if booked is None:
            return names, values
        return (*names, "reservations"), (*values, booked)


class CreateWindow(_Windows, base.ChangeCommand, base.ShowCommand):
    """Close flavors for a time. This is refused if one of them is booked during the time."""

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavors", metavar="FLAVOR", nargs="+", help="ID or name of a flavor")
        arguments.add_start(parser, "start of the window", required=True)
        arguments.add_until(parser, "end of the window", "length of the window (instead of --end)")
        parser.add_argument("--note", help="the reason, for people")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        start, end = self.times(parsed_args)
        assert start is not None
        start, end = arguments.span(start, end, parsed_args.hours, self.where)
        period = time_display.period(start, end, start.tzinfo or self.where)
        plan = f"{', '.join(parsed_args.flavors)} closed, {period}"
        typed = (parsed_args.start, parsed_args.end)
        self.confirm_times(plan, typed, parsed_args, otherwise="No window made")
        made = self.v2.windows.create(
            start=start,
            end=end,
            flavor_ids=self.flavor_ids(parsed_args.flavors),
            note=parsed_args.note,
            dry_run=parsed_args.dry_run,
        )
        if parsed_args.dry_run:
            return self.report_dry_run(f"make a window: {plan}")
        return self.details(_flat(made))


class UpdateWindow(_Windows, base.ChangeCommand):
    """Change a maintenance window."""

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("window", metavar="WINDOW", help=_REF)
        arguments.add_start(
            parser,
            "new start of the window (without an end or a length, the length doesn't change)",
        )
        arguments.add_until(
            parser,
            "new end of the window",
            "new length of the window (instead of --end)",
            required=False,
        )
        parser.add_argument("--note", help="new note")
        parser.add_argument(
            "--flavor",
            metavar="FLAVOR",
            dest="flavors",
            action="append",
            help="ID or name of a flavor (repeatable); the given flavors replace the present ones",
        )
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> None:
        start, end = self.times(parsed_args)
        hours = parsed_args.hours
        values: dict[str, Any] = {"note": parsed_args.note}
        if parsed_args.flavors is not None:
            values["flavor_ids"] = self.flavor_ids(parsed_args.flavors)
        values = {name: value for name, value in values.items() if value is not None}
        moved = any(value is not None for value in (start, end, hours))
        if not values and not moved:
            raise Failure("Nothing to change: give at least one option")
        ref = parsed_args.window
        if moved or parsed_args.dry_run:
            window = self.v2.windows.get(ref)
            times = self.new_times(window, start, end, hours)
            if start:
                values["start"] = times[0]
            if moved:
                values["end"] = times[1]
            self._confirm(parsed_args, window, times, values)
            if parsed_args.dry_run:
                return
            ref = window.id
        self.v2.windows.update(ref, **values)
        print(f"Updated maintenance window: {parsed_args.window}", file=self.app.stdout)

    def _confirm(
        self,
        parsed_args: argparse.Namespace,
        window: Window,
        times: tuple[datetime.datetime, datetime.datetime],
        values: dict[str, Any],
    ) -> None:
        """Ask the user to confirm the window's new times, or report the dry run."""
        start, end = times
        # A time that wasn't typed is in UTC.
        typed = start if parsed_args.start else end if parsed_args.end else None
        zone = (typed.tzinfo if typed else None) or self.where
        period = time_display.period(start, end, zone)
        texts = (parsed_args.start, parsed_args.end)
        derived = parsed_args.hours is not None
        self.confirm_times(f"{_phrase(window)}, {period}", texts, parsed_args, derived=derived)
        if parsed_args.dry_run:
            changed = self.v2.windows.update(window.id, dry_run=True, **values)
            note = f", noted {values['note']!r}" if "note" in values else ""
            self.report_dry_run(
                f"change {_phrase(window)}: {period}, {len(changed.flavors)} flavors{note}"
            )


class DeleteWindow(_Windows, base.DeleteCommand):
    """Delete maintenance windows, so that their flavors can be booked again."""

    refs = "ID, the start of the ID, or note"

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> bool:
        self.v2.windows.delete(ref)
        return True

    def describe(self, ref: str) -> str:
        window = self.v2.windows.get(ref)
        return f"{_phrase(window)}, {time_display.period(window.start, window.end, self.where)}"


def _phrase(window: Window) -> str:
    """Return a phrase for a window, for use in a sentence."""
    names = ", ".join(flavor.name for flavor in window.flavors)
    noted = f" {window.note!r}" if window.note else ""
    return f"window{noted} ({window.id}) of {names}"


def _flat(window: Window) -> Document:
    """Return a window's fields, with the names of its flavors instead of the flavors."""
    return {**window.document, "flavors": [flavor.name for flavor in window.flavors]}
