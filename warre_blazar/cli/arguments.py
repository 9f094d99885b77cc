"""Arguments that several commands share, and parsers of their values."""

import argparse
import contextlib
import datetime
import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

from warre_blazar.cli import keystone_names, time_display, time_suggestions, times
from warre_blazar.cli.failure import WrongArguments

_AFFINITIES = {"true": True, "false": False, "none": None}
_NO_TIME = datetime.timedelta()

T = TypeVar("T")


def today() -> datetime.date:
    """Return the present date. Tests replace this function."""
    return datetime.date.today()


def time_help(*, looking_back: bool = False) -> str:
    """Return the part of a help text that says how to write a time. No example has passed.

    :param looking_back: whether the time may have passed, as in a list.
    """
    day = today() + datetime.timedelta(days=times.EXAMPLES_AHEAD_DAYS)
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
    _add_end(parser, help=text, default=absent)


def _add_end(parser: argparse._ActionsContainer, **settings: Any) -> None:
    option = parser.add_argument("--end-date", "--end", dest="end", metavar="TIME", **settings)
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
    """Add ``--all-projects`` and ``--project``, of which a user can give only one.

    :param what: what the command does, for the help texts.
    """
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument(
        "--all-projects", action="store_true", help=f"{what} of all projects (admin only)"
    )
    whose.add_argument(
        "--project", metavar="PROJECT", help=f"{what} of this project (ID or name; admin only)"
    )
    keystone_names.add_domain(parser, "project")


def add_user(parser: argparse.ArgumentParser, text: str) -> None:
    """Add ``--user`` and ``--user-domain``, by which a list is filtered.

    :param text: the help text of ``--user``.
    """
    parser.add_argument("--user", metavar="USER", help=f"{text} (ID or name)")
    keystone_names.add_domain(parser, "user")


def add_booked_project(parser: argparse.ArgumentParser) -> None:
    """Add ``--project`` and ``--project-domain``, the project to book for."""
    parser.add_argument(
        "--project",
        metavar="PROJECT",
        help="ID or name of the project to book for; you need a role in it (admin)",
    )
    keystone_names.add_domain(parser, "project")


def add_until(
    parser: argparse.ArgumentParser, end: str, hours: str, *, required: bool = True
) -> None:
    """Add ``--end``, ``--hours``, ``--length`` and ``--days``. A user can give only one of them.

    :param end: the help text of ``--end``.
    :param hours: the help text of the options that set the length.
    """
    until = parser.add_mutually_exclusive_group(required=required)
    _add_end(until, help=end, action=_StoreEnd)
    _add_lengths(until, hours)


def add_length(parser: argparse.ArgumentParser, text: str) -> None:
    """Add ``--hours``, ``--length`` and ``--days``. A user can give only one of them."""
    _add_lengths(parser.add_mutually_exclusive_group(), text)


def _add_lengths(either: argparse._ActionsContainer, text: str) -> None:
    either.add_argument(
        "--hours",
        metavar="N",
        type=functools.partial(length, unit="h"),
        help=f"{text}, in hours such as 24 or 1.5, or in hours and minutes such as 14:30",
    )
    either.add_argument(
        "--length",
        metavar="LENGTH",
        dest="hours",
        type=length,
        help=f"{text}, such as 3d, 1d12h or 1w",
    )
    either.add_argument(
        "--days",
        metavar="N",
        dest="hours",
        type=functools.partial(length, unit="d"),
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


def whole_hours(read: Callable[..., T], text: str, least: int = 1) -> T:
    """Parse a number of hours, which may be written as a length such as 7d too.

    :param read: parses the number.
    """
    with contextlib.suppress(argparse.ArgumentTypeError):
        hours, rest = divmod(length(text), datetime.timedelta(hours=1))
        text = text if rest else str(hours)
    return read(text, least)


class Length(datetime.timedelta):
    """A length that a user has typed.

    :ivar in_days: whether it has days or weeks. A day has 24 hours, unless clocks are changed.
    :ivar is_more: whether it was typed with a plus. Then a change adds it to the present length.
    """

    in_days = False
    is_more = False


_LENGTH = re.compile(
    r"(?P<more>\+)?(?:(?P<hours>\d{1,7}):(?P<minutes>[0-5]\d)|"
    r"(?:(?P<w>\d{1,4})w)?(?:(?P<d>\d{1,5})d)?(?:(?P<h>\d{1,9}(?:\.\d{1,6})?)h)?(?:(?P<m>\d{1,9})m)?)",
    re.ASCII,
)
#: Units in words, of which the first letter is the unit.
_IN_WORDS = re.compile(r" ?(week|day|hour|minute|min)s?(?![a-z]) ?")
#: What is wrong with a text that isn't a length, by the unit of a number alone.
_NO_LENGTH = {
    "": "isn't a length; write 3d, 12h, 1d12h or 90m",
    "h": "isn't a number of hours; write 24, 1.5 or 14:30",
    "d": "isn't a number of days; write 3",
}


def length(text: str, unit: str = "") -> Length:
    """Parse a length such as 1w, 3d, 1d12h, 1.5h, 90m or 14:30, with or without a plus.

    A length that isn't a whole number of minutes is refused.

    :param unit: the unit of a number alone: "h" or "d". "": a number alone is refused.
    """
    is_number = re.fullmatch(r"\+?\d+(\.\d+)?", text, re.ASCII)
    typed = text + unit if is_number else _IN_WORDS.sub(lambda found: found[1][0], text)
    match = _LENGTH.fullmatch(typed)
    parts = match.groupdict("0") if match else {}
    minutes = round(
        sum(float(parts[name]) * each for name, each in times.UNIT_MINUTES.items() if parts), 6
    )
    if minutes <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} {_NO_LENGTH[unit]}")
    if minutes > times.LENGTH_LIMIT_HOURS * 60:
        raise argparse.ArgumentTypeError(f"{typed} is too long")
    if minutes != int(minutes):
        whole = (int(m) for m in (minutes, minutes + 1) if m >= 1)
        plus = "+" if parts["more"] == "+" else ""
        nearest = " or ".join(f"{plus}{m // 60}:{m % 60:02}" for m in whole)
        raise argparse.ArgumentTypeError(
            f"{typed} isn't a whole number of minutes; write {nearest}"
        )
    found = Length(minutes=int(minutes))
    found.in_days = parts["w"] != "0" or parts["d"] != "0"
    found.is_more = parts["more"] == "+"
    return found


def later(text: str) -> str | None:
    """Return the form with "in" of a text such as +30m or +1d. None: it isn't such a text.

    :raises WrongArguments: what follows the plus isn't a length.
    """
    if not text.startswith("+"):
        return None
    try:
        more = length(text)
    except argparse.ArgumentTypeError as error:
        raise WrongArguments(str(error)) from None
    days, rest = divmod(more, datetime.timedelta(days=1))
    if more.in_days and not rest:
        return f"in {days} days"
    return f"in {more // datetime.timedelta(minutes=1)} minutes"


class _StoreEnd(argparse.Action):
    """Stores an end. An end such as +2h is a length."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if not values.startswith("+"):
            namespace.end = values
            return
        try:
            namespace.hours = length(values)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from None


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
    if not isinstance(lasting, Length) or not lasting.in_days:
        return _NO_TIME
    return (start.utcoffset() or _NO_TIME) - (end.utcoffset() or _NO_TIME)
