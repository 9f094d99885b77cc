"""This package changes Blazar only where it is enabled, and leaves Blazar's own types alone."""

import json
import pathlib
import re
import subprocess
import sys
from typing import Any

import pytest
from blazarclient.v1.shell_commands import hosts as shell_hosts

ROOT = pathlib.Path(__file__).parents[3]
MISSING = (
    "The tables of warre-blazar are missing: run warre-blazar-manage setup, and then restart "
    "blazar-manager and blazar-api"
)

pytestmark = pytest.mark.slow


def output(module: str, *words: str) -> Any:
    """The JSON that a module of this directory prints in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", f"tests.unit.plugins.{module}", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def changes() -> Any:
    return output("changes_of_blazar")


def test_import_changes_nothing(changes):
    assert changes["imported"] == []


def test_changes_are_made_once(changes):
    assert changes["again"] == []


def test_documentation_lists_every_change(changes):
    page = (ROOT / "doc/source/decisions/blazar.rst").read_text()
    packages = "blazar|blazarclient|oslo_db|oslo_messaging|pecan|sqlalchemy"
    names = set(re.findall(rf"``((?:{packages})\.[\w.]+)``", page))
    if not hasattr(shell_hosts, "UnsetAttributesHost"):
        # Older than 4.6.0, python-blazarclient has no such command, so it needs no other name.
        names -= {f"{shell_hosts.__name__}.UnsetAttributeHost"}
    assert sorted(names) == changes["enabled"]


LIFE = [201, "ACTIVE", "TERMINATED"]
TYPES = ("physical:host", "virtual:instance", "flavor:instance", "virtual:floatingip")


@pytest.mark.parametrize(
    ("kind", "said", "ours"),
    [
        # Blazar tries to make a controller of what it doesn't know.
        pytest.param("Stock", [], [405, 400], marks=pytest.mark.long),
        pytest.param("ExactAlone", [], [405, 400], marks=pytest.mark.long),
        ("BeforeTables", [MISSING] * 2, [503, 400]),
        ("ExactBeforeTables", [MISSING] * 5, [503, 400]),
    ],
)
def test_leases_of_all_stock_types_are_booked_started_and_ended(
    kind: str, said: list[str], ours: list[int], tmp_path: pathlib.Path
):
    found = output("stock_site", kind, str(tmp_path))
    assert found["lives"] == dict.fromkeys(TYPES, LIFE)
    assert found["left"] == []
    assert [MISSING for line in found["log"] if MISSING in line] == said
    assert found["ours"] == ours
