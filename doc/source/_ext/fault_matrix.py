"""Directive that prints what ``tests/functional/db/test_fault_matrix.py`` has found."""

import json
import pathlib
from collections import defaultdict
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

FILE = pathlib.Path(__file__).with_suffix(".json")
HEADER = ("Call", "Fault", "Answer", "At once", "After the polls")


def rows_of(cells: list[dict[str, str]]) -> list[tuple[str, ...]]:
    """A step's cells as rows; faults of a call that come to the same are one row."""
    grouped: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for cell in cells:
        came_to = (cell["answer"], cell["at_once"], cell["in_the_end"])
        grouped[cell["call"], *came_to].append(cell["fault"])
    return [(call, "; ".join(faults), *came_to) for (call, *came_to), faults in grouped.items()]


def lines_of(matrix: dict[str, list[dict[str, str]]]) -> list[str]:
    """The matrix as reStructuredText: a table for each step."""
    lines: list[str] = []
    for step, cells in matrix.items():
        lines += [f"**{step}** ({len(cells)} cells)", ""]
        lines += [".. list-table::", "   :header-rows: 1", "   :widths: 30 28 14 14 14", ""]
        for row in (HEADER, *rows_of(cells)):
            for number, text in enumerate(row):
                lines.append(f"   {'*' if number == 0 else ' '} - {text}")
        lines.append("")
    return lines


class FaultMatrix(Directive):
    """``.. fault-matrix::``"""

    def run(self) -> list[nodes.Node]:
        node = nodes.container()
        lines = lines_of(json.loads(FILE.read_text()))
        self.state.nested_parse(StringList(lines, source=__file__), 0, node)
        return node.children


def setup(app: Any) -> dict[str, Any]:
    """Sphinx calls it."""
    app.add_directive("fault-matrix", FaultMatrix)
    return {"parallel_read_safe": True}
