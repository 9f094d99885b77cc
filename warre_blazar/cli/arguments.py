"""What users type, as values."""

import argparse
import datetime

TIME_HELP = "ISO 8601, such as 2026-12-01T09:00 or 2026-12-01T09:00+10:00; UTC if no offset"


def time(text: str) -> datetime.datetime:
    """A time with its offset; without one: UTC."""
    try:
        parsed = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} isn't a time; expected {TIME_HELP}") from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=datetime.UTC)


def is_time(text: str) -> bool:
    """Whether it is a time."""
    try:
        time(text)
    except argparse.ArgumentTypeError:
        return False
    return True


def count(text: str) -> int:
    """A whole number of at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} isn't a whole number of at least 1")
    return value
