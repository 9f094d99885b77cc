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
    "dashboard": "cloud",
    "tempest": "cloud",
    "neighbors": "cloud",
    "torture": "cloud",
    "campaign": "cloud",
    "fuzz": "slow",
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


def test_everything_runs_each_part_once_one_after_the_other(tool: ModuleType):
    (lane,) = tool.lanes("everything")
    short = {name for name in tool.KNOWN if name.endswith("-short")}
    assert sorted(lane) == sorted(set(tool.KNOWN) - short)
    assert {name.removesuffix("-short") for name in short} <= set(lane)


def test_default_run_has_a_short_form_of_each_other_part(tool: ModuleType):
    default = set(itertools.chain(*tool.lanes("all")))
    assert default == set(tool.PARTS)
    for name in tool.MORE:
        assert COVERED.get(name, f"{name}-short") in default, name


def test_clouds_run_beside_the_other_parts(tool: ModuleType):
    lanes = tool.lanes("all")
    assert ["cloud"] in lanes
    assert ["galera"] in lanes
    assert len(lanes) == 3


@pytest.mark.parametrize("part", ["unit", "torture", "cloud"])
def test_named_part_runs_alone(tool: ModuleType, part: str):
    assert tool.lanes(part) == [[part]]


def test_each_part_has_a_limit_and_runs_in_a_process_of_its_own(tool: ModuleType):
    for name, part in tool.KNOWN.items():
        job = tool.job(name, ["--many"])
        assert job.seconds == 60 * part.minutes > 0
        assert job.words[1:] == [str(TOOL), "--inside", "--many", name]


def test_default_run_is_limited_to_90_minutes_beside_the_tests_that_keep_cores_busy(
    tool: ModuleType,
):
    for name in tool.MOSTLY_WAITING:
        assert tool.PARTS[name].minutes <= 90


def test_help_names_each_part(tool: ModuleType):
    assert tool.__doc__ is not None
    told = set(re.findall(r"^  ([a-z-]+)  ", tool.__doc__, re.MULTILINE))
    assert told == set(tool.KNOWN)


def test_page_names_each_part(tool: ModuleType):
    page = TOOL.parents[1] / "doc" / "source" / "contributing.rst"
    told = set(re.findall(r"^([a-z-]+)\n    ", page.read_text(), re.MULTILINE))
    assert set(tool.KNOWN) <= told
