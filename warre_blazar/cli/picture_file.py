"""Draws the calendar of flavors as a picture."""

import contextlib
import datetime
from collections.abc import Iterator, Sequence
from typing import Any

from warre_blazar.cli import time_zones, wording
from warre_blazar.cli.failure import Failure
from warre_blazar.cli.free_by_day import Day, Row
from warre_blazar.client import Span

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: Sizes in inches: the picture's width, and the heights of a week, of a flavor's heading and of the
#: legend.
_WIDTH, _WEEK, _HEAD, _FOOT = 8.6, 0.52, 0.62, 0.75
_NONE, FEW, ALL, INK = "#f1c8bd", "#d3ead9", "#4da574", "#222222"
#: The height of the colored bar in a day's cell. The cell's height is 1.
_BAR = 0.36
_DAY = datetime.timedelta(days=1)


def write(rows: Sequence[Row], path: str, zone: datetime.tzinfo) -> None:
    """Write the calendar as an SVG or a PNG, depending on the ending of the file's name.

    :raises Failure: matplotlib isn't installed, or the file can't be written.
    """
    weeks = [_monday_of(row.days[-1].date) - _monday_of(row.days[0].date) for row in rows]
    heights = [_HEAD + _WEEK * (span.days // 7 + 1) for span in weeks]
    with drawing(_WIDTH, sum(heights) + _FOOT, path) as figure:
        top = figure.get_figheight()
        for row, height in zip(rows, heights, strict=True):
            top -= height
            inside = [0.085, top / figure.get_figheight(), 0.9, (height - _HEAD)]
            inside[3] /= figure.get_figheight()
            _weeks(figure.add_axes(inside), row)
        _legend(figure, zone)


@contextlib.contextmanager
def drawing(width: float, height: float, path: str) -> Iterator[Any]:
    """Give a figure to draw in, and write the figure to a file when the ``with`` block ends.

    In an SVG, text is written as text, not as shapes.
    """
    try:
        import matplotlib  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise Failure("Pictures need matplotlib: pip install 'warre-blazar[cli,picture]'") from None
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "warre-blazar", "hatch.linewidth": 0.6}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(width, height))
        yield figure
        try:
            # An SVG gets no date, so that the same calendar always gives the same file.
            undated = {"Date": None} if path.endswith(".svg") else {}
            figure.savefig(path, dpi=150, metadata=undated)
        except OSError as error:
            raise Failure(f"{path}: {error.strerror}") from error


def _monday_of(date: datetime.date) -> datetime.date:
    return date - date.weekday() * _DAY


def _weeks(axes: Any, row: Row) -> None:
    """Draw the calendar of a flavor, with a row for each week and a cell for each day."""
    monday = _monday_of(row.days[0].date)
    weeks = (row.days[-1].date - monday).days // 7 + 1
    axes.set(xlim=(0, 7), ylim=(weeks, 0))
    axes.set_xticks([n + 0.5 for n in range(7)], _WEEKDAYS, fontsize=8)
    axes.xaxis.tick_top()
    mondays = [monday + 7 * n * _DAY for n in range(weeks)]
    axes.set_yticks([n + 0.5 for n in range(weeks)], [f"{m:%b %d}" for m in mondays], fontsize=8)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    title = f"{row.name}: {wording.slots(row.slots)}, at most {row.most} free at once"
    # With parse_math, matplotlib would take a name with a $ for a formula.
    axes.set_title(title, fontsize=10, loc="left", fontweight="bold", parse_math=False)
    for day in row.days:
        _day(axes, row, day, (day.date - monday).days // 7)


def _day(axes: Any, row: Row, day: Day, week: int) -> None:
    """Draw the cell of a day, with the number of slots that are free all day.

    The colors of the bar in the cell show how many slots are free in the parts of the day.
    """
    left, bottom = day.date.weekday(), week + 0.96
    places = _Places(day, left)
    for span, count in day.steps:
        x, width = places.horizontal(span)
        color = _color(count, row.most)
        _box(axes, (x, bottom - _BAR, width, _BAR), facecolor=color, edgecolor="none")
    _box(axes, (left + 0.02, week + 0.04, 0.96, 0.92), facecolor="none", edgecolor="#bbbbbb", lw=1)
    for window in row.windows:
        x, width = places.horizontal(window)
        box = (x, week + 0.04, width, 0.92)
        _box(axes, box, facecolor="none", edgecolor="#555555", hatch="////", lw=0)
    for booking in row.own:
        x, width = places.horizontal(Span(booking.start, booking.end))
        box = (x, bottom - _BAR, width, _BAR)
        _box(axes, box, facecolor="none", edgecolor="#1f4e9e", lw=2)
    more = "+" if day.at_best > day.throughout else ""
    halo = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    number = f"{day.throughout}{more}"
    axes.text(left + 0.5, week + 0.32, number, ha="center", va="center", fontsize=9, bbox=halo)
    axes.text(left + 0.06, week + 0.27, f"{day.date:%d}", fontsize=6, color="#666666", bbox=halo)


class _Places:
    """Converts times of a day to horizontal positions in the day's cell."""

    def __init__(self, day: Day, left: float) -> None:
        self._day = day
        self._left = left + 0.02
        # The cell of today has the width of a whole day, although a part of today has passed.
        self._first = max(_DAY, day.span.end - day.span.start)

    def horizontal(self, span: Span) -> tuple[float, float]:
        """Return x and width of the part of a span that lies in the day. The width may be 0."""
        begin = self._day.span.end - self._first
        start = max(span.start, self._day.span.start)
        end = min(span.end, self._day.span.end)
        x = self._left + 0.96 * ((start - begin) / self._first)
        return x, max(0.0, 0.96 * ((end - start) / self._first))


def _box(axes: Any, box: tuple[float, float, float, float], **style: Any) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    x, y, width, height = box
    if width > 0:
        axes.add_patch(Rectangle((x, y), width, height, **style))


def _color(count: int, most: int) -> str:
    """Return the color for a number of free slots.

    :param most: the number that gets the full color: the largest number of slots that are free at
        once. It may be smaller than the flavor's number of slots, because the hosts may hold fewer
        instances.
    """
    if not count:
        return _NONE
    few, full = (tuple(int(c[n : n + 2], 16) for n in (1, 3, 5)) for c in (FEW, ALL))
    share = 1.0 if most <= 1 else (count - 1) / (most - 1)
    mixed = (round(a + (b - a) * share) for a, b in zip(few, full, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _legend(figure: Any, zone: datetime.tzinfo) -> None:
    from matplotlib.patches import Patch  # noqa: PLC0415

    entries = [
        Patch(facecolor=ALL, label="most are free"),
        Patch(facecolor=FEW, label="few are free"),
        Patch(facecolor=_NONE, label="none is free"),
        Patch(facecolor="none", edgecolor="#555555", hatch="////", lw=0, label="closed"),
        Patch(facecolor="none", edgecolor="#1f4e9e", lw=2, label="booked by your project"),
    ]
    height = figure.get_figheight()
    figure.legend(
        handles=entries,
        loc="lower left",
        bbox_to_anchor=(0.07, 0.26 / height),
        ncols=5,
        fontsize=7,
        frameon=False,
    )
    figure.text(
        0.085,
        0.12 / height,
        "Numbers: slots that can be booked all day; +: more for a part of the day. "
        f"Each day from left to right, in {time_zones.label(zone)}",
        fontsize=7,
    )
