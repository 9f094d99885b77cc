"""Commands on maintenance windows, in which flavors or hosts can't be booked."""

import argparse
import datetime
import functools
from typing import Any

from warre_blazar.cli import (
    arguments,
    base,
    listing,
    time_display,
    window_conflicts,
)
from warre_blazar.cli.failure import WrongOptions
from warre_blazar.client import Window, errors, lookup
from warre_blazar.client.types import Document
from warre_blazar.fields.declaration import Use, answered


class _Windows(base.Command):
    noun = "maintenance window"
    nouns = "maintenance windows"
    argument = "window"
    ref = "ID of the maintenance window, the start of the ID, or its note"

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        if isinstance(error, errors.ApiError) and error.code == "window_conflict":
            return self._conflict(error)
        advice = super().advice(error, parsed_args)
        ref = error.detail.get("flavor") if isinstance(error, errors.NotFound) else None
        if ref and getattr(parsed_args, "hosts", None):
            return f"{advice}. If it is a host: --host {','.join([*parsed_args.hosts, ref])}"
        return advice

    def _conflict(self, error: errors.ApiError) -> str:
        """Return a text with the reservations because of which the API refused a window."""
        lines = window_conflicts.refused(self, error)
        total = error.detail["total"]
        if total == 1:
            overlap = "1 reservation of its flavors or hosts overlaps"
        else:
            overlap = f"{total} reservations of its flavors or hosts overlap"
        if total > len(lines):
            lines.append(
                f"  and {total - len(lines)} more: {self.name('reservation-list')} --all-projects "
                "with --from and --to"
            )
        return "\n".join(
            [
                f"The window was refused: {overlap} it. Choose another time, use --bookings "
                "move or end (show lists what move would do), or ask the projects to delete these "
                f"reservations ({self.name('reservation-delete')}):",
                *lines,
            ]
        )

    def print_met(self, window: Window) -> None:
        """Print a line for each reservation that the window meets, if the API has listed any."""
        for text in window_conflicts.met_lines(self, window):
            print(text, file=self.app.stdout)

    def flavor_ids(self, refs: list[str]) -> list[str]:
        """Return the ids of flavors. The API accepts only ids in requests about windows."""
        return [self.v2.flavors.get(ref).id for ref in refs]


class ListWindows(_Windows, listing.ListObjects):
    """List maintenance windows."""

    collection = "windows"
    columns = tuple(f.name for f in answered(Window) if Use.SOMETIMES not in f.use)

    def row(self, item: Window) -> Document:
        return _flat(item)


class ShowWindow(_Windows, base.OneCommand, base.ShowCommand):
    """Show a maintenance window, and the reservations of its flavors and hosts in its time."""

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        window = self.v2.windows.get(parsed_args.window)
        names, values = self.details(_flat(window))
        booked = window_conflicts.within(self, window)
        if booked is None:
            return names, values
        return (*names, "reservations"), (*values, booked)


class CreateWindow(_Windows, base.ChangeCommand, base.ShowCommand):
    """Close flavors or hosts for a time, and say what is done with what is booked then."""

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavors", metavar="FLAVOR", nargs="*", help="ID or name of a flavor")
        _add_hosts(parser, "ID or hypervisor hostname of a host to close (repeatable, or commas)")
        _add_bookings(parser)
        arguments.add_start(parser, "start of the window", required=True)
        arguments.add_until(parser, "end of the window", "length of the window (instead of --end)")
        parser.add_argument("--note", help="the reason, for people")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        if not (parsed_args.flavors or parsed_args.hosts):
            raise WrongOptions("The window would close nothing: give a FLAVOR or --host")
        start, end = self.times(parsed_args)
        assert start is not None
        start, end = arguments.span(start, end, parsed_args.hours, self.where)
        period = time_display.period(start, end, start.tzinfo or self.where)
        names = [*parsed_args.flavors, *(f"host {host}" for host in parsed_args.hosts or ())]
        plan = f"{', '.join(names)} closed, {period}"
        flavor_ids = self.flavor_ids(parsed_args.flavors)
        typed = (parsed_args.start, parsed_args.end)
        self.confirm_times(plan, typed, parsed_args, otherwise="No window made")
        made = self.v2.windows.create(
            start=start,
            end=end,
            flavor_ids=flavor_ids,
            host_ids=parsed_args.hosts or (),
            note=parsed_args.note,
            bookings=parsed_args.bookings,
            dry_run=parsed_args.dry_run,
        )
        if parsed_args.dry_run or parsed_args.bookings == "show":
            if not self.is_for_programs:
                self.print_met(made)
            names, values = self.report_dry_run(f"make a window: {plan}", _flat(made))
        else:
            names, values = self.details(_flat(made))
        if parsed_args.bookings is None or not names:
            return names, values
        return (*names, "reservations"), (*values, window_conflicts.met(self, made))


