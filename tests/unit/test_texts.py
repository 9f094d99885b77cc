"""The page of texts: what is on it, and that errors are made of it and of nothing else."""

import ast
import copy
import datetime
import importlib.util
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
from mypy import api as mypy

import warre_blazar
from warre_blazar import texts
from warre_blazar.client import types
from warre_blazar.domain.booking import verdict
from warre_blazar.domain.records import refusals as records
from warre_blazar.errors import exceptions
from warre_blazar.texts import (
    bodies,
    commands,
    expected,
    extra_specs,
    permissions,
    refusals,
    services,
    warnings,
)
from warre_blazar.texts.entries import Entry, places

ROOT = pathlib.Path(warre_blazar.__file__).parent
PAGES = {
    page.__name__.rpartition(".")[2]: page
    for page in (expected, extra_specs, refusals, permissions, bodies, services, warnings)
}
#: The pages whose entries aren't errors, and how clients find these.
OTHERS = {"warnings": texts.WARNINGS}
ENTRIES = {
    f"{name}.{key}": entry
    for name, page in PAGES.items()
    for key, entry in vars(page).items()
    if isinstance(entry, Entry)
}
#: A value of each type of data. The value of a number with a word is that of ``number``.
SAMPLES: dict[str, Any] = {
    "": "x",
    "number": 2,
    "time": datetime.datetime(2026, 7, 1, 9),
    "by": "u",
    "names": ["a", "b"],
    "or": ["a", "b"],
    "nouns": ["a", "b"],
    "ids": [{"id": "a"}],
    "noun": "list waits",
    "each": [{"resource": "hours", "asked": 1, "used": 2, "limit": 3, "message": "y"}],
    "said": refusals.PAST(start=datetime.datetime(2026, 7, 1, 9)),
}
LOCAL = datetime.timezone(datetime.timedelta(hours=10))

every_entry = pytest.mark.parametrize("name", ENTRIES)


def sample(entry: Entry) -> exceptions.WarreError:
    """An error of an entry with data of the right types."""
    about = {n: "a" for n in places(entry.frame) if n != "clause"}
    types = places(entry.template)
    data = {n: SAMPLES["number" if "|" in kind else kind] for n, kind in types.items()}
    if "refused" in data:
        data["refused"] = [{"start": "2026-07-01T09:00:00+00:00", "message": "No slot"}]
    data |= {name: 1 for name in entry.also.split()}
    return exceptions.WarreError(entry(**data), **about)


def in_melbourne(moment: datetime.datetime) -> str:
    return f"{moment.astimezone(LOCAL):%H:%M} there"


def test_no_two_entries_have_the_same_code_and_reason():
    found = [*texts.ERRORS.values(), *texts.WARNINGS.values()]
    assert sorted(map(id, found)) == sorted(map(id, ENTRIES.values()))


@every_entry
def test_data_has_all_that_the_sentence_has(name: str):
    """A client that gets an error's code and detail can word the same sentence."""
    error = sample(ENTRIES[name])
    document = json.loads(json.dumps({**error.document, "message": "another"}))
    entries = OTHERS.get(name.partition(".")[0], texts.ERRORS)
    assert texts.word(document, texts.API, entries) == error.message


def test_sentence_is_worded_in_the_zone_of_its_reader():
    error = sample(refusals.TOO_FAR_AHEAD)
    assert "choose an end until 2026-07-01 09:00 UTC, or" in error.message
    assert error.detail["latest_end"] == "2026-07-01T09:00:00+00:00"
    worded = texts.word(error.document, texts.reader(in_melbourne))
    assert "choose an end until 19:00 there, or" in worded


@pytest.mark.parametrize(("user", "by"), [("u1", " by Ada"), (None, "")])
def test_user_is_named_as_the_reader_knows_them(user: str | None, by: str):
    error = exceptions.ReservationDeleted("r1", datetime.datetime(2026, 7, 1, 9), user)
    to = texts.reader(in_melbourne, user={"u1": "Ada"}.__getitem__)
    assert texts.word(error.document, to) == f"Reservation r1 was deleted at 19:00 there{by}"


def test_sentence_within_a_sentence_is_worded_in_the_zone_of_its_reader():
    error = sample(permissions.CANNOT_WAIT)
    assert error.message == (
        "Reservation start time of 2026-07-01 09:00 UTC is in the past, so it can't wait for "
        "anything"
    )
    assert "19:00 there is in the past, so" in texts.word(
        error.document, texts.reader(in_melbourne)
    )


def test_whole_answer_is_worded_for_its_reader():
    past = sample(refusals.PAST).document
    overbooked = sample(warnings.SLOTS_OVERBOOKED).document
    early = {"code": "too_long", "message": "x", "detail": {"max_length_hours": 2}}
    answer = {"refusals": [past], "warnings": [overbooked], "reason": early, "name": "x", "at": 1}
    worded = texts.worded(answer, texts.reader(in_melbourne))
    assert worded["refusals"][0]["message"].endswith("start time of 19:00 there is in the past")
    assert worded["warnings"][0]["message"].endswith("the last of them until 19:00 there")
    assert worded["reason"]["message"] == "Reservation is too long, max allowed is 2 hours"
    assert (worded["name"], worded["at"], past["message"]) == (
        "x",
        1,
        sample(refusals.PAST).message,
    )
    assert types.Reason.of(worded["reason"]).detail == {"max_length_hours": 2}


