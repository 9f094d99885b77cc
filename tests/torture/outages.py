"""Takes services of the dev cloud away and brings them back, one at a time."""

import fnmatch
import os
import pathlib
import signal
import threading
import time
from collections.abc import Iterator, Sequence

from devcloud_lib import bus, cloud, processes, readiness, settings
from devcloud_lib.console import Failure
from devcloud_lib.layout import Layout
from devcloud_lib.service import Service

from tests.torture import choices
from tests.torture.calm import Absence, Absences
from tests.torture.choices import HANG, KILL, WORKER, Outage

#: Seconds from the beginning of one outage to that of the next, if it is over by then.
EVERY = 20.0
#: How often a service is started that doesn't come up.
_TRIES = 3
#: Seconds to wait for a service's answer while users go on, who may keep all its workers busy.
_ANSWER = 30.0


def layout(home: pathlib.Path) -> Layout:
    """The cloud's.

    :raises Failure: there is no cloud.
    """
    chosen = settings.load(home)
    if chosen is None:
        raise Failure(f"no cloud in {home}: run tools/devcloud up --managers 2 --api-workers 4")
    return Layout(home, chosen)


class Services:
    """The services of the cloud."""

    def __init__(self, its_layout: Layout) -> None:
        self._layout = its_layout
        self.all = cloud.all_services(its_layout)

    def matching(self, pattern: str) -> list[Service]:
        """The services with such names."""
        return [each for each in self.all if fnmatch.fnmatch(each.name, pattern)]

    def bring_up(self, services: Sequence[Service]) -> None:
        """Let services that hang go on, start those that don't run, and wait for their answers.

        :raises Failure: one doesn't come up.
        """
        for service in services:
            _send(service, signal.SIGCONT)
        for number in range(_TRIES):
            try:
                for service in services:
                    if not service.running():
                        service.start()
                self.wait(services, readiness.TIMEOUT_SECONDS)
            except Failure:
                if number + 1 == _TRIES:
                    raise
            else:
                return

    def wait(self, services: Sequence[Service], seconds: float) -> None:
        """Wait until services answer.

        :raises Failure: one doesn't in that time.
        """
        for service in services:
            if not isinstance(service.ready, readiness.Rpc):
                readiness.wait_until(
                    service.ready.answers, lambda s=service: not s.running(), service.name, seconds
                )
        bus.wait(self._layout, services, seconds)


def _members(service: Service) -> list[int]:
    record = processes.read(service.pid_file)
    return record.members() if record else []


def _send(service: Service, number: signal.Signals, pids: Sequence[int] | None = None) -> None:
    for pid in _members(service) if pids is None else pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


class Outages:
    """A thread that takes one service away after the other."""

    def __init__(self, services: Services, absences: Absences, seed: int) -> None:
        self._services, self._absences = services, absences
        self._choices: Iterator[Outage] = choices.of_outages(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="outages", daemon=True)
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def last(self, seconds: float, over: threading.Event) -> None:
        """Return after some time, or when it is over."""
        over.wait(seconds)

    def stop(self) -> None:
        """Take nothing more away; returns when all is back."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            for outage in self._choices:
                began = time.monotonic()
                if self._over.wait(2.0):
                    return
                self._take(outage)
                if self._over.wait(max(0.0, EVERY - (time.monotonic() - began))):
                    return
        except BaseException as error:
            self.failure = error
            raise

    def _take(self, outage: Outage) -> None:
        pattern = outage.target.removesuffix(WORKER)
        matching = self._services.matching(pattern)
        service = matching[int(outage.which * len(matching))]
        name = outage.target if outage.target.endswith(WORKER) else service.name
        print(f"{time.strftime('%H:%M:%S')} {name}: {outage.way}, {outage.seconds} s", flush=True)
        absence = self._absences.begin(name, outage.way, time.time())
        try:
            if outage.target.endswith(WORKER):
                _kill_one_worker(service, outage.which)
                self._services.wait([service], _ANSWER)
            else:
                self._away(service, outage)
        except Failure as failure:
            # Slow, or so busy that it doesn't answer us; what ended is started at the next outage.
            print(f"{time.strftime('%H:%M:%S')} {failure}", flush=True)
        finally:
            absence.back = time.time()

    def _away(self, service: Service, outage: Outage) -> None:
        if outage.way == HANG:
            _send(service, signal.SIGSTOP)
        else:
            service.stop(kill=outage.way == KILL)
        self._over.wait(outage.seconds)
        _send(service, signal.SIGCONT)
        down = [each for each in self._services.all if not each.running()]
        for each in down:
            each.start()
        self._services.wait([service, *down], _ANSWER)


def _kill_one_worker(service: Service, which: float) -> None:
    """Kill a process that the service started; the service starts another one."""
    record = processes.read(service.pid_file)
    workers = sorted(set(_members(service)) - {record.pid if record else 0})
    if workers:
        _send(service, signal.SIGKILL, [workers[int(which * len(workers))]])


def summary(absences: Sequence[Absence]) -> list[str]:
    """What was away, how, how often, and for how long in all."""
    found: dict[tuple[str, str], list[float]] = {}
    for each in absences:
        seconds = (each.back or time.time()) - each.began
        found.setdefault((each.service, each.way), []).append(seconds)
    return [
        f"{service:24} {way:8} {len(times)} x, away {sum(times):.0f} s in all"
        for (service, way), times in sorted(found.items())
    ]
