"""The documentation prints the whole fault matrix."""

import importlib.util
import json
import pathlib
import types

import pytest

_FILE = pathlib.Path(__file__).parents[2] / "doc/source/_ext/fault_matrix.py"
FAULTS = 5


@pytest.fixture(scope="module")
def page() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("fault_matrix", _FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_call_of_a_step_meets_every_fault(page: types.ModuleType) -> None:
    for step, cells in json.loads(page.FILE.read_text()).items():
        met = {(cell["call"], cell["fault"]) for cell in cells}
        calls = {cell["call"] for cell in cells}
        faults = {cell["fault"] for cell in cells}
        assert len(faults) == FAULTS, step
        assert met == {(call, fault) for call in calls for fault in faults}, step


def test_every_cell_is_printed(page: types.ModuleType) -> None:
    for cells in json.loads(page.FILE.read_text()).values():
        rows = page.rows_of(cells)
        printed = {(row[0], fault, *row[2:]) for row in rows for fault in row[1].split("; ")}
        keys = ("call", "fault", "answer", "at_once", "in_the_end")
        assert printed == {tuple(cell[key] for key in keys) for cell in cells}
        lines = page.lines_of({"step": cells})
        assert sum(line.startswith("   * - ") for line in lines) == len(rows) + 1
