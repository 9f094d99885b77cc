"""What the API says about a series before it is booked, for the templates."""

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from warre_blazar.client import SeriesForeseen, Span, errors


def asked(ask: Callable[[], SeriesForeseen]) -> dict[str, Any]:
    """Return the values of the template ``_series_verdict.html``.

    :param ask: asks the API.
    """
    try:
        foreseen = ask()
    except errors.ApiError as error:
        return {"error": error}
    left = {span(each).start: each for each in foreseen.refused}
    lines = [_line(each, left.get(each.start)) for each in foreseen.occurrences]
    last = max((each.start for each in foreseen.occurrences), default=None)
    return {
        "bookable": foreseen.bookable,
        "lines": lines,
        "left": len(left),
        "fit": len(lines) - len(left),
        "last": last,
    }


def of_refused(refused: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the same if an error of the API has the reservations that couldn't be booked."""
    lines = [_line(span(each), each) for each in refused]
    return {"bookable": False, "lines": lines, "left": len(lines)}


def span(refused: dict[str, Any]) -> Span:
    """The time of a reservation that couldn't be booked."""
    return Span.of(refused)


def _line(when: Span, refused: dict[str, Any] | None) -> dict[str, Any]:
    later = refused and refused.get("next_start")
    return {
        "span": when,
        "reason": refused and refused["message"],
        "next_start": datetime.datetime.fromisoformat(later) if later else None,
    }
