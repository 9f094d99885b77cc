"""Starts long-running processes in sessions of their own, finds them again later, and stops them.

A process is identified by its id, its start time and the machine's boot. So a foreign process that
has got the same id later is never taken for one of these.
"""

import dataclasses
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# Each process that is started here has this variable in its environment. Its workers inherit it, so
# that they are found even when the process itself is gone.
_MARK = "WARRE_DEVCLOUD_PROCESS"


@dataclasses.dataclass(frozen=True)
class Record:
    """What the pid file says of a process that was started."""

    pid: int
    started: int
    boot: str
    mark: str
    fingerprint: str

    def alive(self) -> bool:
        """Whether the process that was started still runs."""
        return self.boot == _boot() and _start_time(self.pid) == self.started

    def members(self) -> list[int]:
        """Return the ids of the process and of the other processes in its session.

        If the process is gone, only processes with its mark are certain to be its own.
        """
        if self.boot != _boot():
            return []
        leader_alive = self.alive()
        pids = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or _session(int(entry.name)) != self.pid:
                continue
            pid = int(entry.name)
            if _start_time(pid) is not None and (leader_alive or _carries(pid, self.mark)):
                pids.append(pid)
        return pids


def start(
    command: Sequence[str],
    pid_file: Path,
    log: Path,
    environment: Mapping[str, str],
    fingerprint: str = "",
    user: str | None = None,
    directory: Path | None = None,
) -> Record:
    """Start a process in a session of its own and write its pid file.

    :param fingerprint: kept in the record, so that a later command can tell what was started.
    :param user: the user to run as. None: the current user.
    """
    for path in (pid_file, log):
        path.parent.mkdir(parents=True, exist_ok=True)
    mark = f"{pid_file}:{time.time_ns()}"
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**_inherited(), **environment, _MARK: mark},
            cwd=directory or "/",
            start_new_session=True,
            user=user,
            group=user,
            extra_groups=[] if user else None,
        )
    # If the process has already ended, it is a zombie, which still has a start time.
    started = _start_time(process.pid, zombies=True) or 0
    record = Record(process.pid, started, _boot(), mark, fingerprint)
    pid_file.write_text(json.dumps(dataclasses.asdict(record)) + "\n")
    return record


def read(pid_file: Path) -> Record | None:
    """Return the record in a pid file, or None if there is no file or no valid record in it."""
    try:
        return Record(**json.loads(pid_file.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def running(pid_file: Path) -> Record | None:
    """Return the record in a pid file if its process runs, otherwise None."""
    record = read(pid_file)
    return record if record is not None and record.alive() else None


def stop(
    pid_files: Sequence[Path], patience: float = 15.0, with_signal: signal.Signals = signal.SIGTERM
) -> int:
    """Stop processes together and remove their pid files. Return how many were running.

    Processes that still run after `patience` seconds are killed.
    """
    records = {path: record for path in pid_files if (record := read(path)) is not None}
    count = sum(record.alive() for record in records.values())
    _send(records.values(), with_signal)
    if with_signal != signal.SIGKILL and not _wait_gone(records.values(), patience):
        _send(records.values(), signal.SIGKILL)
    _wait_gone(records.values(), patience)
    for path in pid_files:
        path.unlink(missing_ok=True)
    return count


def _send(records: Iterable[Record], number: signal.Signals) -> None:
    for record in records:
        for pid in record.members():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue


def _wait_gone(records: Iterable[Record], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while any(record.members() for record in records):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _inherited() -> dict[str, str]:
    """Return the environment without the credentials, Python options and proxies in it."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OS_", "PYTHON")) and not name.lower().endswith("_proxy")
    }


def _boot() -> str:
    return _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else ""


def _start_time(pid: int, zombies: bool = False) -> int | None:
    """Return the start of a process in clock ticks since boot.

    None if it is gone. A zombie counts as gone unless `zombies`.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command's name is in parentheses and may contain any character, including spaces.
    fields = text.rpartition(")")[2].split()
    return int(fields[19]) if zombies or fields[0] not in "ZX" else None


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _carries(pid: int, mark: str) -> bool:
    try:
        return f"{_MARK}={mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
