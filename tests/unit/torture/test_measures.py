"""Memory and CPU time of a service's processes."""

import pathlib
import resource
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from devcloud_lib import processes, readiness
from devcloud_lib.service import Service

from tests.torture import measures

#: Forks a child; both say by files that they are ready. The child then takes memory and time.
_SCRIPT = """
import os, pathlib, sys, time
home = pathlib.Path(sys.argv[1])
if os.fork() == 0:
    kept = bytearray(os.urandom(1)) * 50_000_000
    while time.process_time() < 0.5: pass
    (home / "ready").touch()
time.sleep(1000)
"""


def wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    command = (sys.executable, "-c", _SCRIPT, str(tmp_path))
    service = Service("one", tmp_path, command, readiness.Tcp(1))
    service.start()
    wait((tmp_path / "ready").exists)
    yield service
    service.stop(kill=True)


def test_workers_of_a_service_are_measured(service: Service):
    record = processes.read(service.pid_file)
    assert record is not None
    (worker,) = measures.members([service])
    assert worker.service == "one"
    assert worker.pid != record.pid
    assert 50_000_000 <= measures.memory([worker])[worker] < 100_000_000
    assert measures.cpu_seconds([worker])[worker] >= 0.4


def test_watch_tells_the_most_memory_of_the_processes_that_are_left(
    service: Service, monkeypatch: pytest.MonkeyPatch
):
    (worker,) = measures.members([service])
    killed = measures.Process("one", 1, 1)
    peak = iter([{worker: 5 << 20, killed: 9 << 20}])
    monkeypatch.setattr(measures.Watch, "_PAUSE", 0.01)
    monkeypatch.setattr(measures, "memory", lambda _: next(peak, {worker: 3 << 20}))
    with measures.Watch([service]) as memory:
        wait(lambda: len(memory.lines()) == 2)
        assert memory.latest() == {worker: 5 << 20}
    assert memory.lines()[0] == "one 1: 9"


def test_process_that_has_ended_is_not_measured(service: Service):
    these = measures.members([service])
    service.stop(kill=True)
    # A killed process may need a moment to be gone.
    wait(lambda: measures.memory(these) == measures.cpu_seconds(these) == {})
    assert measures.members([service]) == []


def test_other_process_with_the_same_id_is_not_measured(service: Service):
    (worker,) = measures.members([service])
    other = measures.Process(worker.service, worker.pid, worker.started + 1)
    assert measures.memory([other]) == measures.cpu_seconds([other]) == {}


def test_address_space_is_limited(service: Service):
    measures.limit_memory([service], 2**30)
    (worker,) = measures.members([service])
    assert resource.prlimit(worker.pid, resource.RLIMIT_AS) == (2**30, 2**30)
