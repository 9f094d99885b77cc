"""Directives that print what the code says of its modules and of its tables in the database.

``.. file-table:: services`` prints the first line of each module's docstring, package by package.
``.. room-table:: services`` does so for the packages in a directory. ``.. table-list:: db`` prints
the comment above each table that a module in a directory declares.
"""

import ast
import pathlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

ROOT = pathlib.Path(__file__).parents[3] / "warre_blazar"
_TABLE = re.compile(r'^((?:# .*\n)*)\w+ = sa\.Table\(\n    "(\w+)"', re.MULTILINE)


def summary(path: pathlib.Path) -> str:
    """The first line of a module's docstring. It is empty if there is no docstring or no module."""
    source = path.read_text() if path.exists() else ""
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def modules(directory: str) -> dict[str, list[pathlib.Path]]:
    """The modules that say something, by package. The packages are sorted, the outermost first.

    :param directory: a directory in this package, or ``.``, for the modules beside the directories.
    """
    pattern = "*.py" if directory == "." else "**/*.py"
    found: dict[str, list[pathlib.Path]] = {}
    for path in sorted((ROOT / directory).glob(pattern)):
        if path.name != "__init__.py":
            found.setdefault(_name(path.parent), []).append(path)
    return dict(sorted(found.items()))


def rooms(directory: str) -> dict[str, str]:
    """The packages in a directory, each with the first line of its docstring."""
    files = sorted((ROOT / directory).glob("*/__init__.py"))
    return {path.parent.name: summary(path) for path in files if summary(path)}


def tables(source: str) -> dict[str, str]:
    """The tables that a module declares, each with the comment above it."""
    return {name: _joined(comment) for comment, name in _TABLE.findall(source)}


def _joined(comment: str) -> str:
    return " ".join(line.removeprefix("# ") for line in comment.splitlines())


def _name(path: pathlib.Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _lines(header: tuple[str, str], rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from (".. list-table::", "   :header-rows: 1", "   :widths: 38 62", "")
    for first, second in (header, *rows):
        yield from (f"   * - {first}", f"     - {second}")
    yield ""


class _Generated(Directive):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        # Sphinx doesn't know that the page depends on the code.
        self.state.document.settings.env.note_reread()
        node = nodes.container()
        lines = list(self.lines(self.arguments[0]))
        self.state.nested_parse(StringList(lines, source=__file__), 0, node)
        return node.children

    def lines(self, argument: str) -> Iterator[str]:
        raise NotImplementedError


class FileTable(_Generated):
    """``.. file-table:: DIRECTORY``"""

    def lines(self, argument: str) -> Iterator[str]:
        for package, paths in modules(argument).items():
            if package != ".":
                said = summary(ROOT / package / "__init__.py")
                yield from (f".. rubric:: ``{package}/``", "", said, "")
            rows = [(f"``{_name(path)}``", summary(path)) for path in paths]
            yield from _lines(("File", "What it does"), rows)


class RoomTable(_Generated):
    """``.. room-table:: DIRECTORY``"""

    def lines(self, argument: str) -> Iterator[str]:
        rows = [(f"``{name}``", said) for name, said in rooms(argument).items()]
        return _lines(("Room", "What is in it"), rows)


class TableList(_Generated):
    """``.. table-list:: DIRECTORY``"""

    def lines(self, argument: str) -> Iterator[str]:
        for path in sorted((ROOT / argument).glob("*.py")):
            if found := tables(path.read_text()):
                yield from (f".. rubric:: ``{_name(path)}``", "", summary(path), "")
                for name, said in found.items():
                    yield from (f"``{name}``", f"    {said}", "")


def setup(app: Any) -> dict[str, Any]:
    """Sphinx calls it."""
    app.add_directive("file-table", FileTable)
    app.add_directive("room-table", RoomTable)
    app.add_directive("table-list", TableList)
    return {"parallel_read_safe": True}
