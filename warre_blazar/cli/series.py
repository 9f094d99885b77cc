"""Commands on series of reservations, such as the lessons of a course."""

import argparse
import datetime
import functools
from collections.abc import Iterable, Sequence
from typing import Any

from warre_blazar.cli import (
    arguments,
    base,
    cliff_parsers,
    columns,
    confirmation,
    listing,
    owners,
    project_names,
    reservation_options,
    time_display,
    time_input,
    time_zones,
    wording,
)
from warre_blazar.cli.failure import RefusedDryRun, WrongArguments, WrongOptions
from warre_blazar.client import Series, SeriesForeseen, errors, lookup
from warre_blazar.client.types import Document
from warre_blazar.fields import declaration

#: At most this many occurrences are listed one by one.
_MOST_TOLD = 20


class _AllSeries(base.Command):
    noun = nouns = argument = "series"
    ref = "ID of the series, the start of the ID, or its name"

    def column(self, name: str, value: Any) -> Any:
        """Return a field in the form that cliff prints. The start is local already."""
        return value if name == "start" else super().column(name, value)

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        if isinstance(error, errors.ApiError) and error.code == "series_refused":
            refused, asked = error.detail["refused"], error.detail["asked"]
            done = "changed" if error.detail.get("reason") else "booked"
            first = f"Nothing was {done}: {len(refused)} of {asked} can't be {done}:"
            return "\n".join([first, *self._lines(refused)])
        field = error.detail.get("field") if isinstance(error, errors.ApiError) else None
        if field == "rrule" and ";" not in parsed_args.rrule:
            # A shell may have ended the command at the first semicolon.
            return f"{error}. Put the rule in quotes: --rrule 'FREQ=WEEKLY;COUNT=12'"
        return super().advice(error, parsed_args)

    def excepted(self, parsed_args: argparse.Namespace) -> list[datetime.date]:
        """Return the days that are left out, and the local starts that were given with a time."""
        read = (time_input.parse(text, self.where, self.now()) for text in parsed_args.excepted)
        moments = (each.astimezone(self.where).replace(tzinfo=None) for each in read)
        return [each if each.time() != datetime.time() else each.date() for each in moments]

    def tell_refused(self, refused: Iterable[Document], what: str = "Not booked") -> None:
        """Print which occurrences can't be booked."""
        for line in self._lines(refused):
            self.tell(f"{what}: {line.strip()}")

    def _lines(self, refused: Iterable[Document]) -> list[str]:
        """Return a line for each occurrence that can't be booked: its start, and why."""
        lines = []
        for each in refused:
            start = time_display.brief(_moment(each["start"]), self.where)
            later = each["next_start"]
            free = f"; free from {time_display.brief(_moment(later), self.where)}" if later else ""
            lines.append(f"  {start}: {each['message']}{free}")
        more = len(lines) - _MOST_TOLD
        return [*lines[:_MOST_TOLD], f"  and {more} more"] if more > 0 else lines

    def check(self, action: str, foreseen: SeriesForeseen) -> None:
        """
        :raises RefusedDryRun: nothing could be booked.
        """
        if not foreseen.bookable:
            text = "\n".join([f"Can't {action}:", *self._lines(foreseen.refused)])
            raise RefusedDryRun(
                text, {"occurrences": [], "refused": self.zoned_all(foreseen.refused)}
            )

    def report_foreseen(self, action: str, foreseen: SeriesForeseen) -> tuple[Any, Any]:
        """Print what would be booked."""
        self.check(action, foreseen)
        self.tell_refused(foreseen.refused)
        refused = {_moment(each["start"]) for each in foreseen.refused}
        booked = [span for span in foreseen.occurrences if span.start not in refused]
        shown = [
            f"  {time_display.period(span.start, span.end, self.where)}"
            for span in booked[:_MOST_TOLD]
        ]
        more = len(booked) - len(shown)
        rest = [f"  and {more} more"] if more else []
        document = {
            "occurrences": [
                {
                    "start": time_display.iso(span.start, self.where),
                    "end": time_display.iso(span.end, self.where),
                }
                for span in booked
            ],
            "refused": self.zoned_all(foreseen.refused),
        }
        times = wording.counted(len(booked), "time")
        plan = f"{action}, {times}{'' if self.is_for_programs else ':'}"
        return self.report_dry_run(plan, document, *shown, *rest)

    def made(self, series: Series, refused: str = "Not booked") -> tuple[Any, Any]:
        """Print what was refused, and return the fields of the series."""
        self.tell_refused(series.refused, refused)
        left = {"refused": self.zoned_all(series.refused)} if self.is_for_programs else {}
        return self.details({**self.flat(series), **left})

    def flat(self, series: Series) -> Document:
        """Return the fields of a series, with its flavor's name and its times as texts."""
        document = {**series.document, "flavor": series.document["flavor"]["name"]}
        document.pop("refused", None)
        if "reservations" in document:
            booked = document["reservations"]
            lines = (
                f"{time_display.brief(_moment(each['start']), self.where)} {each['status']} "
                f"{each['id']}"
                for each in booked
            )
            document["reservations"] = columns.lines(self.zoned_all(booked), lines)
        if "missing" in document:
            left = document["missing"]
            about = (self._line_of_missing(each) for each in left)
            document["missing"] = columns.lines(self.zoned_all(left), about)
        return document

    def _line_of_missing(self, item: Document) -> str:
        """Return a line about an occurrence without a reservation."""
        start = time_display.brief(_moment(item["start"]), self.where)
        if item["deleted_at"] is None:
            return (
                f"{start} {item['state']}{': ' if item['message'] else ''}{item['message'] or ''}"
            )
        deleted = time_display.brief(_moment(item["deleted_at"]), self.where)
        by = f" by {item['deleted_by']}" if item["deleted_by"] else ""
        return f"{start} {item['state']} at {deleted}{by}"


