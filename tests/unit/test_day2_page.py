"""The page about day 2 operations names tests that exist."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "doc/source/day2.rst").read_text()
NAMED = re.findall(r"``(db/)?(test_\w+\.py)``(?:,\s+``(test_\w+)``)?", PAGE)


def test_page_names_tests():
    assert len(NAMED) > 15


@pytest.mark.parametrize(("folder", "file", "test"), NAMED)
def test_named_test_exists(folder: str, file: str, test: str):
    path = ROOT / "tests/functional" / (folder or "cloud") / file
    assert f"def {test}" in path.read_text()
