"""The page "Design" says of every module what it does, and of no module that isn't there."""

import pathlib
import re

import pytest

import warre_blazar

ROOT = pathlib.Path(warre_blazar.__file__).parent
PAGE = (ROOT.parent / "doc/source/design.rst").read_text()
#: The directories whose tables name modules without the directory.
SERVICES = [f"services/{path.name}" for path in ROOT.glob("services/*")]
SHORT = ("", "fields", "domain", "services", *SERVICES)
ROWS = re.findall(r"^``([\w/]+/|[\w/]+\.py)`` ", PAGE, re.MULTILINE)
#: Directories that a section describes without a table.
SECTIONS = ("warre_import/",)
MODULES = [path for path in sorted(ROOT.rglob("*.py")) if path.name != "__init__.py"]


def places(row):
    """The files or directories that a row of a table may stand for."""
    return {path for directory in SHORT if (path := ROOT / directory / row).exists()} - {ROOT}


@pytest.fixture(scope="module")
def described():
    """All files and directories that the page describes."""
    return {place for row in [*ROWS, *SECTIONS] for place in places(row)}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_has_a_row(path, described):
    assert described & {path, *path.parents}


@pytest.mark.parametrize("row", ROWS)
def test_row_names_what_is_there(row):
    assert places(row)
