"""Long-running processes: started in a session of their own, known again later, and ended.

A process is known by its id, its start time and the machine's boot, so that an id which the
kernel has given to somebody else's process is never taken for ours.
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
# Every process of ours carries this in its environment: workers are found by it when the
# process that led them is gone.
_MARK = "WARRE_DEVCLOUD_PROCESS"


@dataclasses.dataclass(frozen=True)
class Record:
    """What is kept about a process that was started."""

    pid: int
    started: int
    boot: str
    mark: str
    fingerprint: str

    def alive(self) -> bool:
        """Whether this very process still runs."""
        return self.boot == _boot() and _start_time(self.pid) == self.started

    def members(self) -> list[int]:
        """The process and what it left running in its session, as far as surely ours."""
        if self.boot != _boot():
            return []
        leader_alive = self.alive()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or _session(int(entry.name)) != self.pid:
                continue
            pid = int(entry.name)
            if _start_time(pid) is not None and (leader_alive or _carries(pid, self.mark)):
                found.append(pid)
        return found


def start(
    command: Sequence[str],
    pid_file: Path,
    log: Path,
    environment: Mapping[str, str],
    fingerprint: str = "",
    user: str | None = None,
    directory: Path | None = None,
) -> Record:
    """Start a process in a session of its own and write its pid file."""
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
    # A process that ended at once is a zombie until this command ends: it has a start time.
    started = _start_time(process.pid, zombies=True) or 0
    record = Record(process.pid, started, _boot(), mark, fingerprint)
    pid_file.write_text(json.dumps(dataclasses.asdict(record)) + "\n")
    return record


def read(pid_file: Path) -> Record | None:
    """The record in a pid file, or None when there is none to understand."""
    try:
        return Record(**json.loads(pid_file.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def running(pid_file: Path) -> Record | None:
    """The record in a pid file when its process runs."""
    record = read(pid_file)
    return record if record is not None and record.alive() else None


def stop(
    pid_files: Sequence[Path], patience: float = 15.0, with_signal: signal.Signals = signal.SIGTERM
) -> int:
    """End processes together and remove their pid files; say how many were running.

    What still runs after `patience` seconds is killed.
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
    """Our environment without what would lead a service astray: credentials and proxies."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OS_", "PYTHON")) and not name.lower().endswith("_proxy")
    }


def _boot() -> str:
    return _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else ""


def _start_time(pid: int, zombies: bool = False) -> int | None:
    """Start of a process in clock ticks since boot; None when it is gone, or but a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command's name is in parentheses and may hold anything, also spaces.
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
