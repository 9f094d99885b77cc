"""No request takes a process down, whatever number it names.

``largest_values.py`` sends the largest value of each field of each operation, in a process with
limits of CPU time and memory.
"""

import collections
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.unit.wsgi import largest_values

pytestmark = pytest.mark.slow
_MOST_FAILURES = 5


def _answers(skipped: int) -> tuple[list[dict[str, Any]], bool]:
    """The requests that one process has sent, and whether they were the last ones."""
    command = [sys.executable, "-m", largest_values.__name__, str(skipped)]
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


@pytest.fixture(scope="module")
def answers() -> dict[str, list[dict[str, Any]]]:
    """All requests by operation. A request that ends the process is followed by a new process."""
    sent: list[dict[str, Any]] = []
    is_done, ended = False, 0
    while not is_done and ended < _MOST_FAILURES:
        more, is_done = _answers(len(sent))
        sent += more
        ended += not is_done
    by_operation = collections.defaultdict(list)
    for each in sent:
        by_operation[each["operation"]].append(each)
    return by_operation


@pytest.mark.parametrize("operation", largest_values.operations())
def test_largest_values_need_little_time_and_memory(answers, operation):
    sent = answers[operation]
    bad = [each for each in sent if each.get("status", 500) >= 500]
    assert sent
    assert not bad