class ListSeries(_AllSeries, listing.ListObjects):
    """List the series of your project that weren't ended, the latest first."""

    collection = "series"
    columns = declaration.columns(Series, long=False)
    long = (
        *(name for name in declaration.columns(Series, long=True) if name not in owners.COLUMNS),
        *owners.COLUMNS,
    )
    filters = (listing.projects("list the series"),)

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--ended", action="store_true", help="also list those that were ended")
        return parser

    def found(self, parsed_args: argparse.Namespace) -> list[Series]:
        found = super().found(parsed_args)
        return [each for each in found if parsed_args.ended or each.status != "ended"]

    def names(self, parsed_args: argparse.Namespace, found: Sequence[Series]) -> Sequence[str]:
        names = super().names(parsed_args, found)
        rare = [n for n in ("unbooked", "cut_off") if any(getattr(each, n) for each in found)]
        mine = len(names) - len(owners.COLUMNS) if owners.COLUMNS[0] in names else len(names)
        return list(dict.fromkeys([*names[:mine], *rare, *names[mine:]]))

    def row(self, item: Series) -> Document:
        return self.flat(item)


class ShowSeries(_AllSeries, base.OneCommand, base.ShowCommand):
    """Show a series with its reservations. One that was ended is found by its name too."""

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        return self.details(self.flat(self.v2.series.get(parsed_args.series, past=True)))


