"""Arguments that several commands share, and parsers of their values."""

import argparse
import datetime
import re

from warre_blazar.cli import time_display
from warre_blazar.cli.failure import Failure

TIME_HELP = (
    "such as 'mon 9:00', 'tomorrow 14:00', 'in 2 hours', 2026-12-01T09:00 or "
    "'2026-12-01 09:00 Europe/Berlin'; in your own time zone unless the time or --timezone names "
    "another"
)
_AFFINITIES = {"true": True, "false": False, "none": None}
_MOST_HOURS = 100 * 366 * 24


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
    parser.add_argument(
        "--start-date",
        "--start",
        dest="start",
        metavar="TIME",
        required=required,
        default=absent,
        help=f"{text}, {TIME_HELP}",
    )


def add_end(parser: argparse._ActionsContainer, text: str, *, absent: object = None) -> None:
    """Add ``--end``.

    The option has two names. ``--end-date`` comes first, so usage messages show this name. It is
    safer than ``--end``: the blazar CLI's own parser may take ``--end`` for its option
    ``--endpoint-type``.
    """
    parser.add_argument(
        "--end-date", "--end", dest="end", metavar="TIME", default=absent, help=text
    )


def add_until(
    parser: argparse.ArgumentParser, end: str, hours: str, *, required: bool = True
) -> None:
    """Add ``--end`` and ``--hours``. A user can give only one of them.

    :param end: the help text of ``--end``.
    :param hours: the help text of ``--hours``.
    """
    until = parser.add_mutually_exclusive_group(required=required)
    add_end(until, end)
    add_hours(until, hours)


def add_hours(parser: argparse._ActionsContainer, text: str) -> None:
    """Add ``--hours``."""
    parser.add_argument(
        "--hours",
        metavar="N",
        type=length,
        help=f"{text}, in hours such as 24 or 1.5, or in hours and minutes such as 14:30",
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


def count(text: str) -> int:
    """Parse a whole number of at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} isn't a whole number of at least 1")
    return value


def length(text: str) -> datetime.timedelta:
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
    :raises Failure: the end isn't after the start, or is later than the year 9999.
    """
    if end is None:
        try:
            # The length is added in UTC. In another zone, Python would calculate a wrong end if
            # clocks are changed between the start and the end.
            end_utc = start.astimezone(datetime.UTC) + (lasting or datetime.timedelta())
            end = end_utc.astimezone(start.tzinfo)
        except OverflowError:
            raise Failure("The end is too far in the future; give fewer hours") from None
    if end.astimezone(datetime.UTC) <= start.astimezone(datetime.UTC):
        raise Failure(
            f"The end, {time_display.brief(end, where)}, isn't after the start, "
            f"{time_display.brief(start, where)}; give a later end, or --hours"
        )
    return start, end
