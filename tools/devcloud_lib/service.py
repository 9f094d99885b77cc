"""A service of the cloud: how to start it, how to tell that it is up, where it logs."""

import dataclasses
import signal
from collections.abc import Mapping
from pathlib import Path

from devcloud_lib import processes, readiness, stamps
from devcloud_lib.console import Failure


@dataclasses.dataclass(frozen=True)
class Service:
    """One long-running process. A change of `config` or of a word of it asks for a restart."""

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
        """What a running process must have been started with to be left running."""
        words = "\0".join([*self.command, *(f"{k}={v}" for k, v in self.environment.items())])
        return stamps.digest(words, self.version, *self.config)

    def running(self) -> bool:
        """Whether our process runs, whatever it was started with."""
        return processes.running(self.pid_file) is not None

    def start(self) -> bool:
        """Start the process unless it runs as wanted; say whether it was started."""
        record = processes.running(self.pid_file)
        if record is not None and record.fingerprint == self.fingerprint():
            return False
        processes.stop([self.pid_file])
        if not isinstance(self.ready, readiness.Rpc) and self.ready.answers():
            raise Failure(f"{self.name}: something that isn't this cloud's answers at its port")
        processes.start(self.command, self.pid_file, self.log, self.environment, self.fingerprint())
        return True

    def wait(self) -> None:
        """Wait until it answers. What is asked by RPC is asked by the cloud, all at once."""
        if isinstance(self.ready, readiness.Rpc):
            return
        try:
            readiness.wait_until(self.ready.answers, lambda: not self.running(), self.name)
        except Failure as failure:
            raise Failure(str(failure), self.log) from failure

    def bring_up(self) -> str:
        """Start and wait; what to print about it."""
        started = self.start()
        self.wait()
        return "started" if started else ""

    def stop(self, kill: bool = False) -> bool:
        """End the process, at once when `kill`; say whether it was running."""
        how = signal.SIGKILL if kill else signal.SIGTERM
        return processes.stop([self.pid_file], with_signal=how) > 0