class UpdateWindow(_Windows, base.OneCommand, base.ChangeCommand, base.ShowCommand):
    """Change a maintenance window."""

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        arguments.add_start(
            parser,
            "new start of the window (without an end or a length, the length doesn't change; +2h "
            "means two hours after the present start)",
        )
        arguments.add_until(
            parser,
            "new end of the window; +2h, also in --hours and --length, makes it two hours longer",
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
        _add_hosts(
            parser, "ID or hypervisor hostname of a host (repeatable); replaces the present hosts"
        )
        _add_bookings(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        start, end = self.times(parsed_args, before=lambda: self.v2.windows.get(parsed_args.window))
        hours = parsed_args.hours
        values: dict[str, Any] = {
            "note": parsed_args.note,
            "host_ids": parsed_args.hosts,
            "bookings": parsed_args.bookings,
        }
        if parsed_args.flavors is not None:
            values["flavor_ids"] = self.flavor_ids(parsed_args.flavors)
        values = {name: value for name, value in values.items() if value is not None}
        moved = any(value is not None for value in (start, end, hours))
        if not values and not moved:
            raise WrongOptions("Nothing to change: give at least one option")
        ref, etag = parsed_args.window, None
        if moved or parsed_args.dry_run:
            window = self.v2.windows.get(ref)
            times = self.new_times(window, start, end, hours)
            if start:
                values["start"] = times[0]
            if moved:
                values["end"] = times[1]
            zone = self._confirm(parsed_args, window, times)
            if parsed_args.dry_run:
                return self._foresee(window, times, zone, values)
            ref, etag = window.id, window.etag
        changed = self.v2.windows.update(ref, etag=etag, **values)
        document = self._with_met(changed)
        if parsed_args.bookings == "show":
            period = time_display.period(changed.start, changed.end, self.where)
            return self.report_dry_run(f"change {_phrase(changed)}: {period}", document)
        return self.report_change(f"Updated maintenance window: {parsed_args.window}", document)

    def _with_met(self, window: Window) -> Document:
        """Return a window's fields for programs. For people, print the reservations that it meets.

        The fields have these reservations too, if the API has listed them.
        """
        if not self.is_for_programs:
            self.print_met(window)
        if "reservations" not in window.document:
            return _flat(window)
        return {**_flat(window), "reservations": self.zoned_all(window.reservations)}

    def _confirm(
        self,
        parsed_args: argparse.Namespace,
        window: Window,
        times: tuple[datetime.datetime, datetime.datetime],
    ) -> datetime.tzinfo:
        """Ask the user to confirm the window's new times, and return the zone to show them in."""
        start, end = times
        # A time that wasn't typed is in UTC.
        typed = start if parsed_args.start else end if parsed_args.end else None
        zone = (typed.tzinfo if typed else None) or self.where
        period = time_display.period(start, end, zone, (window.start, window.end))
        texts = (parsed_args.start, parsed_args.end)
        derived = parsed_args.hours is not None
        self.confirm_times(f"{_phrase(window)}, {period}", texts, parsed_args, derived=derived)
        return zone

    def _foresee(
        self,
        window: Window,
        times: tuple[datetime.datetime, datetime.datetime],
        zone: datetime.tzinfo,
        values: dict[str, Any],
    ) -> tuple[Any, Any]:
        """Report what a change would do."""
        changed = self.v2.windows.update(window.id, dry_run=True, **values)
        news = [time_display.period(*times, zone, (window.start, window.end))]
        if "flavor_ids" in values:
            news.append("flavors " + " ".join(flavor.name for flavor in changed.flavors))
        if "host_ids" in values:
            news.append("hosts " + " ".join(name for _, name in changed.hosts))
        if "note" in values:
            news.append(f"noted {values['note']!r}")
        document = self._with_met(changed)
        return self.report_dry_run(f"change {_phrase(window)}: {', '.join(news)}", document)


class DeleteWindow(_Windows, base.DeleteCommand):
    """Delete maintenance windows, so that their flavors and hosts can be booked again.

    Reservations that a window has moved or ended keep their new hosts and times.
    """

    refs = "ID, the start of the ID, or note"

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> base.Deletion:
        window_id = lookup.window(self.v2.windows, ref)
        self.v2.windows.delete(window_id)
        return base.Deletion(base.identified(ref, window_id))

    def describe(self, ref: str) -> str:
        window = self.v2.windows.get(ref)
        return f"{_phrase(window)}, {time_display.period(window.start, window.end, self.where)}"


def _phrase(window: Window) -> str:
    """Return a phrase for a window, for use in a sentence."""
    closed = [flavor.name for flavor in window.flavors] + [name for _, name in window.hosts]
    names = ", ".join(closed)
    noted = f" {window.note!r}" if window.note else ""
    return f"window{noted} ({window.id}) of {names}"


def _flat(window: Window) -> Document:
    """Return a window's fields, with the names of its flavors and hosts instead of the items."""
    return {
        **{n: value for n, value in window.document.items() if n != "reservations"},
        "flavors": [flavor.name for flavor in window.flavors],
        "hosts": [name for _, name in window.hosts],
    }


def _add_hosts(parser: argparse.ArgumentParser, text: str) -> None:
    names = functools.partial(str.split, sep=",")
    parser.add_argument(
        "--host", metavar="HOST", dest="hosts", action="extend", type=names, help=text
    )


def _add_bookings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bookings",
        choices=["show", "refuse", "move", "end"],
        help="what is done with reservations that the window meets. show: list them, with what "
        "move would do, and change nothing. refuse (the default): refuse the window. move: those "
        "that haven't begun get other hosts, or the next time that their owners allow; the others "
        "are left and listed. end: the same, but those of the others that begin before the window "
        "end at its start; those that begin inside the window are left and listed",
    )
