"""The command that shows the free slots of each day."""

import argparse
import datetime
import functools
import pathlib
from collections.abc import Callable
from typing import Any

from warre_blazar.cli import arguments, base, days, display, flavors, projects
from warre_blazar.cli.days import Row
from warre_blazar.cli.failures import Failure
from warre_blazar.client import Flavor, errors

_COLUMNS = ("flavor", "date", "free", "free_at_best", "slots")
_BOOKING_COLUMNS = ("id", "project", "project_id", "instance_count", "start", "end", "status")
_PICTURES = (".svg", ".png")


class ShowCalendar(base.ListCommand):
    """Show how many slots of flavors can be booked on each day.

    As a chart with a row for each week, unless -f asks for another form. 2: two slots can be booked
    all day; 1+: one all day, and more for some of it. Both the slots and room for them on hosts
    count.
    """

    noun = "flavor"
    nouns = "flavors"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "flavors", metavar="FLAVOR", nargs="*", help="ID or name of a flavor (default: all)"
        )
        arguments.add_start(parser, "the first day (default: today)")
        parser.add_argument(
            "--days",
            metavar="N",
            type=arguments.count,
            default=14,
            help="how many days (default: 14)",
        )
        kind = parser.add_mutually_exclusive_group()
        kind.add_argument(
            "--output", metavar="FILE", help="write a picture, FILE.svg or FILE.png, instead"
        )
        kind.add_argument(
            "--ics",
            metavar="FILE",
            help="write your project's reservations for a calendar program instead; - is stdout",
        )
        parser.add_argument(
            "--bookings",
            action="store_true",
            help="who has booked the flavor and when, in place of what is free (admin only)",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        if parsed_args.days > _MOST_DAYS:
            raise Failure(f"At most {_MOST_DAYS} days can be shown")
        if parsed_args.output and pathlib.Path(parsed_args.output).suffix not in _PICTURES:
            raise Failure(f"{parsed_args.output!r} names no picture; end it in .svg or .png")
        if parsed_args.ics:
            self._export(parsed_args)
            return (), []
        if parsed_args.bookings:
            return self._bookings(parsed_args)
        rows = self._rows(parsed_args)
        if parsed_args.output:
            from warre_blazar.cli import picture  # noqa: PLC0415

            picture.write(rows, parsed_args.output, self.where)
            print(f"Wrote {parsed_args.output}", file=self.app.stdout)
            return (), []
        if parsed_args.formatter == "table":
            from warre_blazar.cli import chart  # noqa: PLC0415

            chart.draw(rows, self.app.stdout, self.where)
        return _COLUMNS, [
            (row.name, day.date.isoformat(), day.throughout, day.at_best, row.slots)
            for row in rows
            for day in row.days
        ]

    def _bookings(self, parsed_args: argparse.Namespace) -> Any:
        """Who has booked a flavor in the days that were asked for."""
        if len(parsed_args.flavors) != 1 or parsed_args.ics:
            raise Failure("--bookings is of one flavor; name it")
        flavor = self._flavor(parsed_args.flavors[0])
        spans = self._days(parsed_args)
        period = days.Span(spans[0][1].start, spans[-1][1].end)
        found = [
            booking
            for booking in self.v2.reservations.list(all_projects=True, flavor_id=flavor.id)
            if days.touches(days.Span(booking.start, booking.end), period)
        ]
        names = projects.names(self, (booking.project_id for booking in found))
        called = [(names.get(b.project_id or "") or b.project_id or "?", b) for b in found]
        if parsed_args.output:
            from warre_blazar.cli import picture  # noqa: PLC0415

            picture.bookings(called, flavor.name, period, parsed_args.output, self.where)
            print(f"Wrote {parsed_args.output}", file=self.app.stdout)
            return (), []
        if parsed_args.formatter == "table":
            from warre_blazar.cli import chart  # noqa: PLC0415

            chart.bookings(called, period, self.app.stdout, self.where)
        return _BOOKING_COLUMNS, [
            (
                b.id,
                name,
                b.project_id,
                b.instance_count,
                *(display.iso(moment, self.where) for moment in (b.start, b.end)),
                b.status,
            )
            for name, b in called
        ]

    def produce_output(self, parsed_args: argparse.Namespace, names: Any, data: Any) -> int:
        # What is for people has been drawn or written already.
        if parsed_args.formatter == "table" or not names:
            return 0
        return super().produce_output(parsed_args, names, data)

    def _flavors(self, parsed_args: argparse.Namespace) -> list[Flavor]:
        if not parsed_args.flavors:
            found = self.v2.flavors.list()
            if not found:
                raise Failure("There are no flavors that you may book; ask the operator")
            return found
        return [self._flavor(ref) for ref in parsed_args.flavors]

    def _flavor(self, ref: str) -> Flavor:
        try:
            return self.v2.flavors.get(ref)
        except errors.NotFound as error:
            raise Failure(flavors.on_flavor(self, error, ref)) from error

    def _days(self, parsed_args: argparse.Namespace) -> list[tuple[datetime.date, days.Span]]:
        start = now = self.now().astimezone(self.where).replace(second=0, microsecond=0)
        asked, _ = self.times(parsed_args)
        if asked is not None:
            # A day that has begun counts from now on.
            self.tell_times(parsed_args, start="From")
            start = max(now, asked.astimezone(self.where))
        return days.days_from(start, parsed_args.days)

    def _rows(self, parsed_args: argparse.Namespace) -> list[Row]:
        spans = self._days(parsed_args)
        whole = days.Span(spans[0][1].start, spans[-1][1].end)
        found = self._flavors(parsed_args)
        windows = self._listed(self.v2.windows.list)
        own = [r for r in self._listed(self.v2.reservations.list) if r.status != "ERROR"]

        def row(flavor: Flavor) -> Row:
            ask = functools.partial(self._spans, flavor, whole.start, whole.end)
            closed = [
                days.Span(window.start, window.end)
                for window in windows
                if any(other.id == flavor.id for other in window.flavors)
            ]
            mine = [booking for booking in own if booking.flavor.id == flavor.id]
            return Row(flavor.name, flavor.slots, days.free(flavor.slots, spans, ask), closed, mine)

        return [row(flavor) for flavor in found]

    def _listed(self, ask: Callable[[], list[Any]]) -> list[Any]:
        """What is only marked in a calendar, and isn't where the user may not list it."""
        try:
            return ask()
        except errors.ApiError:
            return []

    def _spans(
        self, flavor: Flavor, start: datetime.datetime, end: datetime.datetime, count: int
    ) -> Any:
        found = self.v2.flavors.free_slots(flavor.id, start=start, end=end, count=count)
        # The present minute may have passed when the API looks.
        late = start + datetime.timedelta(minutes=2)
        return [
            days.Span(start if start <= span.start <= late else span.start, span.end)
            for span in found
        ]

    def _export(self, parsed_args: argparse.Namespace) -> None:
        from warre_blazar.cli import ics  # noqa: PLC0415

        wanted = {self._flavor(ref).id for ref in parsed_args.flavors}
        found = [r for r in self.v2.reservations.list() if not wanted or r.flavor.id in wanted]
        text = ics.calendar(found, self.now())
        if parsed_args.ics == "-":
            self.app.stdout.write(text)
            return
        try:
            pathlib.Path(parsed_args.ics).write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise Failure(f"{parsed_args.ics}: {error.strerror}") from error
        plural = "" if len(found) == 1 else "s"
        print(f"Wrote {parsed_args.ics}: {len(found)} reservation{plural}", file=self.app.stdout)


_MOST_DAYS = 366
