"""Arguments that several commands share, and parsers of their values."""

import argparse
import datetime
import re

from warre_blazar.cli import time_display, time_suggestions
from warre_blazar.cli.failure import WrongArguments

_AFFINITIES = {"true": True, "false": False, "none": None}
_MOST_HOURS = 100 * 366 * 24
_NO_TIME = datetime.timedelta()


def today() -> datetime.date:
    """Return the present date. Tests replace this function."""
    return datetime.date.today()


def time_help(*, looking_back: bool = False) -> str:
    """Return the part of a help text that says how to write a time. No example has passed.

    :param looking_back: whether the time may have passed, as in a list.
    """
    day = today() + datetime.timedelta(days=7)
    past = (
        "; a time that has passed is written with its date, and without a year the nearest date "
        "is meant"
    )
    return (
        f"{time_suggestions.examples(day)}{past if looking_back else ''}; in your own time zone "
        "unless the time or --timezone names another"
    )


def add_timezone(parser: argparse.ArgumentParser) -> None:
    """Add ``--timezone`` and ``--utc``, which choose the command's time zone."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--timezone",
        metavar="ZONE",
        help="the time zone of times that are given without a zone, and of the times that are "
        "shown: a name such as Europe/Berlin, or an offset (default: the zone in the variable TZ, "
        "or else the zone of this machine)",
    )
    either.add_argument("--utc", action="store_true", help="the same as --timezone UTC")


def add_start(
    parser: argparse._ActionsContainer, text: str, *, required: bool = False, absent: object = None
) -> None:
    """Add ``--start``.

    :param text: the help text of the option.
    :param absent: the option's value if the user doesn't give it.
    """
    option = parser.add_argument(
        "--start-date",
        "--start",
        dest="start",
        metavar="TIME",
        required=required,
        default=absent,
        help=f"{text}, {time_help()}",
    )
    _accept(parser, "--from", option)


def add_end(parser: argparse._ActionsContainer, text: str, *, absent: object = None) -> None:
    """Add ``--end``.

    The option has two names. ``--end-date`` comes first, so usage messages show this name. It is
    safer than ``--end``: the blazar CLI's own parser may take ``--end`` for its option
    ``--endpoint-type``.
    """
    option = parser.add_argument(
        "--end-date", "--end", dest="end", metavar="TIME", default=absent, help=text
    )
    _accept(parser, "--to", option)


def _accept(parser: argparse._ActionsContainer, name: str, option: argparse.Action) -> None:
    """Let an option have another name, which its help doesn't show."""
    parser._option_string_actions[name] = option


def add_from_to(parser: argparse._ActionsContainer, since: str, until: str) -> None:
    """Add ``--from`` and ``--to``, whose values ``Command.window`` reads.

    :param since: the help text of ``--from``.
    :param until: the help text of ``--to``.
    """
    for flag, others, name, text in (
        ("--from", ("--start", "--start-date"), "since", since),
        ("--to", ("--end", "--end-date"), "until", until),
    ):
        help_text = f"{text}, {time_help(looking_back=True)}"
        option = parser.add_argument(flag, metavar="TIME", dest=name, help=help_text)
        for other in others:
            _accept(parser, other, option)


def add_projects(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--all-projects`` and ``--project``. A user can give only one of them.

    :param what: what the command does, for the help texts.
    """
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument(
        "--all-projects", action="store_true", help=f"{what} of all projects (admin only)"
    )
    whose.add_argument(
        "--project", metavar="PROJECT", help=f"{what} of this project (ID or name; admin only)"
    )


def add_booked_project(parser: argparse.ArgumentParser) -> None:
    """Add ``--project``, the project to book for."""
    parser.add_argument(
        "--project",
        metavar="PROJECT",
        help="ID or name of the project to book for; you need a role in it (admin)",
    )


def add_until(
    parser: argparse.ArgumentParser, end: str, hours: str, *, required: bool = True
) -> None:
    """Add ``--end``, ``--hours``, ``--length`` and ``--days``. A user can give only one of them.

    :param end: the help text of ``--end``.
    :param hours: the help text of the options that set the length.
    """
    until = parser.add_mutually_exclusive_group(required=required)
    add_end(until, end)
    _add_lengths(until, hours)


def add_length(parser: argparse.ArgumentParser, text: str) -> None:
    """Add ``--hours``, ``--length`` and ``--days``. A user can give only one of them."""
    _add_lengths(parser.add_mutually_exclusive_group(), text)


def _add_lengths(either: argparse._ActionsContainer, text: str) -> None:
    either.add_argument(
        "--hours",
        metavar="N",
        type=hours,
        help=f"{text}, in hours such as 24 or 1.5, or in hours and minutes such as 14:30",
    )
    either.add_argument(
        "--length", metavar="LENGTH", dest="hours", type=length, help=f"{text}, such as 3d or 1d12h"
    )
    either.add_argument(
        "--days",
        metavar="N",
        dest="hours",
        type=lambda text: length(f"{count(text)}d"),
        help=f"{text}, in days",
    )


def add_count(parser: argparse.ArgumentParser, text: str, absent: int | None = 1) -> None:
    """Add ``--count``.

    :param absent: the option's value if the user doesn't give it.
    """
    default = "unchanged" if absent is None else absent
    help_text = f"{text} (default: {default})"
    parser.add_argument("--count", metavar="N", type=count, default=absent, help=help_text)


def add_affinity(parser: argparse.ArgumentParser) -> None:
    """Add ``--affinity``, with the same values as in Blazar's own lease-create."""
    parser.add_argument(
        "--affinity",
        type=_affinity,
        metavar="{true,false,none}",
        help="true: all instances on one host; false: each on a host of its own; none: on any "
        "hosts that have room (default: none)",
    )


def _affinity(text: str) -> bool | None:
    if text.lower() not in _AFFINITIES:
        raise argparse.ArgumentTypeError(f"{text!r} isn't true, false or none")
    return _AFFINITIES[text.lower()]


def count(text: str, least: int = 1) -> int:
    """Parse a whole number of at least ``least``."""
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"{text!r} isn't a whole number of at least {least}")
    return value


