"""A service that was taken away is back, whatever way it went."""

import http.server
import os
import pathlib
import sys
import time
from collections.abc import Iterator

import pytest
from devcloud_lib import ports, processes, readiness
from devcloud_lib.service import Service

from tests.torture import outages
from tests.torture.calm import Absences
from tests.torture.choices import HANG, KILL, STOP, Outage
from tests.torture.outages import Outages


class OneService:
    """A cloud of one service."""

    def __init__(self, service: Service) -> None:
        self.service, self.all = service, [service]

    def matching(self, _pattern: str) -> list[Service]:
        """The only one."""
        return self.all

    def bring_up(self, services: list[Service]) -> None:
        """As the real one does, without services on a bus."""
        outages.Services.bring_up(self, services)

    def wait(self, services: list[Service], seconds: float) -> None:
        """The same."""
        outages.Services.wait(self, services, seconds)


@pytest.fixture
def web(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A web server."""
    monkeypatch.setattr(outages.bus, "wait", lambda *_: None)
    monkeypatch.setattr(OneService, "_layout", None, raising=False)
    port = ports.free_port()
    words = (sys.executable, "-m", http.server.__name__, str(port), "--bind", "127.0.0.1")
    service = Service("web", tmp_path, words, readiness.Http(f"http://127.0.0.1:{port}/"))
    service.bring_up()
    yield service
    service.stop(kill=True)


def gone(pid: int) -> bool:
    """Whether a child of this process ended or hangs, which it does soon after the signal."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        # It ended, and we are its parent; or it hangs.
        if state in ("Z", "T"):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("way", [KILL, STOP, HANG])
def test_service_goes_and_comes_back(web: Service, monkeypatch: pytest.MonkeyPatch, way: str):
    cloud, absences = OneService(web), Absences()
    taken = Outages(cloud, absences, seed=1)
    before = processes.read(web.pid_file)
    was_gone: list[bool] = []

    def pass_time(seconds: float) -> None:
        assert seconds == 7.5
        was_gone.append(gone(before.pid))

    monkeypatch.setattr(taken._over, "wait", pass_time)
    taken._take(Outage("web", 0.0, way, 7.5))
    assert was_gone == [True]
    assert web.ready.answers()
    after = processes.read(web.pid_file)
    assert (after.pid == before.pid) == (way == HANG)
    (absence,) = absences.all()
    assert (absence.service, absence.way) == ("web", way)
    assert absence.back is not None


def test_one_that_was_stopped_by_hand_is_brought_up(web: Service):
    os.kill(processes.read(web.pid_file).pid, 19)
    OneService(web).bring_up([web])
    assert web.ready.answers()
    web.stop(kill=True)
    OneService(web).bring_up([web])
    assert web.ready.answers()
