"""The geometry of charts. Templates draw them as SVG, with a title for each shape."""

import dataclasses
import datetime
from collections.abc import Iterable, Mapping, Sequence

from django.utils import formats, timezone

from warre_blazar.client import Span
from warre_blazar.dashboard import moments

_WIDTH, _LABELS, _LANE, _BAR = 1000.0, 170.0, 30.0, 20.0
_HEIGHT, _BASE = 160.0, 140.0
#: A bar with room for so few letters has no text.
_LEAST_TEXT = 2
#: At most so many ticks are under a chart.
_TICKS = 8


@dataclasses.dataclass(frozen=True)
class DayColumn:
    """A column of a chart of days."""

    x: float
    width: float
    y: float
    height: float
    title: str
    #: What is written under the column. Empty for most of many columns.
    label: str


@dataclasses.dataclass(frozen=True)
class DayChart:
    """A chart with a column for each day."""

    columns: Sequence[DayColumn]
    highest: float
    width: float = _WIDTH
    height: float = _HEIGHT
    base: float = _BASE


def columns(days: Mapping[str, float], unit: str) -> DayChart:
    """Make a chart of values by day.

    :param days: the value of each day, by the day in ISO 8601, in order.
    """
    highest = max(days.values(), default=0)
    step = _WIDTH / max(1, len(days))
    every = -(-len(days) // _TICKS) or 1
    made = []
    for number, (day, value) in enumerate(days.items()):
        height = (_BASE - 10) * value / highest if highest else 0
        label = day[5:] if number % every == 0 else ""
        title = f"{day}: {value:g} {unit}"
        made.append(DayColumn(number * step + 1, step - 2, _BASE - height, height, title, label))
    return DayChart(made, highest)


@dataclasses.dataclass(frozen=True)
class PlannedSpan:
    """A reservation, or another span with a title, in a plan."""

    span: Span
    title: str
    #: What the shape is, for its color: ``booked``, ``running``, ``failed``, ``over``, ``other``,
    #: ``window``.
    kind: str
    text: str
    href: str = ""


@dataclasses.dataclass(frozen=True)
class Bar:
    """A booking as a shape."""

    x: float
    y: float
    width: float
    height: float
    booking: PlannedSpan
    #: The text, as far as there is room for it.
    text: str


@dataclasses.dataclass(frozen=True)
class Lane:
    """A host or flavor in a plan, with one row or several."""

    name: str
    y: float
    height: float
    bars: Sequence[Bar]


@dataclasses.dataclass(frozen=True)
class Gantt:
    """A Gantt chart."""

    lanes: Sequence[Lane]
    ticks: Sequence[tuple[float, str]]
    height: float
    #: Where the present moment is. None: it isn't in the chart.
    now: float | None
    width: float = _WIDTH
    labels: float = _LABELS


def plan(lanes: Iterable[tuple[str, Sequence[PlannedSpan]]], window: Span) -> Gantt:
    """Make a Gantt chart. Bookings of a lane that overlap are below each other."""
    made, y = [], 24.0
    for name, bookings in lanes:
        rows = _rows(bookings)
        height = _LANE * max(1, len(rows))
        bars = [
            _bar(booking, y + number * _LANE + (_LANE - _BAR) / 2, window)
            for number, row in enumerate(rows)
            for booking in row
        ]
        made.append(Lane(name, y, height, bars))
        y += height
    now = timezone.now()
    at = _at(now, window) if window.start <= now < window.end else None
    return Gantt(made, _ticks(window), y + 4, at)


def _rows(bookings: Sequence[PlannedSpan]) -> list[list[PlannedSpan]]:
    """Spread bookings over rows in which none of them overlap."""
    rows: list[list[PlannedSpan]] = []
    for booking in sorted(bookings, key=lambda each: (each.span.start, each.span.end)):
        for row in rows:
            if row[-1].span.end <= booking.span.start:
                row.append(booking)
                break
        else:
            rows.append([booking])
    return rows


def _at(moment: datetime.datetime, window: Span) -> float:
    share = (min(max(moment, window.start), window.end) - window.start) / window.length
    return _LABELS + (_WIDTH - _LABELS) * share


def _bar(booking: PlannedSpan, y: float, window: Span) -> Bar:
    left, right = (_at(moment, window) for moment in (booking.span.start, booking.span.end))
    width = max(2.0, right - left)
    return Bar(left, y, width, _BAR, booking, _fitted(booking.text, int(width / 7)))


def _fitted(text: str, room: int) -> str:
    """As much of a text as there is room for, in letters."""
    if room <= _LEAST_TEXT:
        return ""
    return text if len(text) <= room else f"{text[: room - 1]}\N{HORIZONTAL ELLIPSIS}"


def _ticks(window: Span) -> list[tuple[float, str]]:
    days = max(1, window.length.days)
    every = -(-days // _TICKS)
    first = timezone.localtime(window.start).date()
    ticks = []
    for number in range(0, days + 1, every):
        day = first + datetime.timedelta(days=number)
        moment = moments.midnight(day)
        if window.start <= moment < window.end:
            ticks.append((_at(moment, window), f"{formats.date_format(day, 'D')} {day:%m-%d}"))
    return ticks
