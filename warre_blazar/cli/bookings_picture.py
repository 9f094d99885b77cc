"""Draws who has booked flavors as a picture."""

import datetime
from collections.abc import Sequence
from typing import Any

from warre_blazar.cli import booked_flavors, picture_file, time_display, time_zones, wording
from warre_blazar.cli.booked_flavors import BookedFlavor, NamedReservation
from warre_blazar.cli.picture_file import ALL, FEW, INK
from warre_blazar.client import Span

#: Sizes in inches: the picture's width, the heights of a flavor's title with its dates, of a bar,
#: of the chart of totals, and of the legend.
_WIDTH, _HEAD, _BAR, _TOTALS, _FOOT = 8.6, 0.85, 0.28, 0.6, 0.55
#: Where the bars begin and how wide they may be, as parts of the picture's width.
_LEFT, _SPACE = 0.22, 0.75
_CLOSED: dict[str, Any] = {"facecolor": "none", "edgecolor": "#999999", "hatch": "////", "lw": 0}
_NOW, _BOOKED = "#c0392b", "#d9d9d9"
#: A number is written into a bar that is at least this part of the period long.
_ROOMY = 0.025
_MOST_DATES = 10
_LONGEST = 26


def write(
    flavors: Sequence[BookedFlavor],
    period: Span,
    path: str,
    zone: datetime.tzinfo,
    now: datetime.datetime,
) -> None:
    """Write a picture with a bar for each reservation, as an SVG or a PNG.

    Below the bars of a flavor, a line shows the sum of their slots.

    :param now: the present moment, which is drawn as a line.
    :raises Failure: matplotlib isn't installed, or the file can't be written.
    """
    bars = [max(1, len(flavor.bookings)) * _BAR for flavor in flavors]
    whole = sum(_HEAD + each + _TOTALS for each in bars) + _FOOT
    with picture_file.drawing(_WIDTH, whole, path) as figure:
        top = whole
        for flavor, height in zip(flavors, bars, strict=True):
            top -= 0.35 + height
            above = figure.add_axes([_LEFT, top / whole, _SPACE, height / whole])
            top -= _TOTALS
            below = figure.add_axes([_LEFT, top / whole, _SPACE, (_TOTALS - 0.08) / whole])
            top -= _HEAD - 0.35
            picture = _Picture(flavor, period, zone, now)
            picture.bars(above)
            picture.totals(below)
        _legend(figure, whole, zone)


class _Picture:
    """The part of the picture that is about one flavor."""

    def __init__(
        self, flavor: BookedFlavor, period: Span, zone: datetime.tzinfo, now: datetime.datetime
    ) -> None:
        self._flavor, self._period, self._zone, self._now = flavor, period, zone, now
        self._hours = self._at(period.end)

    def _at(self, moment: datetime.datetime) -> float:
        """The hours from the start of the period to a moment."""
        return (moment - self._period.start).total_seconds() / 3600

    def bars(self, axes: Any) -> None:
        """Draw a bar for each reservation, or a text if there are none."""
        flavor = self._flavor
        title = f"{flavor.name}: {wording.slots(flavor.slots)}"
        axes.set_title(title, fontsize=10, loc="left", fontweight="bold", parse_math=False)
        count = max(1, len(flavor.bookings))
        axes.set_ylim(count - 0.4, -0.6)
        self._background(axes)
        labels = [booking.label[:_LONGEST] for booking in flavor.bookings]
        axes.set_yticks(range(len(labels)), labels, fontsize=7, parse_math=False)
        axes.tick_params(axis="x", length=0, labelbottom=False)
        for y, booking in enumerate(flavor.bookings):
            self._bar(axes, y, booking)
        if not flavor.bookings:
            start, end = (
                time_display.brief(moment, self._zone)
                for moment in (self._period.start, self._period.end)
            )
            text = f"No reservations from {start} to {end}"
            axes.text(self._hours / 2, 0, text, ha="center", va="center", fontsize=8)

    def _bar(self, axes: Any, y: int, booking: NamedReservation) -> None:
        reservation = booking.reservation
        start, end = (
            min(self._hours, max(0.0, self._at(moment)))
            for moment in (reservation.start, reservation.end)
        )
        color = ALL if booking.is_running else FEW
        axes.barh(y, end - start, left=start, height=0.7, color=color, edgecolor=INK, lw=0.6)
        number = str(reservation.instance_count)
        if end - start >= _ROOMY * len(number) * self._hours:
            axes.text((start + end) / 2, y, number, ha="center", va="center", fontsize=7)
            return
        # The bar is too short for its number, so the number is beside it.
        gap = 0.006 * self._hours
        on_the_right = end < 0.9 * self._hours
        at, align = (end + gap, "left") if on_the_right else (start - gap, "right")
        axes.text(at, y, number, ha=align, va="center", fontsize=7)

    def totals(self, axes: Any) -> None:
        """Draw the number of booked slots as steps, and the flavor's slots as a line."""
        flavor = self._flavor
        steps = flavor.totals(self._period)
        moments = [self._at(moment) for moment, _ in steps] + [self._hours]
        numbers = [number for _, number in steps]
        axes.stairs(numbers, moments, fill=True, color=_BOOKED, edgecolor=INK, lw=0.6)
        axes.axhline(flavor.slots, color=INK, lw=0.8, ls="--")
        most = max([flavor.slots, *numbers])
        axes.set_ylim(0, 1.15 * most)
        axes.set_yticks([0, flavor.slots], ["0", wording.slots(flavor.slots)], fontsize=7)
        self._background(axes)
        ticks = list(booked_flavors.marks(self._period, self._zone, _MOST_DATES))
        texts = [
            f"{tick:%a}\n{tick:%b %d}" if booked_flavors.is_midnight(tick) else f"{tick:%H:%M}"
            for tick in ticks
        ]
        axes.set_xticks([self._at(tick) for tick in ticks], texts, fontsize=7)

    def _background(self, axes: Any) -> None:
        """Draw what both charts have: the days, the maintenance windows, and the present moment."""
        axes.set_xlim(0, self._hours)
        for mark in booked_flavors.marks(self._period, self._zone, _MOST_DATES):
            axes.axvline(self._at(mark), color="#dddddd", lw=0.5, zorder=0)
        for window in self._flavor.windows:
            axes.axvspan(self._at(window.start), self._at(window.end), zorder=0, **_CLOSED)
        if self._period.start <= self._now < self._period.end:
            axes.axvline(self._at(self._now), color=_NOW, lw=1)


def _legend(figure: Any, height: float, zone: datetime.tzinfo) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415
    from matplotlib.patches import Patch  # noqa: PLC0415

    entries = [
        Patch(facecolor=ALL, edgecolor=INK, lw=0.6, label="runs now"),
        Patch(facecolor=FEW, edgecolor=INK, lw=0.6, label="doesn't run now"),
        Patch(facecolor=_BOOKED, edgecolor=INK, lw=0.6, label="booked slots"),
        Patch(label="closed", **_CLOSED),
        Line2D([], [], color=_NOW, lw=1, label="now"),
        Line2D([], [], color=INK, lw=0.8, ls="--", label="the flavor's slots"),
    ]
    figure.legend(
        handles=entries,
        loc="lower left",
        bbox_to_anchor=(0.015, 0.22 / height),
        ncols=6,
        fontsize=7,
        frameon=False,
    )
    text = f"Numbers are slots. Days of {time_zones.label(zone)}"
    figure.text(0.022, 0.1 / height, text, fontsize=7)
