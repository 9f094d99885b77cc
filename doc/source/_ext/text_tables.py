"""The directive ``.. text-table:: NAME``, which prints a part of the page of texts."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from warre_blazar import texts
from warre_blazar.texts.entries import Entry

HEADER = ("Code", "Reason", "Sentence", "Further data")
_WIDTHS = "18 15 52 15"
#: The tables by name.
TABLES: Mapping[str, Iterable[Entry]] = {
    "errors": texts.ERRORS.values(),
    "warnings": texts.WARNINGS.values(),
    "why": texts.BRIEF.values(),
}


def cells(entries: Iterable[Entry]) -> list[tuple[str, ...]]:
    """The rows of a table, sorted; columns as in ``HEADER``."""
    return [
        (
            f"``{entry.code}``",
            f"``{entry.reason}``" if entry.reason else "",
            _escaped(entry.frame.replace("{clause}", entry.template) or entry.template),
            ", ".join(f"``{name}``" for name in entry.also.split()),
        )
        for entry in sorted(entries, key=lambda each: (each.code, each.reason))
    ]


def _escaped(sentence: str) -> str:
    return re.sub(r"([\\*`|_])", r"\\\1", sentence)


def _lines(rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {_WIDTHS}", ""]
    for row in (HEADER, *rows):
        lines += [f"   {'*' if n == 0 else ' '} - {cell}" for n, cell in enumerate(row)]
    return lines


class TextTable(Directive):
    """``.. text-table:: NAME``"""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        node = nodes.container()
        lines = _lines(cells(TABLES[self.arguments[0]]))
        self.state.nested_parse(StringList(lines, source=__file__), 0, node)
        return node.children


def setup(app: Any) -> dict[str, Any]:
    """Sphinx calls it."""
    app.add_directive("text-table", TextTable)
    return {"parallel_read_safe": True}
