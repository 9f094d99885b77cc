"""The documentation prints the table of states, and the table of differences, from the code."""

import dataclasses
import importlib.util
import pathlib
import types
from typing import Any

import pytest

from warre_blazar.domain.audit.differences import DifferenceKind
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.lease_states import Action, Age, ClaimState, Summary, TableRow

_FILE = pathlib.Path(__file__).parents[2] / "doc/source/_ext/state_tables.py"

CONDITIONS: dict[str, Any] = {
    "leases": [lease_states.CREATING],
    "reservations": [Summary.PARTLY],
    "claims": [ClaimState.LIVE],
    "torn": False,
    "is_over": False,
    "settled": False,
    "ages": [Age.QUIET],
}


@pytest.fixture(scope="module")
def tables() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("state_tables", _FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_field_of_a_row_is_known() -> None:
    fields = {field.name for field in dataclasses.fields(TableRow)}
    assert fields == {"name", "meaning", "action", *CONDITIONS}


@pytest.mark.parametrize("field", CONDITIONS)
def test_condition_is_shown(tables: types.ModuleType, field: str) -> None:
    plain = TableRow("name", "Something.", Action.SETTLE)
    conditional = dataclasses.replace(plain, **{field: CONDITIONS[field]})
    assert tables.state_cells(conditional) != tables.state_cells(plain)


def test_flags_differ(tables: types.ModuleType) -> None:
    for field in ("torn", "is_over", "settled"):
        shown = {
            tables.state_cells(TableRow("name", "Something.", Action.LEAVE, **{field: flag}))
            for flag in (True, False)
        }
        assert len(shown) == 2


def test_rows_are_told_apart(tables: types.ModuleType) -> None:
    shown = [tables.state_cells(row) for row in lease_states.TABLE]
    assert len({cells[1:4] for cells in shown}) == len(shown)


def test_rows_have_names_of_their_own() -> None:
    assert len({row.name for row in lease_states.TABLE}) == len(lease_states.TABLE)


def test_every_row_is_printed(tables: types.ModuleType) -> None:
    printed = "\n".join(tables.StateTable.lines)
    assert printed.count("   * - ") == len(lease_states.TABLE) + 1
    assert all(row.meaning in printed for row in lease_states.TABLE)
    assert tables.TargetTable.lines[-4].endswith("deleted")


def test_every_difference_is_printed(tables: types.ModuleType) -> None:
    printed = "\n".join(tables.DifferenceTable.lines)
    assert printed.count("   * - ") == len(DifferenceKind) + 1
    for kind in DifferenceKind:
        assert f"``{kind.label}``" in printed
        assert kind.value.meaning in printed and kind.value.remedy in printed