def test_templates_frames_and_nouns_are_translated():
    german = {
        "{service:noun} is not available ({clause}); try again later": "{service:noun}: {clause}",
        "The database": "Die Datenbank",
        services.CELL.template: "eine Zelle fehlt",
    }
    error = exceptions.ServiceUnavailable("The database", services.CELL())
    to = texts.reader(str, lambda template: german.get(template, template))
    assert texts.word(error.document, to) == "Die Datenbank: eine Zelle fehlt"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"code": "of_tomorrow"}, id="unknown code"),
        pytest.param({"detail": {}}, id="no data"),
        pytest.param({"detail": None}, id="no detail"),
        pytest.param({"detail": {"reason": "past", "start": 7}}, id="another type"),
        pytest.param({"detail": {"reason": "of_tomorrow", "start": "x"}}, id="unknown reason"),
        pytest.param({"detail": {"reason": ["past"]}}, id="a reason that isn't one"),
    ],
)
def test_what_a_client_does_not_know_is_shown_as_the_server_words_it(change: dict[str, Any]):
    document = {**sample(refusals.PAST).document, "message": "As the server says", **change}
    assert texts.word(document, texts.API) == "As the server says"


@pytest.mark.parametrize(
    ("number", "text"), [(1, "at most 1 instance of"), (2, "at most 2 instances of")]
)
def test_noun_agrees_with_its_number(number: int, text: str):
    said = refusals.TOO_MANY_INSTANCES(max_instances_per_project=number, asked=3, held=0)
    assert text in said


def test_entry_with_other_data_than_its_own_is_refused():
    with pytest.raises(TypeError):
        refusals.PAST()
    with pytest.raises(TypeError):
        refusals.TRY_AGAIN(start=1)


def test_words_keep_their_entry_when_schemas_are_copied():
    said = expected.ONLY_WITH(other="x")
    copied = copy.deepcopy({"x-expected": said})["x-expected"]
    assert (copied, copied.entry, copied.data) == (said, expected.ONLY_WITH, {"other": "x"})


def test_words_of_the_api_without_a_sentence_have_one_here():
    assert {*texts.BRIEF} == {*verdict.CODES} | records.CODES
    assert "try_again" not in verdict.CODES


def test_commands_explain_each_reason_that_they_can():
    assert {*commands.NOT_FREE} <= {*verdict.CODES}
    codes = {code for code, _ in texts.ERRORS}
    for table in (commands.TAKEN, commands.PARTLY_TAKEN, commands.INSTEAD, commands.ADVICE):
        assert table.keys() <= codes


# Calls in the package


def calls() -> Iterator[tuple[str, ast.Call, str]]:
    """Each call of an entry: where it is, the call, and the name of the entry."""
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func).removeprefix("texts.")
                if name in ENTRIES:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node, name


def test_each_entry_gets_its_data():
    wrong = [
        (where, name)
        for where, call, name in calls()
        if call.args or {keyword.arg for keyword in call.keywords} != ENTRIES[name].names
    ]
    assert wrong == []


def test_each_entry_is_used():
    sources = "".join(p.read_text() for p in ROOT.rglob("*.py") if p.parent.name != "texts")
    used = set(re.findall(r"\b\w+\.[A-Z][A-Z0-9_]*\b", sources))
    assert ENTRIES.keys() - used == set()


def test_mypy_refuses_an_error_with_a_text(tmp_path: pathlib.Path):
    source = tmp_path / "source.py"
    source.write_text(
        "from warre_blazar import texts\n"
        "from warre_blazar.errors.exceptions import *\n"
        "InvalidState(texts.refusals.LEASE_ENDED())\n"
        "InvalidState('It is over')\n"
        "InvalidField('name', 'expected a name')\n"
        "FlavorNotBookable(f'Too long')\n"
        "Refused('refused', 'No')\n"
        "ServiceUnavailable('Nova', str(OSError()))\n"
        "ServiceRefused('Nova', 'No')\n"
        "NoAnswer('lease', 'it was booked')\n"
        "Forbidden('rule', 'Not you')\n"
        "Misconfigured('option', 'No file')\n"
        "texts.NotValid('expected a name')\n"
    )
    said, _, _ = mypy.run(["--config-file=", f"--cache-dir={tmp_path}", str(source)])
    refused = {int(number) for number in re.findall(r"source\.py:(\d+): error: .*Said", said)}
    assert refused == {*range(4, 14)}


def test_page_of_the_documentation_has_each_entry():
    path = ROOT.parent / "doc/source/_ext/text_tables.py"
    spec = importlib.util.spec_from_file_location("text_tables", path)
    assert spec is not None and spec.loader is not None
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    page = (ROOT.parent / "doc/source/reference/texts.rst").read_text()
    assert set(re.findall(r"^\.\. text-table:: (\w+)$", page, re.MULTILINE)) == set(tables.TABLES)
    rows = [row for entries in tables.TABLES.values() for row in tables.cells(entries)]
    assert len(rows) == len(ENTRIES) + len(texts.BRIEF)
    assert (
        "``hosts_exhausted``",
        "``affinity``",
        "No capacity: {asked:number} asked on one host, the {matching:number} matching hosts have "
        "room for {free:number}",
        "",
    ) in rows
