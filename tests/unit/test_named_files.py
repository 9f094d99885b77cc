"""The pages for contributors name files that exist."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
DOC = ROOT / "doc/source"
PAGES = [DOC / "contributing.rst", DOC / "design.rst", *sorted(DOC.glob("decisions/*.rst"))]
#: From where a page names files.
_FROM = (ROOT, ROOT / "warre_blazar")


def named(page: pathlib.Path) -> set[str]:
    """The paths on a page that lead to a Python file, such as ``db/flavors.py``."""
    return set(re.findall(r"``([\w./]+/\w+\.py)``", page.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_names_files_that_exist(page: pathlib.Path):
    paths = named(page)
    assert paths
    missing = {path for path in paths if not any((origin / path).is_file() for origin in _FROM)}
    assert missing == set()
