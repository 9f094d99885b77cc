"""Memory and CPU time of processes, as ``/proc`` tells them."""

import os
import pathlib
import resource
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
