"""Draws the calendar of flavors as a chart in a terminal."""

import datetime
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from warre_blazar.cli import time_zones, wording
from warre_blazar.cli.free_by_day import Day, Row, touches
from warre_blazar.client import Span

#: The smallest width of a day in characters, with the space before the day's text.
_LEAST_CELL = 4
_DATE = 7
_WEEK = 7
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LEGEND = (
    "2: two slots can be booked all day; 2+: more for part of the day. "
    "/: closed, *: booked by your project, at least partly. Time zone: {zone}"
)


def draw(rows: Sequence[Row], out: TextIO, zone: datetime.tzinfo) -> None:
    """Draw the weeks of each flavor, one below the other. Color is used only on a terminal."""
    # Without a terminal, Rich uses 80 columns, or the number of columns in the variable COLUMNS.
    console = Console(file=out, highlight=False, markup=False, emoji=False)
    with console.capture() as drawn:
        for row in rows:
            _print(console, _title(row, console.width))
            for line in _weeks(row, console.width):
                _print(console, line)
        console.print(Text(_LEGEND.format(zone=time_zones.label(zone)), style="dim"))
    # Rich must not write the chart itself, because it would end the program when a pipe is closed.
    out.write("".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines()))


def _print(console: Console, line: Text) -> None:
    console.print(line, no_wrap=True, crop=True, overflow="crop")


def _title(row: Row, width: int) -> Text:
    slots = f": {wording.slots(row.slots)}"
    name = row.name
    if cell_len(name) + len(slots) > width:
        name = set_cell_size(name, max(1, width - len(slots) - 1)).rstrip() + "…"
    return Text(f"{name}{slots}", style="bold")


def _weeks(row: Row, width: int) -> Iterator[Text]:
    """Yield a line for each week. If weeks are too wide, yield a line for each day.

    A week begins on Monday.
    """
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
        new_line = Text(f"{monday:%b %d} ".ljust(_DATE) + " " * cell * date.weekday())
        lines[monday] = lines.get(monday, new_line) + Text(" " * (cell - len(text))) + text
    yield from lines.values()


def _cell(row: Row, day: Day) -> Text:
    """Return a day's text: the number of free slots, and signs that the legend explains."""
    more = "+" if day.at_best > day.throughout else ""
    closed = "/" if any(touches(day.span, window) for window in row.windows) else ""
    own = "*" if any(touches(day.span, Span(r.start, r.end)) for r in row.own) else ""
    if not day.at_best:
        return Text(f"0{closed}{own}", style="red")
    style = "green" if day.throughout == row.most else "yellow"
    return Text(f"{day.throughout}{more}{closed}{own}", style=style)
