"""The calendar as a chart in a terminal."""

from collections.abc import Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from warre_blazar.cli.days import Day

_LEAST_NAME, _MOST_NAME = 8, 30
_BARS = "▁▂▃▄▅▆▇█"
_LEGEND = "Free slots of each day, in UTC or --timezone. +: more for a part; ·: none"

Rows = Sequence[tuple[str, Sequence[Day]]]


def draw(rows: Rows, out: TextIO) -> None:
    """As many days side by side as fit; colour only on a terminal."""
    # Rich takes 80 columns where it can't know; COLUMNS says otherwise.
    console = Console(file=out, highlight=False, markup=False, emoji=False)
    days = len(rows[0][1])
    name, cell = _widths(rows, console.width)
    fit = max(1, (console.width - name) // (cell + 1))
    step = fit if fit < 7 or days <= fit else fit - fit % 7
    with console.capture() as drawn:
        for first in range(0, days, step):
            part = [(text, found[first : first + step]) for text, found in rows]
            console.print(_block(part, name, cell))
        console.print(Text(_LEGEND))
    # Not by rich itself, which would end the program where a pipe is closed.
    out.write(drawn.get())


def _widths(rows: Rows, whole: int) -> tuple[int, int]:
    """Of the names, and of a day: a bar, digits, a plus."""
    longest = max(Text(name).cell_len for name, _ in rows)
    name = min(max(_LEAST_NAME, longest), _MOST_NAME, max(_LEAST_NAME, whole // 3))
    return name, max(4, 2 + max(len(str(day.slots)) for _, found in rows for day in found))


def _block(rows: Rows, name: int, cell: int) -> Table:
    """Days side by side."""
    days = [day.date for day in rows[0][1]]
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    table.add_column(f"{days[0]:%b}", width=name, no_wrap=True, overflow="ellipsis")
    for day in days:
        table.add_column(Text(f"{day:%a}\n{day:%d}", justify="right"), width=cell, justify="right")
    for text, found in rows:
        table.add_row(Text(text), *(_cell(day) for day in found))
    return table


def _cell(day: Day) -> Text:
    """2 is free all day; 1+ is more for some of it; · is none."""
    more = "+" if day.at_best > day.throughout else ""
    if not day.at_best:
        return Text("·", style="red")
    bar = _BARS[(day.throughout * (len(_BARS) - 1)) // max(1, day.slots)]
    style = "green" if day.throughout == day.slots else "yellow"
    return Text(f"{bar}{day.throughout}{more}", style=style)
