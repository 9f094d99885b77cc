"""The calendar and the bookings of a flavor as charts in a terminal."""

import datetime
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from warre_blazar.cli import display, zones
from warre_blazar.cli.days import Day, Row, touches
from warre_blazar.client import Reservation, Span

#: Of a day: digits and marks, and a space between days.
_LEAST_CELL = 4
_DATE = 7
_WEEK = 7
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LEGEND = (
    "2: so many slots can be booked all day; 2+: more for a part of it; ·: none. "
    "/: closed for maintenance, *: booked by your project, for a part at least. Days of {zone}"
)


def draw(rows: Sequence[Row], out: TextIO, zone: datetime.tzinfo) -> None:
    """Each flavor's weeks, one below the other; color only on a terminal."""
    # Rich takes 80 columns where it can't know; COLUMNS says otherwise.
    console = Console(file=out, highlight=False, markup=False, emoji=False)
    with console.capture() as drawn:
        for row in rows:
            _print(console, _title(row, console.width))
            for line in _weeks(row, console.width):
                _print(console, line)
        console.print(Text(_LEGEND.format(zone=zones.label(zone)), style="dim"))
    # Not by rich itself, which would end the program where a pipe is closed.
    out.write("".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines()))


def _print(console: Console, line: Text) -> None:
    console.print(line, no_wrap=True, crop=True, overflow="crop")


def _title(row: Row, width: int) -> Text:
    said = f": {display.slots(row.slots)}"
    name = row.name
    if cell_len(name) + len(said) > width:
        name = set_cell_size(name, max(1, width - len(said) - 1)).rstrip() + "…"
    return Text(f"{name}{said}", style="bold")


def _weeks(row: Row, width: int) -> Iterator[Text]:
    """A line for each week from Monday on, or for each day where weeks don't fit."""
    cells = [(day.date, _cell(row, day)) for day in row.days]
    cell = max(_LEAST_CELL, 1 + max(len(text) for _, text in cells))
    if _DATE + _WEEK * cell > width:
        for date, text in cells:
            yield Text(f"{date:%a %b %d} ") + text
        return
    yield Text(" " * _DATE + "".join(name.rjust(cell) for name in _WEEKDAYS))
    lines: dict[datetime.date, Text] = {}
    for date, text in cells:
        monday = date - datetime.timedelta(days=date.weekday())
        begun = Text(f"{monday:%b %d} ".ljust(_DATE) + " " * cell * date.weekday())
        lines[monday] = lines.get(monday, begun) + Text(" " * (cell - len(text))) + text
    yield from lines.values()


def _cell(row: Row, day: Day) -> Text:
    """2 can be booked all day; 1+: more for some of it; ·: none; / and * as the legend says."""
    more = "+" if day.at_best > day.throughout else ""
    closed = "/" if any(touches(day.span, window) for window in row.windows) else ""
    own = "*" if any(touches(day.span, Span(r.start, r.end)) for r in row.own) else ""
    if not day.at_best:
        return Text(f"·{closed}{own}", style="red")
    style = "green" if day.throughout == row.most else "yellow"
    return Text(f"{day.throughout}{more}{closed}{own}", style=style)


def bookings(
    found: Sequence[tuple[str, Reservation]], period: Span, out: TextIO, zone: datetime.tzinfo
) -> None:
    """A bar for each booking of a flavor, from the start of a period to its end.

    :param found: bookings, each with what to call it.
    """
    console = Console(file=out, highlight=False, markup=False, emoji=False)
    name_width = min(24, max([len("project")] + [cell_len(name) for name, _ in found]))
    wide = max(10, console.width - name_width - 10)
    whole = (period.end - period.start).total_seconds()

    def at(moment: datetime.datetime) -> float:
        return min(1, max(0, (moment - period.start).total_seconds() / whole))

    with console.capture() as drawn:
        for name, booking in found:
            first = min(wide - 1, int(at(booking.start) * wide))
            last = max(first + 1, round(at(booking.end) * wide))
            bar = " " * first + "█" * (last - first)
            text = f"{set_cell_size(name, name_width)} {booking.instance_count:>4} |"
            style = "green" if booking.status == "ACTIVE" else "yellow"
            line = Text(text) + Text(bar.ljust(wide), style=style) + Text("|")
            _print(console, line)
        start, end = (display.brief(moment, zone) for moment in (period.start, period.end))
        console.print(Text(f"Project, slots, and when: from {start} to {end}", style="dim"))
    out.write(drawn.get())
