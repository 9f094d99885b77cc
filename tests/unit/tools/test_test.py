"""The parts of tools/test: which run, with which limits, and beside which others."""

import importlib.machinery
import importlib.util
import itertools
import pathlib
import re
import sys
from types import ModuleType

import pytest

TOOL = pathlib.Path(__file__).parents[3] / "tools" / "test"
#: Parts that need no short form in the default run: the part itself or another part has one.
COVERED = {
    "cluster": "galera",
    "dashboard": "cloud-short",
    "tempest": "cloud-short",
    "neighbors": "cloud-short",
    "torture": "cloud-short",
    "campaign": "cloud-short",
    "upgrade": "db-short",
    "upgrade-blazar": "releases-short",
    "fuzz": "slow",
    "long": "slow",
}


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("tools_test", str(TOOL))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look for their module.
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


def test_everything_runs_each_part_once(tool: ModuleType):
    names = list(itertools.chain(*tool.lanes(["everything"])))
    short = {name for name in tool.KNOWN if name.endswith("-short")}
    assert sorted(names) == sorted(set(tool.KNOWN) - short)
    assert {name.removesuffix("-short") for name in short} <= set(names)


def test_parts_with_the_same_servers_run_one_after_the_other(tool: ModuleType):
    lanes = tool.lanes(["everything"])
    for together in (("galera", "cluster"), ("torture", "campaign"), ("cloud", "tempest")):
        assert any(set(together) <= set(lane) for lane in lanes)


def test_default_run_has_a_short_form_of_each_other_part(tool: ModuleType):
    default = set(itertools.chain(*tool.lanes(["all"])))
    assert default == set(tool.PARTS)
    for name in tool.MORE:
        assert COVERED.get(name, f"{name}-short") in default, name


def test_clouds_and_databases_run_beside_the_other_parts(tool: ModuleType):
    lanes = tool.lanes(["all"])
    assert ["cloud-short"] in lanes
    assert ["galera"] in lanes
    assert ["db-short"] in lanes
    assert any({"stock", "slow"} <= set(lane) for lane in lanes)
    assert len(lanes) == 5


def test_named_parts_run_one_after_the_other(tool: ModuleType):
    assert tool.lanes(["torture", "unit", "cloud", "unit"]) == [["torture", "unit", "cloud"]]


@pytest.mark.parametrize("words", [[], ["all"], ["unit"], ["cluster", "tempest", "neighbors"]])
def test_words_choose_parts(tool: ModuleType, monkeypatch: pytest.MonkeyPatch, words: list[str]):
    ran: list[list[str]] = []
    monkeypatch.setattr(tool, "run_parts", lambda chosen: ran.append(chosen) or [])
    monkeypatch.setattr(tool.signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["test", *words])
    assert tool.main() == 0
    assert ran == [words or ["all"]]


@pytest.mark.parametrize("words", [["all", "unit"], ["unit", "everything"], ["other"]])
def test_words_that_choose_no_parts_are_refused(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, words: list[str]
):
    monkeypatch.setattr(sys, "argv", ["test", *words])
    with pytest.raises(SystemExit) as ended:
        tool.main()
    assert ended.value.code == 2


def test_each_part_has_a_limit_and_runs_in_a_process_of_its_own(tool: ModuleType):
    for name, part in tool.KNOWN.items():
        job = tool.job(name, ["--many"], beside=False)
        assert job.seconds == 60 * part.minutes > 0
        assert job.words[1:] == [str(TOOL), "--inside", "--many", name]
        assert job.log is None


def test_only_one_of_several_lanes_prints_all_the_time(tool: ModuleType):
    lanes = tool.lanes(["everything"])
    printing = [lane for lane in lanes if not all(tool.job(n, [], True).log for n in lane)]
    assert len(printing) == 1
    assert not any(tool.job(name, [], True).log for name in printing[0])


def test_default_run_is_limited_to_90_minutes_beside_the_tests_that_keep_cores_busy(
    tool: ModuleType,
):
    for part in tool.PARTS.values():
        assert part.minutes <= 90 or part.lane is tool.Lane.COMPUTING


def test_help_names_each_part(tool: ModuleType):
    assert tool.__doc__ is not None
    told = set(re.findall(r"^  ([a-z-]+)  ", tool.__doc__, re.MULTILINE))
    assert told == set(tool.KNOWN)


def test_page_names_each_part(tool: ModuleType):
    page = TOOL.parents[1] / "doc" / "source" / "contributing.rst"
    told = set(re.findall(r"^([a-z-]+)\n    ", page.read_text(), re.MULTILINE))
    assert set(tool.KNOWN) <= told
