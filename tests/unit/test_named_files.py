"""The pages for contributors name files and directories that exist."""

import pathlib
import re
from collections.abc import Iterable

import pytest

ROOT = pathlib.Path(__file__).parents[2]
DOC = ROOT / "doc/source"
CONTRIBUTING = DOC / "contributing.rst"
PAGES = [CONTRIBUTING, DOC / "design.rst", *sorted(DOC.glob("decisions/*.rst"))]
#: From where a page names files.
_FROM = (ROOT, ROOT / "warre_blazar")
#: A file with a directory, such as ``db/flavors.py``, or a directory with a slash at its end.
_PATH = re.compile(r"``((?:[\w.-]+/)+(?:[\w-]+\.\w+)?|(?:doc|tests|tools)/[\w./-]+)``")
_LITERAL = re.compile(r"``([^`]+)``")


def missing(paths: Iterable[str]) -> set[str]:
    """The paths that lead to nothing."""
    return {path for path in paths if not any((origin / path).exists() for origin in _FROM)}


def where_do_i_change() -> dict[str, tuple[list[str], list[str]]]:
    """The table of questions: where the change begins, and the tests to begin with."""
    section = CONTRIBUTING.read_text().split(".. _where-do-i-change:", 1)[1]
    table = section.split(".. list-table::", 1)[1].split("\n\n   * - ", 1)[1].split("\n\n", 1)[0]
    found = {}
    for row in table.split("\n   * - "):
        question, files, tests = row.split("\n     - ")
        found[" ".join(question.split())] = _LITERAL.findall(files), _LITERAL.findall(tests)
    del found["Question"]
    return found


QUESTIONS = where_do_i_change()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_names_files_that_exist(page: pathlib.Path):
    paths = _PATH.findall(page.read_text())
    assert paths
    assert missing(paths) == set()


def test_twenty_questions_are_answered():
    assert len(QUESTIONS) == 20
    assert [question for question in QUESTIONS if not question.endswith("?")] == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_question_leads_to_files_and_to_a_test(question: str):
    files, tests = QUESTIONS[question]
    assert files
    assert tests
    assert missing([*files, *tests]) == set()
    assert all(re.fullmatch(r"tests/[\w/]+\.py", test) for test in tests)


def test_path_to_nothing_is_found():
    assert missing(["times.py", "services/", "tests/unit/test_named_files.py", "db/absent.py"]) == {
        "db/absent.py"
    }
