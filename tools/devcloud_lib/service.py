"""A service of the cloud: its command line, its pid file and log, and how to tell that it is up."""

import dataclasses
import signal
from collections.abc import Mapping
from pathlib import Path

from devcloud_lib import processes, readiness, stamps
from devcloud_lib.console import Failure


@dataclasses.dataclass(frozen=True)
class Service:
    """One long-running process. It is restarted when its command line or `config` changes."""

    name: str
    home: Path
    command: tuple[str, ...]
    ready: readiness.Tcp | readiness.Http | readiness.Rpc
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    config: tuple[Path, ...] = ()
    version: str = ""

    @property
    def pid_file(self) -> Path:
        return self.home / "run" / f"{self.name}.pid"

    @property
    def log(self) -> Path:
        return self.home / "log" / f"{self.name}.log"

    def fingerprint(self) -> str:
        """Return a hash of the command line, environment and configuration files.

        A process that was started with another fingerprint is restarted.
        """
        words = "\0".join([*self.command, *(f"{k}={v}" for k, v in self.environment.items())])
        return stamps.digest(words, self.version, *self.config)

    def running(self) -> bool:
        """Whether the process runs, whatever its fingerprint."""
        return processes.running(self.pid_file) is not None

    def start(self) -> bool:
        """Start the process unless it runs with this fingerprint. Return whether it was started."""
        record = processes.running(self.pid_file)
        if record is not None and record.fingerprint == self.fingerprint():
            return False
        processes.stop([self.pid_file])
        if not isinstance(self.ready, readiness.Rpc) and self.ready.answers():
            raise Failure(
                f"{self.name}: a process that isn't part of this cloud answers on its port"
            )
        processes.start(self.command, self.pid_file, self.log, self.environment, self.fingerprint())
        return True

    def wait(self) -> None:
        """Wait until the service answers. Services on the bus are pinged by `bus.wait` instead."""
        if isinstance(self.ready, readiness.Rpc):
            return
        try:
            readiness.wait_until(self.ready.answers, lambda: not self.running(), self.name)
        except Failure as failure:
            raise Failure(str(failure), self.log) from failure

    def bring_up(self) -> str:
        """Start the service and wait for it. Return what to print about it."""
        started = self.start()
        self.wait()
        return "started" if started else ""

    def stop(self, kill: bool = False) -> bool:
        """Stop the process, with SIGKILL if `kill`. Return whether it was running."""
        how = signal.SIGKILL if kill else signal.SIGTERM
        return processes.stop([self.pid_file], with_signal=how) > 0
