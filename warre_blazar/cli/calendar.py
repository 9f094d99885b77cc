"""The command that shows the free slots or the bookings of flavors by day."""

import argparse
import datetime
import functools
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

from warre_blazar.cli import (
    arguments,
    base,
    booked_flavors,
    flavor_choice,
    free_by_day,
    no_free_slots,
    offers,
    project_names,
    time_display,
    times,
)
from warre_blazar.cli.failure import Failure, WrongArguments, WrongOptions
from warre_blazar.cli.free_by_day import Row
from warre_blazar.client import Flavor, Reservation, Window, errors, lookup
from warre_blazar.client import times as client_times
from warre_blazar.fields.reservations import DELETED

_COLUMNS = ("flavor", "date", "free", "free_at_best", "slots")
_BOOKING_COLUMNS = (
    *("id", "flavor", "project", "project_id", "instance_count", "start", "end", "status"),
)


def _closing(windows: Sequence[Window], flavor: Flavor) -> list[free_by_day.Span]:
    """Return the times at which maintenance windows close a flavor."""
    return [
        free_by_day.Span(window.start, window.end)
        for window in windows
        if any(other.id == flavor.id for other in window.flavors)
    ]


class ShowCalendar(base.ListCommand):
    """Show how many slots of flavors can be booked on each day.

    The output is a chart with a row for each week, unless -f chooses another format. "2" means that
    two slots can be booked all day. "1+" means that one slot can be booked all day, and more slots
    for part of the day. A slot counts as free only if a host has room for it.
    """

    noun = "flavor"
    nouns = "flavors"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        flavor_choice.add_named(parser)
        arguments.add_start(parser, "the first day (default: today)")
        parser.add_argument(
            "--days",
            metavar="N",
            type=arguments.count,
            help=f"number of days (default: {times.CALENDAR_DAYS})",
        )
        parser.add_argument(
            "--ics",
            metavar="FILE",
            help="write all reservations of your project, but those that ended more than "
            f"{client_times.PAST_IN_CALENDARS.days} days ago, or with --bookings everybody's on "
            "the chosen days, to a file for calendar programs instead; - for stdout. Open a newer "
            "file in the same calendar to bring it up to date: deleted reservations go",
        )
        parser.add_argument(
            "--bookings",
            action="store_true",
            help="show who has booked the flavors and when, instead of free slots (admin only)",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        self._check(parsed_args)
        parsed_args.days = parsed_args.days or times.CALENDAR_DAYS
        if parsed_args.bookings:
            return self._bookings(parsed_args)
        if parsed_args.ics:
            self._export_own(parsed_args)
            return (), []
        rows = self._rows(parsed_args)
        if not self.is_for_programs:
            from warre_blazar.cli import terminal_chart  # noqa: PLC0415

            terminal_chart.draw(rows, self.app.stdout, self.where)
        return _COLUMNS, [
            (row.name, day.date.isoformat(), day.throughout, day.at_best, row.slots)
            for row in rows
            for day in row.days
        ]

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        if (
            isinstance(error, errors.ApiError)
            and error.code == "forbidden"
            and parsed_args.bookings
        ):
            return "Only an operator may see who has booked; leave out --bookings to see free slots"
        return super().advice(error, parsed_args)

    def _check(self, parsed_args: argparse.Namespace) -> None:
        """
        :raises WrongArguments: an option has a wrong value, or doesn't go with another one.
        """
        days_are_given = parsed_args.start or parsed_args.days
        if parsed_args.ics and not parsed_args.bookings and days_are_given:
            raise WrongOptions(
                "--ics writes all reservations, whenever they are; leave out --start and --days"
            )
        if (parsed_args.days or 0) > times.CALENDAR_LIMIT_DAYS:
            raise WrongArguments(f"At most {times.CALENDAR_LIMIT_DAYS} days can be shown")

    def _bookings(self, parsed_args: argparse.Namespace) -> Any:
        """Show the reservations of flavors on the chosen days, with their projects."""
        spans = self._days(parsed_args)
        period = free_by_day.Span(spans[0][1].start, spans[-1][1].end)
        chosen = self._flavors(parsed_args, everything=True)
        booked = self._booked(chosen, period, for_file=bool(parsed_args.ics))
        if not parsed_args.flavors:
            # An inactive flavor can't be booked, so only its bookings are of interest.
            pairs = zip(chosen, booked, strict=True)
            booked = [each for flavor, each in pairs if flavor.active or each.bookings]
        bookings = [booking for flavor in booked for booking in flavor.bookings]
        if parsed_args.ics:
            self._export([(b.project, b.reservation) for b in bookings], parsed_args.ics)
            return (), []
        if not self.is_for_programs:
            from warre_blazar.cli import bookings_chart  # noqa: PLC0415

            bookings_chart.draw(booked, period, self.app.stdout, self.where)
        return _BOOKING_COLUMNS, [
            (
                b.reservation.id,
                b.reservation.flavor.name,
                b.project,
                b.reservation.project_id,
                b.reservation.instance_count,
                *(
                    time_display.iso(moment, self.where)
                    for moment in (b.reservation.start, b.reservation.end)
                ),
                b.reservation.status,
            )
            for b in bookings
        ]

    def _booked(
        self, chosen: Sequence[Flavor], period: free_by_day.Span, *, for_file: bool
    ) -> list[booked_flavors.BookedFlavor]:
        """Return the flavors with all reservations and windows within a period.

        :param for_file: whether they are for a calendar file, which has deleted reservations too.
        """
        within: dict[str, Any] = {"all_projects": True, "since": period.start, "until": period.end}
        listed = (
            self.v2.reservations.of_calendar(**within)
            if for_file
            else self.v2.reservations.list(**within)
        )
        names = project_names.names(self, (reservation.project_id for reservation in listed))
        windows = self._listed(self.v2.windows.list)
        titles = lookup.titles(chosen)
        return [
            booked_flavors.BookedFlavor(
                titles[flavor.id],
                flavor.slots,
                [
                    booked_flavors.NamedReservation(
                        names.get(r.project_id or "") or r.project_id or "?", r
                    )
                    for r in listed
                    if r.flavor.id == flavor.id
                ],
                _closing(windows, flavor),
            )
            for flavor in chosen
        ]

    def produce_output(self, parsed_args: argparse.Namespace, names: Any, data: Any) -> int:
        # The command has already drawn the chart or written the file.
        if not self.is_for_programs or not names:
            return 0
        return super().produce_output(parsed_args, names, data)

    def _flavors(
        self, parsed_args: argparse.Namespace, *, everything: bool = False
    ) -> list[Flavor]:
        if refs := flavor_choice.refs(parsed_args):
            return [flavor_choice.get(self, ref) for ref in refs]
        return flavor_choice.listed(self, parsed_args, everything=everything)

    def _days(
        self, parsed_args: argparse.Namespace
    ) -> list[tuple[datetime.date, free_by_day.Span]]:
        start = now = self.now().astimezone(self.where).replace(second=0, microsecond=0)
        typed_start, _ = self.times(parsed_args)
        if typed_start is not None:
            # If the first day has begun already, only the rest of the day is shown.
            self.tell_time("From", parsed_args.start, typed_start)
            start = max(now, typed_start.astimezone(self.where))
        return free_by_day.days_from(start, parsed_args.days)

    def _rows(self, parsed_args: argparse.Namespace) -> list[Row]:
        spans = self._days(parsed_args)
        whole = free_by_day.Span(spans[0][1].start, spans[-1][1].end)
        chosen = self._flavors(parsed_args)
        windows = self._listed(self.v2.windows.list)
        own = [r for r in self._listed(self.v2.reservations.list) if r.status != "ERROR"]
        titles = lookup.titles(chosen)

        def row(flavor: Flavor) -> Row:
            free_for = functools.partial(self._spans, flavor, whole.start, whole.end)
            closed = _closing(windows, flavor)
            name = titles[flavor.id]
            booked = [booking for booking in own if booking.flavor.id == flavor.id]
            days = free_by_day.free(flavor.slots, spans, free_for)
            made = Row(name, flavor.slots, days, closed, booked)
            if not made.most:
                search = {"start": whole.start, "end": whole.end}
                if reason := no_free_slots.reason(self.v2, flavor.id, **search):
                    self.tell(offers.none_of(name, reason.code))
            return made

        return [row(flavor) for flavor in chosen]

    def _listed(self, list_all: Callable[[], list[Any]]) -> list[Any]:
        """Return the objects that ``list_all`` returns, or an empty list if the API refuses."""
        try:
            return list_all()
        except errors.ApiError:
            return []

    def _spans(
        self, flavor: Flavor, start: datetime.datetime, end: datetime.datetime, count: int
    ) -> Any:
        free = self.v2.flavors.free_slots(flavor.id, start=start, end=end, count=count)
        # No span in the API's answer begins before the present minute. If ``start`` is the present
        # minute, and the next minute begins during the request, all spans begin after ``start``. So
        # a span that begins at most two minutes after ``start`` is shown as if it began at
        # ``start``.
        late = start + datetime.timedelta(minutes=2)
        return [
            free_by_day.Span(start if start <= span.start <= late else span.start, span.end)
            for span in free
        ]

    def _export_own(self, parsed_args: argparse.Namespace) -> None:
        """Write the project's reservations of the chosen flavors to a file."""
        chosen = None
        if parsed_args.flavors or flavor_choice.is_given(parsed_args):
            chosen = {flavor.id for flavor in self._flavors(parsed_args)}
        since = self.now() - client_times.PAST_IN_CALENDARS
        own = [
            (None, reservation)
            for reservation in self.v2.reservations.of_calendar(since=since)
            if chosen is None or reservation.flavor.id in chosen
        ]
        self._export(own, parsed_args.ics)

    def _export(self, labeled: Sequence[tuple[str | None, Reservation]], file: str) -> None:
        """Write reservations to a file for calendar programs.

        :param labeled: each with the name of its project, if that is to be shown.
        """
        from warre_blazar.client import calendar_file  # noqa: PLC0415

        events = [(calendar_file.title(booking, owner), booking) for owner, booking in labeled]
        text = calendar_file.calendar(events)
        if file == "-":
            self.app.stdout.write(text)
            return
        try:
            pathlib.Path(file).write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise Failure(f"{file}: {error.strerror}") from error
        deleted = sum(booking.status == DELETED for _, booking in labeled)
        plural = "" if len(events) == 1 else "s"
        among = f", {deleted} of them deleted" if deleted else ""
        print(f"Wrote {file}: {len(events)} reservation{plural}{among}", file=self.app.stdout)