class CreateSeries(_AllSeries, base.ChangeCommand, base.ShowCommand):
    """Book a flavor regularly, for example for the lessons of a course.

    Each reservation starts at the same local time, also when the clocks change. What can't be
    booked is left out, unless --all-or-none is given. On a terminal, the command asks first.
    """

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", metavar="FLAVOR", help="ID or name of the flavor to book")
        arguments.add_start(parser, "start of the first reservation", required=True)
        arguments.add_length(parser, "length of each reservation")
        parser.add_argument(
            "--rrule",
            metavar="RULE",
            required=True,
            help="when the reservations take place, as in RFC 5545: "
            "FREQ=WEEKLY;BYDAY=MO,WE;COUNT=24 is on Mondays and Wednesdays, 24 times in all; "
            "FREQ=DAILY;UNTIL=20261218 is on each day until then. Put the rule in quotes, because "
            "a shell ends the command at a semicolon. The rule must have COUNT or UNTIL",
        )
        _add_except(parser)
        arguments.add_count(parser, "number of instances")
        arguments.add_affinity(parser)
        parser.add_argument(
            "--all-or-none",
            action="store_true",
            help="book nothing if one of the reservations can't be booked",
        )
        reservation_options.add_labels(parser, "the reservations")
        reservation_options.add_handle(parser)
        arguments.add_booked_project(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        start, _ = self.times(parsed_args)
        assert start is not None
        if parsed_args.hours is None:
            raise WrongOptions("Give the length of each reservation: --hours or --length")
        self.tell_time("First", parsed_args.start, start)
        values = {
            "start": _local(start, self.where),
            "timezone": _zone(self.where),
            "length": parsed_args.hours,
            "rrule": parsed_args.rrule,
            "exdates": self.excepted(parsed_args),
            "count": parsed_args.count,
            "affinity": parsed_args.affinity,
            "all_or_none": parsed_args.all_or_none,
            "project_id": project_names.identity(self, parsed_args),
            **{
                name: getattr(parsed_args, name)
                for name in (*reservation_options.LABELS, *reservation_options.HANDLE)
            },
        }
        slots = f"{wording.slots(parsed_args.count)} of {parsed_args.flavor}"
        foresee = functools.partial(self.v2.series.try_create, parsed_args.flavor, **values)
        if parsed_args.hours.in_days:
            # Only the API knows when the reservations are.
            for each in foresee().occurrences:
                arguments.check_days(each.start, parsed_args.hours, self.where)
        if parsed_args.dry_run:
            return self.report_foreseen(f"book {slots}", foresee())
        first = time_display.brief(start, self.where)
        length = time_display.length(parsed_args.hours)
        plan = f"A series of {slots}, {length} each, from {first} on: {parsed_args.rrule}"

        def check() -> None:
            foreseen = foresee()
            self.check(f"book {slots}", foreseen)
            last = time_display.brief(foreseen.occurrences[-1].start, self.where)
            self.tell(f"{len(foreseen.occurrences)} reservations, the last one from {last} on")

        self.confirm_on_terminal(plan, parsed_args, otherwise="Nothing booked", check=check)
        return self.made(self.v2.series.create(parsed_args.flavor, **values))


class ExtendSeries(_AllSeries, base.OneCommand, base.ChangeCommand, base.ShowCommand):
    """Book further or missing reservations of a series. What was deleted isn't booked again.

    On a terminal, the command asks first.
    """

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        either = parser.add_mutually_exclusive_group(required=True)
        either.add_argument(
            "--more", metavar="N", type=arguments.count, help="number of further reservations"
        )
        either.add_argument(
            "--missing",
            action="store_const",
            const=True,
            help="book what couldn't be booked before and fits by now",
        )
        either.add_argument(
            "--until",
            dest="end",
            metavar="TIME",
            help="the latest start of a further reservation; a day without a time of day means the "
            f"whole day: {arguments.time_help()}",
        )
        _add_except(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        until = None
        if parsed_args.end is not None:
            until = time_input.parse(parsed_args.end, self.where, self.now(), whole_day=True)
        self.tell_time("Until", parsed_args.end, until)
        series = self.v2.series.get(parsed_args.series)
        zone = time_zones.named(series.timezone)
        values = {
            "more": parsed_args.more,
            "until": _local(until, zone) if until else None,
            "missing": parsed_args.missing,
            "exdates": self.excepted(parsed_args),
        }
        if parsed_args.dry_run:
            foreseen = self.v2.series.try_extend(series.id, **values)
            return self.report_foreseen(f"extend series {series.id}", foreseen)
        more = f"until {time_display.brief(until, zone)}" if until else parsed_args.more
        if parsed_args.missing:
            more = "those that are missing"
        plan = f"Further reservations of the series {series.name or series.id}: {more}"
        self.confirm_on_terminal(plan, parsed_args, otherwise="Nothing booked")
        return self.made(self.v2.series.extend(series.id, **values))


class UpdateSeries(_AllSeries, base.OneCommand, base.ChangeCommand, base.ShowCommand):
    """Change the reservations of a series that haven't begun, and what further ones get.

    On a terminal, the command asks first.
    """

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        arguments.add_length(parser, "new length of each reservation")
        arguments.add_count(parser, "new number of instances of each reservation", absent=None)
        reservation_options.add_new_labels(parser)
        return cliff_parsers.with_fixed(parser, ["--flavor", "--start", "--rrule"])

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        chosen = {n: getattr(parsed_args, n) for n in reservation_options.LABELS}
        if chosen["before_end"] == reservation_options.FLAVORS:
            chosen["before_end"] = ""
        values = {"length": parsed_args.hours, "count": parsed_args.count, **chosen}
        if all(value is None for value in values.values()):
            raise WrongOptions("Nothing to change: give at least one option")
        series = self.v2.series.get(parsed_args.series)
        foresee = functools.partial(self.v2.series.try_update, series.id, **values)
        action = f"change series {series.name or series.id}"
        if parsed_args.dry_run:
            return self.report_foreseen(action, foresee())

        def check() -> None:
            foreseen = foresee()
            if foreseen.occurrences:
                self.check(action, foreseen)
            fits = len(foreseen.occurrences) - len(foreseen.refused)
            self.tell(
                f"{fits} of {len(foreseen.occurrences)} reservations that haven't begun change"
            )

        plan = f"{action[0].upper()}{action[1:]}"
        self.confirm_on_terminal(plan, parsed_args, otherwise="Nothing changed", check=check)
        return self.made(self.v2.series.update(series.id, **values), refused="Not changed")


class DeleteSeries(_AllSeries, base.DeleteCommand):
    """End series: delete their reservations that haven't begun. The command asks first."""

    asks = True
    refs = "ID, the start of the ID, or the name"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--running", action="store_true", help="delete running reservations and their servers"
        )
        return parser

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> base.Deletion:
        series = self._live(ref, running=parsed_args.running)
        if not parsed_args.yes:
            if confirmation.on_terminal():
                phrase = self._phrase(series, running=parsed_args.running)
                confirmation.ask(f"{phrase}. Delete?", "Nothing deleted")
            elif parsed_args.running:
                confirmation.refuse("Servers may be lost")
        gone = self.v2.series.delete(series.id, running=parsed_args.running)
        return base.Deletion(base.identified(ref, series.id), gone)

    def describe(self, ref: str) -> str:
        return self._phrase(self._live(ref, running=False), running=False)

    def _live(self, ref: str, *, running: bool) -> Series:
        """
        :raises errors.Over: the series was ended. Its running reservations may still be deleted.
        """
        series = self.v2.series.get(ref, past=running)
        if series.status == "ended" and not running:
            raise lookup.over_error(self.v2.series, ref, [series])
        return series

    def _phrase(self, series: Series, *, running: bool) -> str:
        states = {"PENDING_CREATE", "ALLOCATED", *(("ACTIVE",) if running else ())}
        left = [each for each in series.document["reservations"] if each["status"] in states]
        noun = "reservation" if len(left) == 1 else "reservations"
        slots = wording.slots(series.document["instance_count"])
        phrase = (
            f"{len(left)} {noun} of series {series.name or series.id}, {slots} of "
            f"{series.document['flavor']['name']}"
        )
        if not left:
            return phrase
        first = min(_moment(each["start"]) for each in left)
        last = max(_moment(each["end"]) for each in left)
        since, until = (time_display.plain(moment, self.where) for moment in (first, last))
        return f"{phrase}, {since} to {until}"


def _add_except(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--except",
        dest="excepted",
        metavar="DATE",
        action="append",
        default=[],
        help="a day on which nothing is booked, such as a holiday (can be repeated). The COUNT of "
        "the rule counts it too",
    )


def _local(moment: datetime.datetime, zone: datetime.tzinfo) -> datetime.datetime:
    return moment.astimezone(zone).replace(tzinfo=None)


def _zone(zone: datetime.tzinfo) -> str:
    """Return the name of the time zone of a series.

    :raises WrongArguments: the zone is only an offset, with which nobody knows when the clocks
        change.
    """
    name = time_zones.iana_name(zone)
    if name is None and time_zones.label(zone) != "UTC":
        raise WrongArguments("A series needs the name of a time zone: --timezone Europe/Berlin")
    return name or "UTC"


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)
