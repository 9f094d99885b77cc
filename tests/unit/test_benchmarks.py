"""The benchmarks that need no dev cloud run, here with the smallest sizes and on SQLite."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"

SMALLEST = {
    "choice_of_devices": "--hosts 2 --bookings 2 --count 1",
    "devices_over_time": "--hosts 1",
    "freeslots": "--sizes 10 --runs 1 --hosts 2",
    "hosts": "--sizes 4x2 4x2x2 --days 14 --runs 1",
    "managers": "--managers 1 --flavors 1 --bookings 1 --hosts 2 --each 1 --runs 1",
    "metrics": "--sizes 10 --runs 1 --hosts 2 --flavors 2",
    "moves": "--runs 1",
    "offers": "--flavors 2 --hosts 2 --live 10 --kinds 1 --runs 1 --moves 1",
    "outbox": "--one --bookings 2 --each 1 --users 2 --runs 1",
    "pack": "--sites cpu --loads 0.1 --seeds 1",
    "quota": "--sizes 10 --runs 1",
    "scale": "--sizes 6 --runs 1 --changes 1",
    "simulate": "--requests 5 --hosts 2 --weeks 3 --shared 3",
}
#: They run too long for this test.
LONG = {"audit", "import_warre"}

# One process for all, because their imports take longer than they do.
SCRIPT = """
import importlib, json, sys
import hosts, quota
hosts.KIND, quota.OTHERS = "sqlite", 10
for name, words in json.loads(sys.argv[1]).items():
    print(name)
    sys.argv[1:] = words.split()
    importlib.import_module(name).main()
"""


def test_all_benchmarks_are_known():
    runner = (ROOT / "tools" / "bench").read_text()
    on_cloud = re.search(r'^on_cloud="(.*)"$', runner, re.M)
    assert on_cloud is not None
    programs = {p.stem for p in BENCHMARKS.glob("*.py") if "\ndef main" in p.read_text()}
    assert programs == {*SMALLEST, *LONG, *on_cloud[1].split()}


@pytest.mark.slow
@pytest.mark.long
def test_benchmarks_run(tmp_path):
    paths = map(str, (BENCHMARKS, ROOT, ROOT / "tools"))
    environment = {
        **{name: value for name, value in os.environ.items() if name != "WARRE_FIGURES"},
        **{"PYTHONPATH": os.pathsep.join(paths), "MPLCONFIGDIR": str(tmp_path)},
    }
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, json.dumps(SMALLEST)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
