"""Arguments that several commands have, and what users type as values."""

import argparse
import datetime
import re

from warre_blazar.cli import display
from warre_blazar.cli.failures import Failure

TIME_HELP = (
    "such as 'mon 9:00', 'tomorrow 14:00', 'in 2 hours', 2026-12-01T09:00 or "
    "'2026-12-01 09:00 Europe/Berlin'; in your own time zone unless it or --timezone names one"
)
_AFFINITIES = {"true": True, "false": False, "none": None}
_MOST_HOURS = 100 * 366 * 24


def add_timezone(parser: argparse.ArgumentParser) -> None:
    """``--timezone`` and ``--utc``: of times that are given without a zone, and of those shown."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--timezone",
        metavar="ZONE",
        help="of times without one, and of those that are shown: a name such as Europe/Berlin, or "
        "an offset (default: the variable TZ's, or else this machine's)",
    )
    either.add_argument("--utc", action="store_true", help="the same as --timezone UTC")


def add_start(
    parser: argparse._ActionsContainer, text: str, *, required: bool = False, absent: object = None
) -> None:
    """``--start``.

    :param absent: its value where it isn't given.
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
    """``--end``. The long form comes first: usage messages name it, and it works everywhere."""
    parser.add_argument(
        "--end-date", "--end", dest="end", metavar="TIME", default=absent, help=text
    )


def add_until(parser: argparse.ArgumentParser, end: str, hours: str) -> None:
    """An ``--end`` or a length in ``--hours``, one of which has to be given."""
    until = parser.add_mutually_exclusive_group(required=True)
    add_end(until, end)
    add_hours(until, hours)


def add_hours(parser: argparse._ActionsContainer, text: str) -> None:
    """``--hours``."""
    parser.add_argument(
        "--hours", metavar="N", type=length, help=f"{text}: such as 24, 1.5 or 14:30"
    )


def add_count(parser: argparse.ArgumentParser, text: str) -> None:
    """``--count``."""
    parser.add_argument("--count", metavar="N", type=count, default=1, help=f"{text} (default: 1)")


def add_affinity(parser: argparse.ArgumentParser) -> None:
    """``--affinity``, with the words of Blazar's own lease-create."""
    parser.add_argument(
        "--affinity",
        type=_affinity,
        metavar="{true,false,none}",
        help="true: all instances on one host; false: each on a host of its own "
        "(default: none, wherever there is room)",
    )


def _affinity(text: str) -> bool | None:
    if text.lower() not in _AFFINITIES:
        raise argparse.ArgumentTypeError(f"{text!r} isn't true, false or none")
    return _AFFINITIES[text.lower()]


def count(text: str) -> int:
    """A whole number of at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} isn't a whole number of at least 1")
    return value


def length(text: str) -> datetime.timedelta:
    """Hours as whole minutes: 24, 1.5, or 14:30 for 14 hours and a half."""
    if found := re.fullmatch(r"(\d{1,7}):([0-5]\d)", text, re.ASCII):
        minutes = float(int(found[1]) * 60 + int(found[2]))
    elif re.fullmatch(r"\d{1,9}(\.\d{1,6})?", text, re.ASCII):
        minutes = round(float(text) * 60, 6)
    else:
        minutes = 0
    if minutes <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} aren't hours; write 24, 1.5 or 14:30")
    if minutes > _MOST_HOURS * 60:
        raise argparse.ArgumentTypeError(f"{text} hours are too many")
    if minutes != int(minutes):
        near = (f"{int(m) // 60}:{int(m) % 60:02}" for m in (minutes, minutes + 1))
        nearest = " or ".join(form for form in near if form != "0:00")
        raise argparse.ArgumentTypeError(f"{text} hours aren't whole minutes; write {nearest}")
    return datetime.timedelta(minutes=int(minutes))


def key_value(text: str) -> tuple[str, str]:
    """KEY=VALUE."""
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
    """From a start to an end, or for so long.

    :param where: the zone that times are shown in.
    :raises Failure: it ends before it begins, or past what a calendar has.
    """
    if end is None:
        try:
            # In UTC: where clocks are changed in between, an hour is an hour.
            until = start.astimezone(datetime.UTC) + (lasting or datetime.timedelta())
            end = until.astimezone(start.tzinfo)
        except OverflowError:
            raise Failure("That ends too far off; give fewer hours") from None
    if end.astimezone(datetime.UTC) <= start.astimezone(datetime.UTC):
        raise Failure(
            f"The end, {display.brief(end, where)}, isn't after the start, "
            f"{display.brief(start, where)}; give a later end, or --hours"
        )
    return start, end