def count_or_none(text: str, least: int = 1) -> int | None:
    """Parse a whole number of at least ``least``, or the word none."""
    if text.lower() == "none":
        return None
    try:
        return count(text, least)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, or none") from None


class Days(datetime.timedelta):
    """A length that a user has typed in days. A day has 24 hours, unless clocks are changed."""


def length(text: str) -> datetime.timedelta:
    """Parse a length in days, hours and minutes, such as 3d, 1d12h or 90m."""
    match = re.fullmatch(r"(?:(\d{1,5})d)?(?:(\d{1,7})h)?(?:(\d{1,9})m)?", text, re.ASCII)
    days, whole_hours, minutes = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    kind = Days if days else datetime.timedelta
    found = kind(days=days, hours=whole_hours, minutes=minutes)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} isn't a length; write 3d, 12h, 1d12h or 90m")
    if found > datetime.timedelta(hours=_MOST_HOURS):
        raise argparse.ArgumentTypeError(f"{text} is too long")
    return found


def hours(text: str) -> datetime.timedelta:
    """Parse a length in hours, such as 24 or 1.5, or in hours and minutes, such as 14:30.

    A length that isn't a whole number of minutes is refused.
    """
    if match := re.fullmatch(r"(\d{1,7}):([0-5]\d)", text, re.ASCII):
        minutes = float(int(match[1]) * 60 + int(match[2]))
    elif re.fullmatch(r"\d{1,9}(\.\d{1,6})?", text, re.ASCII):
        minutes = round(float(text) * 60, 6)
    else:
        minutes = 0
    if minutes <= 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} isn't a number of hours; write 24, 1.5 or 14:30"
        )
    if minutes > _MOST_HOURS * 60:
        raise argparse.ArgumentTypeError(f"{text} hours are too many")
    if minutes != int(minutes):
        candidates = (f"{int(m) // 60}:{int(m) % 60:02}" for m in (minutes, minutes + 1))
        nearest = " or ".join(form for form in candidates if form != "0:00")
        raise argparse.ArgumentTypeError(
            f"{text} hours aren't a whole number of minutes; write {nearest}"
        )
    return datetime.timedelta(minutes=int(minutes))


def key_value(text: str) -> tuple[str, str]:
    """Parse an argument of the form KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} isn't of the form key=value")
    return key, value


def span(
    start: datetime.datetime,
    end: datetime.datetime | None,
    lasting: datetime.timedelta | None,
    where: datetime.tzinfo,
) -> tuple[datetime.datetime, datetime.datetime]:
    """Return a start and an end. If ``end`` is None, it is calculated from the length.

    :param lasting: the length, which is used only if there is no end.
    :param where: the zone in which times are shown.
    :raises WrongArguments: the end isn't after the start, or is later than the year 9999, or the
        length is in days and could mean different ends.
    """
    if end is None:
        try:
            # The length is added in UTC. In another zone, Python would calculate a wrong end if
            # clocks are changed between the start and the end.
            end_utc = start.astimezone(datetime.UTC) + (lasting or datetime.timedelta())
            end = end_utc.astimezone(start.tzinfo)
            if shift := _shift_in_days(start, end, lasting):
                raise WrongArguments(
                    "Clocks are changed in that time, so not each day has 24 hours. Give --end "
                    + " or --end ".join(
                        time_display.argument(moment, start.tzinfo or where)
                        for moment in sorted((end, end + shift))
                    )
                )
        except OverflowError:
            raise WrongArguments("The end is too far in the future; give fewer hours") from None
    if end.astimezone(datetime.UTC) <= start.astimezone(datetime.UTC):
        raise WrongArguments(
            f"The end, {time_display.brief(end, where)}, isn't after the start, "
            f"{time_display.brief(start, where)}; give a later end, or a length"
        )
    return start, end


def check_days(
    start: datetime.datetime, lasting: datetime.timedelta, where: datetime.tzinfo
) -> None:
    """Refuse a length in days that could mean different ends, where a user can't give an end.

    :param where: the user's time zone, in which days are counted.
    :raises WrongArguments: clocks are changed between the start and the end.
    """
    start = start.astimezone(where)
    end = (start.astimezone(datetime.UTC) + lasting).astimezone(where)
    if shift := _shift_in_days(start, end, lasting):
        since, until = (time_display.brief(moment, where) for moment in (start, end))
        minutes = sorted(int(long.total_seconds()) // 60 for long in (lasting, lasting + shift))
        raise WrongArguments(
            f"Clocks are changed between {since} and {until}, so not each day has 24 hours. Give "
            + " or ".join(f"--hours {count // 60}:{count % 60:02}" for count in minutes)
        )


def _shift_in_days(
    start: datetime.datetime, end: datetime.datetime, lasting: datetime.timedelta | None
) -> datetime.timedelta:
    """Return by how much clocks are changed between two times. 0 if no length in days is given."""
    if not isinstance(lasting, Days):
        return _NO_TIME
    return (start.utcoffset() or _NO_TIME) - (end.utcoffset() or _NO_TIME)
