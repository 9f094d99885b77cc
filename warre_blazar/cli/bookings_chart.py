"""Draws who has booked flavors as a chart in a terminal."""

import datetime
from collections.abc import Sequence
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from warre_blazar.cli import booked_flavors, time_display, time_zones, wording
from warre_blazar.cli.booked_flavors import BookedFlavor, NamedReservation
from warre_blazar.client import Span

_LEGEND = "█ runs now, ▒ doesn't run now, / closed. The numbers are slots. Time zone: {zone}"
_RUNNING, _OTHER, _CLOSED = "█", "▒", "/"
#: The longest label of a bar, in characters.
_LABEL = 24
#: The characters between a label and its bar: the number of slots, and a border.
_BETWEEN = 7
_DATE, _HOUR = "%b %d", "%H:%M"


def draw(flavors: Sequence[BookedFlavor], period: Span, out: TextIO, zone: datetime.tzinfo) -> None:
    """Draw a bar for each reservation. The chart shows the period from left to right."""
    console = Console(file=out, highlight=False, markup=False, emoji=False)
    labels = [booking.label for flavor in flavors for booking in flavor.bookings]
    label_width = min(_LABEL, max((cell_len(label) for label in labels), default=0))
    chart = _Chart(period, zone, label_width, max(10, console.width - label_width - _BETWEEN - 1))
    with console.capture() as drawn:
        for flavor in flavors:
            for line in chart.flavor(flavor):
                console.print(line, no_wrap=True, crop=True, overflow="crop")
        console.print(Text(_LEGEND.format(zone=time_zones.label(zone)), style="dim"))
    # Rich must not write the chart itself, because it would end the program when a pipe is closed.
    out.write("".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines()))


class _Chart:
    def __init__(self, period: Span, zone: datetime.tzinfo, label_width: int, width: int) -> None:
        self._period, self._zone = period, zone
        self._label_width, self._width = label_width, width

    def flavor(self, flavor: BookedFlavor) -> list[Text]:
        """Return the lines about a flavor."""
        title = Text(f"{flavor.name}: {wording.slots(flavor.slots)}", style="bold")
        if not flavor.bookings:
            start, end = (
                time_display.brief(moment, self._zone)
                for moment in (self._period.start, self._period.end)
            )
            return [title, Text(f"No reservations from {start} to {end}", style="dim")]
        bars = [self._bar(flavor, booking) for booking in flavor.bookings]
        return [title, *bars, self._axis()]

    def _bar(self, flavor: BookedFlavor, booking: NamedReservation) -> Text:
        reservation = booking.reservation
        cells = [" "] * self._width
        for window in flavor.windows:
            first, last = self._columns(window)
            cells[first:last] = _CLOSED * (last - first)
        first, last = self._columns(Span(reservation.start, reservation.end))
        sign = _RUNNING if booking.is_running else _OTHER
        cells[first:last] = sign * (last - first)
        style = "green" if booking.is_running else "yellow"
        label = set_cell_size(booking.label, self._label_width)
        text = Text(f"{label} {reservation.instance_count:>{_BETWEEN - 3}} |")
        return text + Text("".join(cells), style=style) + Text("|")

    def _columns(self, span: Span) -> tuple[int, int]:
        """Return the first column of a span, and the first one after it. It has at least one."""
        whole = self._period.end - self._period.start
        first, last = (
            min(1.0, max(0.0, (moment - self._period.start) / whole)) * self._width
            for moment in (span.start, span.end)
        )
        begin = min(self._width - 1, int(first))
        if span.end <= self._period.start or span.start >= self._period.end:
            return begin, begin
        return begin, max(begin + 1, round(last))

    def _axis(self) -> Text:
        """Return a line with dates below the places of their midnights, or with hours of a day."""
        cells = [" "] * self._width
        free_from = 0
        most = max(1, self._width // (len("Nov 30") + 2))
        for mark in booked_flavors.marks(self._period, self._zone, most):
            at, _ = self._columns(Span(mark, mark + datetime.timedelta(minutes=1)))
            text = f"'{mark:{_DATE if booked_flavors.is_midnight(mark) else _HOUR}}"
            if at >= free_from and at + len(text) <= self._width:
                cells[at : at + len(text)] = text
                free_from = at + len(text) + 1
        margin = " " * (self._label_width + _BETWEEN)
        return Text(margin + "".join(cells).rstrip(), style="dim")
