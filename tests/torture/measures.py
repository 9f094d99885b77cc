"""Memory and CPU time of processes, as ``/proc`` tells them."""

import os
import pathlib
import resource
import threading
from collections.abc import Iterable

from devcloud_lib import processes
from devcloud_lib.service import Service

from tests.torture.verdicts import Process

_TICKS = os.sysconf("SC_CLK_TCK")


def members(services: Iterable[Service]) -> list[Process]:
    """The processes of services, without those that only watch over others of their service."""
    found = []
    for service in services:
        record = processes.read(service.pid_file)
        pids = record.members() if record else []
        workers = [pid for pid in pids if record and pid != record.pid] or pids
        for pid in workers:
            fields = _fields(pid)
            if fields:
                found.append(Process(service.name, pid, int(fields[19])))
    return found


def memory(these: Iterable[Process]) -> dict[Process, int]:
    """The bytes of memory of processes that are their own, without those of files.

    Pages of files are shared, and come and go with what the whole machine does.
    """
    found = {}
    for process in these:
        for line in _read(process.pid, "status").splitlines():
            if line.startswith("RssAnon:") and _is(process):
                found[process] = int(line.split()[1]) * 1024
    return found


class Watch:
    """Reads the memory of the processes of services again and again, in a thread of its own.

    What a process holds rises with each large answer and falls afterwards, so one reading says
    little.
    """

    #: Seconds between two readings.
    _PAUSE = 5.0
    #: How many readings are looked at.
    _LATEST = 24
    #: Of how many readings one is printed.
    _PRINTED = 12

    def __init__(self, services: Iterable[Service]) -> None:
        self._services = list(services)
        self._readings: list[dict[Process, int]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read_on, name="memory")

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def latest(self) -> dict[Process, int]:
        """The most bytes that each process that is there now had in the last two minutes."""
        readings = [*self._readings[-self._LATEST :], memory(members(self._services))]
        return {each: max(r.get(each, 0) for r in readings) for each in readings[-1]}

    def lines(self) -> list[str]:
        """For each process, a line with its MiB from minute to minute."""
        readings = self._readings[:: self._PRINTED]
        names = sorted({each for r in readings for each in r}, key=lambda p: (p.service, p.pid))
        return [
            f"{p.service} {p.pid}: {' '.join(str(r[p] >> 20) for r in readings if p in r)}"
            for p in names
        ]

    def _read_on(self) -> None:
        while not self._over.wait(self._PAUSE):
            self._readings.append(memory(members(self._services)))


def cpu_seconds(these: Iterable[Process]) -> dict[Process, float]:
    """The seconds of a core that each process has used, in all of its threads."""
    found = {}
    for process in these:
        fields = _fields(process.pid)
        if fields and int(fields[19]) == process.started:
            found[process] = (int(fields[11]) + int(fields[12])) / _TICKS
    return found


def limit_memory(services: Iterable[Service], size: int) -> None:
    """Let no process of the services, nor any that they start, have more address space."""
    for service in services:
        record = processes.read(service.pid_file)
        for pid in record.members() if record else ():
            try:
                resource.prlimit(pid, resource.RLIMIT_AS, (size, size))
            except ProcessLookupError:
                continue


def _is(process: Process) -> bool:
    fields = _fields(process.pid)
    return bool(fields) and int(fields[19]) == process.started


def _fields(pid: int) -> list[str]:
    """What ``stat`` says of a process after its name, from its state on; [] if it is gone."""
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return [] if fields[:1] and fields[0] in "ZX" else fields


def _read(pid: int, name: str) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""
