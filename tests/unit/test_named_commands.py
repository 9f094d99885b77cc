"""The commands and codes that the documentation names exist, and the reference has all of them."""

import argparse
import configparser
import pathlib
import re

import pytest

from warre_blazar.cmd import manage
from warre_blazar.domain.records import refusals

_ROOT = pathlib.Path(__file__).parents[2]
_PAGES = sorted(_ROOT.glob("doc/source/**/*.rst"))
#: What follows a command: an option, a value, or the end of the literal text.
_COMMAND = re.compile(
    r"(openstack reservation|warre-blazar-manage)((?:\s+(?:-\S+ \S+/\S+ )?[a-z-]+)*)"
)
#: Blazar's own commands of these objects.
_BLAZARS = {("lease",), ("host",), ("floatingip",), ("allocation",)}


def _entry_points(group: str) -> dict[str, str]:
    """The entry points of a group: what each leads to, by its name."""
    setup = configparser.ConfigParser()
    setup.read(_ROOT / "setup.cfg")
    lines = setup["entry_points"][group].strip().splitlines()
    return dict(tuple(line.split(" = ")) for line in lines)


def _ours() -> set[tuple[str, ...]]:
    names = _entry_points("openstack.reservation.v1")
    return {tuple(name.removeprefix("reservation_").split("_")) for name in names}


def _manages() -> set[tuple[str, ...]]:
    root = argparse.ArgumentParser()
    manage._add_parsers(root.add_subparsers())

    def words(parser: argparse.ArgumentParser, so_far: tuple[str, ...]) -> set[tuple[str, ...]]:
        nested = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        inner = [words(p, (*so_far, n)) for a in nested for n, p in a.choices.items()]
        return set().union(*inner) if nested else {so_far}

    return words(root, ())


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_page_exists(page: pathlib.Path) -> None:
    known = {"openstack reservation": _ours() | _BLAZARS, "warre-blazar-manage": _manages()}
    for program, rest in _COMMAND.findall(page.read_text()):
        words = tuple(word for word in rest.split() if not word.startswith("-") and "/" not in word)
        if not words:
            continue
        if rest.endswith("--help") and any(name[: len(words)] == words for name in known[program]):
            continue  # A group of commands.
        # The words of a sentence may follow, and so may values.
        starts = {words[:length] for length in range(1, len(words) + 1)}
        assert starts & known[program], f"{page.name}: {program}{rest}"


def test_reference_has_all_commands_under_both_names() -> None:
    text = (_ROOT / "doc/source/cli/reference.rst").read_text()
    listed = re.findall(r"^``(reservation [a-z -]+)`` +``([a-z-]+)``$", text, re.MULTILINE)
    blazars = {code: name for name, code in _entry_points("blazar.cli").items()}
    ours = _entry_points("openstack.reservation.v1")
    assert set(listed) == {(name.replace("_", " "), blazars[code]) for name, code in ours.items()}


def test_usage_page_has_all_codes_of_refusals() -> None:
    text = (_ROOT / "doc/source/usage.rst").read_text()
    assert [code for code in sorted(refusals.CODES) if f"``{code}``" not in text] == []
