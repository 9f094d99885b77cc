"""Directive that prints the table of a module of times, such as ``warre_blazar/times.py``.

In such a module, the comment above each time (``#:``) says what waits for it. The comment has the
fields ``longer``, ``shorter`` and ``option``. A comment alone between empty lines begins a section.
"""

import dataclasses
import datetime
import importlib
import inspect
import math
import re
import types
from collections.abc import Iterable
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

HEADER = ("Name and value", "What it is", "If it is longer", "If it is shorter")
_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60))
_NAME = re.compile(r"([A-Z][A-Z0-9_]*)(?:: [^=]+)? = ")
_FIELD = re.compile(r":(longer|shorter|option): ?")


@dataclasses.dataclass(frozen=True)
class Entry:
    """A time, and what the module says about it."""

    name: str
    value: Any
    section: str
    text: str
    longer: str
    shorter: str
    option: str


def entries(module: types.ModuleType, source: str | None = None) -> list[Entry]:
    """The times of a module, in its order.

    :param source: the module's source, if it isn't in a file.
    """
    found, section, comment = [], "", []
    for line in (source or inspect.getsource(module)).splitlines():
        if line.startswith("#:"):
            comment.append(line.removeprefix("#:").strip())
            continue
        if line.startswith("# "):
            section = line.removeprefix("# ")
        elif match := _NAME.match(line):
            name = match[1]
            found.append(Entry(name, getattr(module, name), section, **_parts(" ".join(comment))))
        comment = []
    return found


def _parts(comment: str) -> dict[str, str]:
    """The text of a comment and its fields."""
    text, *fields = _FIELD.split(comment)
    given = dict(zip(fields[::2], fields[1::2], strict=True))
    parts = {"text": text, "longer": "", "shorter": "", "option": "", **given}
    return {name: part.strip() for name, part in parts.items()}


def shown(name: str, value: Any) -> str:
    """A time with its unit. A number is one of seconds, unless the name ends in another unit."""
    if isinstance(value, tuple):
        return ", ".join(shown(name, each) for each in value)
    last = name.rpartition("_")[2].lower()
    if last in ("days", "hours", "intervals", "minutes", "years"):
        return _counted(value, last.removesuffix("s"))
    seconds = value.total_seconds() if isinstance(value, datetime.timedelta) else value
    if seconds == math.inf:
        return "any time"
    for unit, length in _UNITS:
        if seconds and seconds % length == 0:
            return _counted(seconds // length, unit)
    return _counted(seconds, "second")


def _counted(number: float, unit: str) -> str:
    return f"{number:g} {unit}{'' if abs(number) == 1 else 's'}"


def lines_of(entries: Iterable[Entry]) -> list[str]:
    """The times as reStructuredText: a table for each section."""
    lines: list[str] = []
    sections: dict[str, list[Entry]] = {}
    for entry in entries:
        sections.setdefault(entry.section, []).append(entry)
    for section, members in sections.items():
        if section == "Units":
            continue
        lines += [f".. rubric:: {section}", "", ".. list-table::", "   :header-rows: 1"]
        lines += ["   :widths: 22 34 22 22", ""]
        for row in (HEADER, *map(_cells, members)):
            for number, cell in enumerate(row):
                lines.append(f"   {'*' if number == 0 else ' '} - {cell}")
        lines.append("")
    return lines


def _cells(entry: Entry) -> tuple[str, ...]:
    option = f" Option: {entry.option}." if entry.option else ""
    value = shown(entry.name, entry.value)
    return f"``{entry.name}``: {value}", entry.text + option, entry.longer, entry.shorter


class TimesTable(Directive):
    """``.. times-table:: warre_blazar.times``"""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module = importlib.import_module(self.arguments[0])
        node = nodes.container()
        lines = lines_of(entries(module))
        self.state.nested_parse(StringList(lines, source=__file__), 0, node)
        return node.children


def setup(app: Any) -> dict[str, Any]:
    """Sphinx calls it."""
    app.add_directive("times-table", TimesTable)
    return {"parallel_read_safe": True}
