"""The documentation lists each module and each table once, by what the code says of it."""

import collections
import importlib
import importlib.util
import pathlib
import re
import types

import pytest

import warre_blazar
from warre_blazar.db import models

ROOT = pathlib.Path(warre_blazar.__file__).parent
DOC = ROOT.parent / "doc/source"
MODULES = [path for path in sorted(ROOT.rglob("*.py")) if path.name != "__init__.py"]


@pytest.fixture(scope="module")
def extension() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("file_tables", DOC / "_ext/file_tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(page: str, directive: str) -> list[str]:
    """What the directives of a name on a page are given."""
    return re.findall(rf"^\.\. {directive}:: (\S+)$", (DOC / page).read_text(), re.MULTILINE)


def test_page_of_files_has_each_module_once(extension: types.ModuleType) -> None:
    listed = [
        path
        for directory in arguments("reference/files.rst", "file-table")
        for paths in extension.modules(directory).values()
        for path in paths
    ]
    assert sorted(listed) == MODULES


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_says_in_one_line_what_it_does(extension: types.ModuleType, path: pathlib.Path):
    assert re.fullmatch(r"\S.*\S\.", extension.summary(path))


def test_modules_of_a_package_say_different_things(extension: types.ModuleType) -> None:
    said = collections.Counter((path.parent, extension.summary(path)) for path in MODULES)
    assert [key for key, number in said.items() if number > 1] == []


def test_each_room_says_what_is_in_it(extension: types.ModuleType) -> None:
    rooms = {path.parent.name for path in ROOT.glob("services/*/__init__.py")}
    assert extension.rooms("services").keys() == rooms


def test_page_of_tables_has_each_table_with_its_comment(extension: types.ModuleType) -> None:
    (directory,) = arguments("reference/tables.rst", "table-list")
    listed: dict[str, str] = {}
    for path in (ROOT / directory).glob("*.py"):
        if found := extension.tables(path.read_text()):
            importlib.import_module(f"warre_blazar.{directory}.{path.stem}")
            listed |= found
    ours = {name for name, table in models.metadata.tables.items() if models.is_ours(table)}
    assert listed.keys() == ours
    assert [name for name, said in listed.items() if not said.endswith(".")] == []


def test_comment_of_a_table_is_one_text(extension: types.ModuleType) -> None:
    source = '# The things\n# that are.\nthings = sa.Table(\n    "x_things",\n'
    assert extension.tables(source) == {"x_things": "The things that are."}
    assert extension.tables(f"# Of something else.\n\n{source}") == {
        "x_things": "The things that are."
    }
