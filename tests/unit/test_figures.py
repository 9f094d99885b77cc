"""The documentation's figures come from one file, which the benchmarks write."""

import importlib.util
import json
import pathlib
import re
import types

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted((ROOT / "doc/source").rglob("*.rst"))
#: Pages that state times: each has to be a figure of the file.
TIMED = [ROOT / "README.rst", ROOT / "doc/source/performance.rst", ROOT / "doc/source/quotas.rst"]


def load(path: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, ROOT / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


figures = load("benchmarks/figures.py")
measured = load("doc/source/_ext/measured.py")


def names(pattern: str) -> set[str]:
    return {name for page in PAGES for name in re.findall(pattern, page.read_text())}


def test_every_figure_that_a_page_names_exists():
    wanted = names(r":measured:`([^`]+)`")
    assert "lease.create.ours" in wanted
    assert all(measured.figure(name) for name in wanted)


def test_every_table_that_a_page_names_exists():
    wanted = names(r"\.\. measured-table:: (\S+)")
    assert "hosts" in wanted
    for name in wanted:
        rows = json.loads(measured.FILE.read_text())[name]["table"]
        assert len({len(row) for row in rows}) == 1, name
        cells = [line for line in measured.lines_of(name) if re.match(r"   [* ] - ", line)]
        assert len(cells) == len(rows) * len(rows[0]), name


def test_unknown_figure_is_an_error():
    with pytest.raises(KeyError):
        measured.figure("lease.create.nobody")


@pytest.mark.parametrize("page", TIMED, ids=lambda path: path.stem)
def test_page_states_no_time_of_its_own(page: pathlib.Path):
    assert re.findall(r"\d+(?:\.\d+)? m?s\b", page.read_text()) == []


def test_benchmark_replaces_its_own_figures_only(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "figures.json"
    path.write_text(json.dumps({"lease": {"old": "1 s"}, "cli": {"wall.ratio": "0.94"}}))
    monkeypatch.setenv(figures.VARIABLE, str(path))
    figures.record("lease", {"new": "2 s"}, [("header",), ("row",)])
    written = json.loads(path.read_text())
    assert written["cli"] == {"wall.ratio": "0.94"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", written["lease"].pop("date"))
    assert written["lease"] == {"new": "2 s", "table": [["header"], ["row"]]}


def test_nothing_is_recorded_unless_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(figures.VARIABLE, raising=False)
    before = measured.FILE.read_bytes()
    figures.record("lease", {"new": "2 s"})
    assert measured.FILE.read_bytes() == before


@pytest.mark.parametrize(
    ("value", "shown"), [(6.24, "6.2 ms"), (27.4, "27 ms"), (999, "999 ms"), (2140, "2.1 s")]
)
def test_milliseconds_are_shown_with_their_unit(value: float, shown: str):
    assert figures.milliseconds(value) == shown
