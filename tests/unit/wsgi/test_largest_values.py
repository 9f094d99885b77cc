"""No request takes a process down, whatever number it names.

``largest_values.py`` sends the largest value of each field of each operation, in a process with
limits of CPU time and memory.
"""

import collections
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from tests.unit.wsgi import largest_values

pytestmark = pytest.mark.slow
_MOST_FAILURES = 5

#: The operations that compute most with the numbers that they are sent.
_COMPUTING = (
    *("POST /reservations", "PATCH /reservations/{reservation_id}", "POST /v1/leases"),
    *("POST /series", "POST /waits", "POST /maintenancewindows", "GET /offers", "import"),
    "GET /flavors/{flavor_id}/freeslots",
)
_OTHERS = tuple(each for each in largest_values.operations() if each not in _COMPUTING)

Answers = dict[str, list[dict[str, Any]]]


def _answers(operations: Sequence[str], skipped: int) -> tuple[list[dict[str, Any]], bool]:
    """The requests that one process has sent, and whether they were the last ones."""
    command = [sys.executable, "-m", largest_values.__name__, str(skipped), *operations]
    # Each thread would reserve 64 MiB of addresses.
    env = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    run = subprocess.run(command, check=False, capture_output=True, text=True, env=env)
    sent: list[dict[str, Any]] = []
    for line in map(json.loads, run.stdout.splitlines()):
        if "done" in line:
            return sent, True
        if "text" in line:
            sent.append(line)
        else:
            sent[-1] |= line
    assert sent, run.stderr[-2000:]
    sent[-1]["end"] = f"ended by {run.returncode}: {run.stderr[-500:]}"
    return sent, False


def _by_operation(operations: Sequence[str]) -> Answers:
    """All requests of some operations. One that ends the process is followed by a new process."""
    sent: list[dict[str, Any]] = []
    is_done, ended = False, 0
    while not is_done and ended < _MOST_FAILURES:
        more, is_done = _answers(operations, len(sent))
        sent += more
        ended += not is_done
    by_operation = collections.defaultdict(list)
    for each in sent:
        by_operation[each["operation"]].append(each)
    return by_operation


@pytest.fixture(scope="module")
def of_computing() -> Answers:
    return _by_operation(_COMPUTING)


@pytest.fixture(scope="module")
def of_others() -> Answers:
    return _by_operation(_OTHERS)


def _check(sent: list[dict[str, Any]]) -> None:
    bad = [each for each in sent if each.get("status", 500) >= 500]
    assert sent
    assert not bad


@pytest.mark.parametrize("operation", _COMPUTING)
def test_largest_values_need_little_time_and_memory(of_computing: Answers, operation: str):
    _check(of_computing[operation])


@pytest.mark.long
@pytest.mark.parametrize("operation", _OTHERS)
def test_largest_values_of_others_need_little_time_and_memory(of_others: Answers, operation: str):
    _check(of_others[operation])
