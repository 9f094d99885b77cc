"""What users type, as values."""

import argparse
import datetime

from warre_blazar.cli.failures import Failure

TIME_HELP = (
    "such as 'mon 9:00', 'tomorrow 14:00', 'in 2 hours', 2026-12-01T09:00 or "
    "'2026-12-01 09:00 Europe/Berlin'; in UTC, unless it or --timezone says otherwise"
)
_AFFINITIES = {"true": True, "false": False, "none": None}


def add_timezone(parser: argparse.ArgumentParser) -> None:
    """``--timezone``, of the times that are given and, in addition to UTC, told."""
    parser.add_argument(
        "--timezone",
        metavar="ZONE",
        help="of times without one: a name such as Europe/Berlin, or 'local' (default: UTC)",
    )


def add_start(parser: argparse.ArgumentParser, text: str) -> None:
    """``--start``; the blazar CLI keeps an ``--end`` for itself, so the long forms come first."""
    parser.add_argument(
        "--start-date", "--start", dest="start", metavar="TIME", help=f"{text}, {TIME_HELP}"
    )


def add_end(parser: argparse._ActionsContainer, text: str) -> None:
    """``--end``, likewise."""
    parser.add_argument("--end-date", "--end", dest="end", metavar="TIME", help=text)


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


def key_value(text: str) -> tuple[str, str]:
    """KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} isn't of the form key=value")
    return key, value


def span(
    start: datetime.datetime, end: datetime.datetime | None, hours: int | None
) -> tuple[datetime.datetime, datetime.datetime]:
    """From a start to an end, or for so many hours.

    :raises Failure: it ends before it begins, or past what a calendar has.
    """
    if end is None:
        try:
            # In UTC: where clocks are changed in between, an hour is an hour.
            until = start.astimezone(datetime.UTC) + datetime.timedelta(hours=hours or 0)
            end = until.astimezone(start.tzinfo)
        except OverflowError:
            raise Failure(f"{hours} hours are too many") from None
    if end.astimezone(datetime.UTC) <= start.astimezone(datetime.UTC):
        raise Failure(
            f"The end, {end:%Y-%m-%d %H:%M %Z}, isn't after the start, {start:%Y-%m-%d %H:%M %Z}"
        )
    return start, end
