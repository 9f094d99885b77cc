"""Programs that tools/test runs have a limited time, and leave no process behind."""

import pathlib
import sys
import threading
import time
from collections.abc import Callable

import pytest
from devcloud_lib import limits
from devcloud_lib.limits import Job

#: Starts a process of its own, writes the process ids of both into a file, and hangs.
_HANGS = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
pathlib.Path("new").write_text(f"{os.getpid()} {child.pid}")
os.rename("new", "pids")
time.sleep(1000)
"""
#: As _HANGS, but it ends by itself, and leaves its child.
_LEAVES = _HANGS.replace("time.sleep(1000)\n", "")


def python(name: str, script: str, seconds: float = 60, **more: pathlib.Path) -> Job:
    return Job(name, [sys.executable, "-c", script], seconds, **more)


def all_end(pids: str) -> bool:
    """Whether processes have ended. A killed process may need a moment to be gone."""
    return until(lambda: not any(runs(int(pid)) for pid in pids.split()))


def until(condition: Callable[[], bool]) -> bool:
    """Wait until a condition holds. Return False if it doesn't for a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(0.02)
    return True


def runs(pid: int) -> bool:
    """Whether a process runs. One that nobody has waited for doesn't."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.parametrize(("script", "passes"), [("", True), ("raise SystemExit(1)", False)])
def test_program_passes_if_it_ends_with_status_0(script: str, passes: bool):
    assert limits.run(python("it", script)) is passes


@pytest.mark.slow
@pytest.mark.parametrize(("script", "seconds", "passes"), [(_HANGS, 5, False), (_LEAVES, 60, True)])
def test_no_process_is_left(tmp_path: pathlib.Path, capfd, script, seconds, passes):
    job = python("slow tests", script, seconds, directory=tmp_path)
    assert limits.run(job) is passes
    assert all_end((tmp_path / "pids").read_text())
    said = "slow tests still runs after 5 s, its limit: ended" in capfd.readouterr().out
    assert said is not passes


@pytest.mark.slow
def test_program_can_do_its_last_work_when_its_time_is_up(tmp_path: pathlib.Path):
    script = """
import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
try:
    time.sleep(1000)
finally:
    pathlib.Path("last").touch()
"""
    assert not limits.run(python("it", script, 5, directory=tmp_path))
    assert (tmp_path / "last").exists()


def test_jobs_of_a_lane_run_one_after_the_other_beside_other_lanes(tmp_path: pathlib.Path):
    # The first job of each lane waits for that of the other lane.
    wait = """
import pathlib, time
pathlib.Path("{mine}").touch()
while not pathlib.Path("{other}").exists(): time.sleep(0.01)
"""
    lanes = [
        [
            python("a", wait.format(mine="a", other="b"), directory=tmp_path),
            python("then", "", directory=tmp_path),
        ],
        [python("b", wait.format(mine="b", other="a"), directory=tmp_path)],
    ]
    ended: list[str] = []
    found = limits.run_all(lanes, lambda job, _: ended.append(job.name))
    assert list(found) == ["a", "then", "b"]
    assert all(outcome.passed for outcome in found.values())
    assert set(ended) == set(found)
    assert ended.index("a") < ended.index("then")


def test_output_goes_into_the_log(tmp_path: pathlib.Path):
    script = "import sys; print('out'); print('err', file=sys.stderr)"
    assert limits.run(python("it", script, log=tmp_path / "log"))
    assert set((tmp_path / "log").read_text().split()) == {"out", "err"}


def test_interrupted_jobs_are_ended(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(_: float) -> None:
        if (tmp_path / "pids").exists():
            raise KeyboardInterrupt

    monkeypatch.setattr(limits.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        limits.run(python("it", _HANGS, directory=tmp_path))
    assert all_end((tmp_path / "pids").read_text())
