"""Role and directive that print what the benchmarks have measured, from ``figures.json``."""

import json
import pathlib
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.parsers.rst.states import Inliner
from docutils.statemachine import StringList

FILE = pathlib.Path(__file__).parents[1] / "figures.json"


def figure(name: str) -> str:
    """The figure of a name such as ``lease.create.ours``: the benchmark, a dot, the figure's name.

    :raises KeyError: if the file has no such figure.
    """
    benchmark, _, key = name.partition(".")
    return str(json.loads(FILE.read_text())[benchmark][key])


def lines_of(benchmark: str) -> list[str]:
    """The table of a benchmark as reStructuredText.

    :raises KeyError: if the file has no table of that benchmark.
    """
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in json.loads(FILE.read_text())[benchmark]["table"]:
        for number, cell in enumerate(row):
            lines.append(f"   {'*' if number == 0 else ' '} - {cell}".rstrip())
    return lines


def measured(
    name: str,
    rawtext: str,
    text: str,
    lineno: int,
    inliner: Inliner,
    options: Any = None,
    content: Any = None,
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """``:measured:`lease.create.ours```"""
    try:
        return [nodes.Text(figure(text))], []
    except KeyError:
        message = inliner.reporter.error(f"figures.json has no {text}", line=lineno)
        return [inliner.problematic(rawtext, rawtext, message)], [message]


class MeasuredTable(Directive):
    """``.. measured-table:: hosts``"""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        try:
            lines = lines_of(self.arguments[0])
        except KeyError as error:
            raise self.error(f"figures.json has no table of {self.arguments[0]}") from error
        node = nodes.container()
        self.state.nested_parse(StringList(lines, source=__file__), 0, node)
        return node.children


def setup(app: Any) -> dict[str, Any]:
    """Sphinx calls it."""
    app.add_role("measured", measured)
    app.add_directive("measured-table", MeasuredTable)
    return {"parallel_read_safe": True}
