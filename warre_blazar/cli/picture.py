"""The calendar and the bookings of a flavor as pictures."""

import contextlib
import datetime
from collections.abc import Iterator, Sequence
from typing import Any

from warre_blazar.cli import display, zones
from warre_blazar.cli.days import Day, Row
from warre_blazar.cli.failures import Failure
from warre_blazar.client import Reservation, Span

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: Inches: of a week, and of what stands above and below each flavor's weeks.
_WIDTH, _WEEK, _HEAD, _FOOT = 8.6, 0.52, 0.62, 0.75
_NONE, _FEW, _ALL, _INK = "#f1c8bd", "#d3ead9", "#4da574", "#222222"
#: Parts of a day's cell: the number above, how the day goes below.
_BAR = 0.36
_DAY = datetime.timedelta(days=1)


def write(rows: Sequence[Row], path: str, zone: datetime.tzinfo) -> None:
    """Write the calendar as an SVG or PNG, as the path ends.

    :raises Failure: matplotlib isn't installed, or the file can't be written.
    """
    weeks = [_monday_of(row.days[-1].date) - _monday_of(row.days[0].date) for row in rows]
    heights = [_HEAD + _WEEK * (span.days // 7 + 1) for span in weeks]
    with _figure(_WIDTH, sum(heights) + _FOOT, path) as figure:
        top = figure.get_figheight()
        for row, height in zip(rows, heights, strict=True):
            top -= height
            inside = [0.085, top / figure.get_figheight(), 0.9, (height - _HEAD)]
            inside[3] /= figure.get_figheight()
            _weeks(figure.add_axes(inside), row)
        _legend(figure, zone)


def bookings(
    found: Sequence[tuple[str, Reservation]],
    name: str,
    period: Span,
    path: str,
    zone: datetime.tzinfo,
) -> None:
    """Write the bookings of a flavor, a bar each, as an SVG or PNG.

    :param found: bookings, each with what to call it.
    :param name: the flavor's.
    :raises Failure: matplotlib isn't installed, or the file can't be written.
    """
    height = 1.2 + 0.3 * max(1, len(found))
    with _figure(_WIDTH, height, path) as figure:
        axes = figure.add_axes([0.2, 0.55 / height, 0.77, 1 - 1.05 / height])
        hours = (period.end - period.start).total_seconds() / 3600
        for y, (_, booking) in enumerate(found):
            start, end = (
                min(hours, max(0, (moment - period.start).total_seconds() / 3600))
                for moment in (booking.start, booking.end)
            )
            color = _ALL if booking.status == "ACTIVE" else _FEW
            axes.barh(y, end - start, left=start, height=0.7, color=color, edgecolor=_INK, lw=0.6)
            middle = (start + end) / 2
            axes.text(middle, y, str(booking.instance_count), ha="center", va="center", fontsize=7)
        _days_below(axes, period, zone)
        axes.set_yticks(
            range(len(found)), [called[:24] for called, _ in found], fontsize=7, parse_math=False
        )
        axes.set_ylim(max(1, len(found)) - 0.4, -0.6)
        axes.set_title(f"Bookings of {name}", fontsize=10, loc="left", parse_math=False)
        figure.text(
            0.02,
            0.12 / height,
            f"Numbers are slots; darker bars run now. Days of {zones.label(zone)}",
            fontsize=7,
        )


def _days_below(axes: Any, period: Span, zone: datetime.tzinfo) -> None:
    """A tick at the first minute of each day, of as many days as can be read."""
    hours = (period.end - period.start).total_seconds() / 3600
    step = max(1, round(hours / 24 / 10))
    day = period.start.astimezone(zone).date()
    ticks = []
    while (there := datetime.datetime.combine(day, datetime.time(), zone)) < period.end:
        if there >= period.start:
            ticks.append(((there - period.start).total_seconds() / 3600, f"{day:%a}\n{day:%b %d}"))
        day += step * _DAY
    axes.set_xticks([at for at, _ in ticks], [text for _, text in ticks], fontsize=7)
    axes.set_xlim(0, hours)
    axes.grid(axis="x", color="#dddddd", lw=0.5)
    axes.set_axisbelow(True)


@contextlib.contextmanager
def _figure(width: float, height: float, path: str) -> Iterator[Any]:
    """A figure that is written when it is drawn; its text is text in an SVG, too."""
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
            # The same calendar is the same file.
            undated = {"Date": None} if path.endswith(".svg") else {}
            figure.savefig(path, dpi=150, metadata=undated)
        except OSError as error:
            raise Failure(f"{path}: {error.strerror}") from error


def _monday_of(date: datetime.date) -> datetime.date:
    return date - date.weekday() * _DAY


def _weeks(axes: Any, row: Row) -> None:
    """A flavor: a row for each week, a cell for each day."""
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
    title = f"{row.name}: {display.slots(row.slots)}, at most {row.most} free at once"
    # Names are no formulas.
    axes.set_title(title, fontsize=10, loc="left", fontweight="bold", parse_math=False)
    for day in row.days:
        _day(axes, row, day, (day.date - monday).days // 7)


def _day(axes: Any, row: Row, day: Day, week: int) -> None:
    """How the day goes from left to right, below the number that can be booked all day."""
    left, bottom = day.date.weekday(), week + 0.96
    places = _Places(day, left)
    for span, count in day.steps:
        x, width = places.of(span)
        color = _color(count, row.most)
        _box(axes, (x, bottom - _BAR, width, _BAR), facecolor=color, edgecolor="none")
    _box(axes, (left + 0.02, week + 0.04, 0.96, 0.92), facecolor="none", edgecolor="#bbbbbb", lw=1)
    for window in row.windows:
        x, width = places.of(window)
        box = (x, week + 0.04, width, 0.92)
        _box(axes, box, facecolor="none", edgecolor="#555555", hatch="////", lw=0)
    for booking in row.own:
        x, width = places.of(Span(booking.start, booking.end))
        box = (x, bottom - _BAR, width, _BAR)
        _box(axes, box, facecolor="none", edgecolor="#1f4e9e", lw=2)
    more = "+" if day.at_best > day.throughout else ""
    halo = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    said = f"{day.throughout}{more}"
    axes.text(left + 0.5, week + 0.32, said, ha="center", va="center", fontsize=9, bbox=halo)
    axes.text(left + 0.06, week + 0.27, f"{day.date:%d}", fontsize=6, color="#666666", bbox=halo)


class _Places:
    """Where moments of a day are on its cell, which is as wide as the whole day is long."""

    def __init__(self, day: Day, left: float) -> None:
        self._day = day
        self._left = left + 0.02
        # Today's cell is of the whole day, of which some has passed.
        self._first = max(_DAY, day.span.end - day.span.start)

    def of(self, span: Span) -> tuple[float, float]:
        """(x, width) of the part of a span that is on this day; the width may be 0."""
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
    """From few to all that can be booked at once: hosts may hold less than the slots."""
    if not count:
        return _NONE
    few, every = (tuple(int(c[n : n + 2], 16) for n in (1, 3, 5)) for c in (_FEW, _ALL))
    share = 1.0 if most <= 1 else (count - 1) / (most - 1)
    mixed = (round(a + (b - a) * share) for a, b in zip(few, every, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _legend(figure: Any, zone: datetime.tzinfo) -> None:
    from matplotlib.patches import Patch  # noqa: PLC0415

    entries = [
        Patch(facecolor=_ALL, label="most are free"),
        Patch(facecolor=_FEW, label="few are free"),
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
        "Numbers: slots that can be booked all day, + more for a part of it. "
        f"Each day from left to right, in {zones.label(zone)}",
        fontsize=7,
    )
