"""A directory that stands for the root of a container of Kolla, in which programs are run."""

import contextlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.deployers import environments

#: Directories of Kolla's containers. In commands and files they lead into the directory.
_PLACES = (
    *("/etc/blazar", "/etc/horizon", "/etc/openstack-dashboard"),
    *("/usr/local/bin", "/usr/lib/uwsgi", "/var/lib/blazar", "/var/lib/kolla", "/var/log/kolla"),
)
_PLACE = re.compile(rf"(?<![\w.-])({'|'.join(_PLACES)})(?=[/\s'\"]|$)")
#: Processes keep the user who runs the tests.
_USER = re.compile(r"^uid = \w+\n", re.MULTILINE)
#: The seconds that a program may take to end.
_ENDS_WITHIN = 300


class Container:
    """A container with the programs of an environment.

    :param root: an empty directory.
    :param environment: the directory of a virtual environment.
    """

    def __init__(self, root: Path, environment: Path) -> None:
        self._root = root
        self._environment = environment
        for place in _PLACES:
            self.path(place).mkdir(parents=True, exist_ok=True)
        libraries = self.path("/var/lib/kolla/venv/lib")
        libraries.mkdir(parents=True)
        (found,) = (environment / "lib").glob("python3*")
        (libraries / "python3").symlink_to(found)

    def path(self, absolute: str) -> Path:
        """The path of a file of the container."""
        return self._root / absolute.lstrip("/")

    def translated(self, text: str) -> str:
        """A text in which the container's directories lead into this one."""
        return _PLACE.sub(rf"{self._root}\1", _USER.sub("", text))

    def copy(self, source: Path, absolute: str) -> None:
        """Copy a text file into the container."""
        path = self.path(absolute)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.translated(source.read_text()))

    def copy_configuration(self, rendered: Path) -> list[str]:
        """Copy the files that Kolla-Ansible has written for a container, as Kolla would.

        :returns: the command that the container runs.
        """
        config = json.loads((rendered / "config.json").read_text())
        for file in config["config_files"]:
            self.copy(rendered / Path(file["source"]).name, file["dest"])
        for permission in (*config.get("permissions", ()), *config.get("directories", ())):
            # Kolla makes the directories of logs.
            self.path(re.sub(r"/[^/]*\*.*", "", permission["path"])).mkdir(exist_ok=True)
        return shlex.split(self.translated(config["command"]))

    def run(self, script: str, **variables: str) -> str:
        """Run a shell script that must succeed. Return what it has printed."""
        options = ("-o", "errexit", "-o", "pipefail", "-o", "nounset")
        env = {**self._variables(), **variables}
        return environments.run("bash", *options, "-c", self.translated(script), env=env)

    @contextlib.contextmanager
    def running(self, command: list[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a program of the environment, which writes into a log, until the block ends."""
        with log.open("ab") as file:
            process = subprocess.Popen(
                [str(self._environment / "bin" / command[0]), *command[1:]],
                env={**os.environ, **self._variables()},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                # As in a container, it leads a group of processes: oslo.messaging looks at that.
                start_new_session=True,
            )
        try:
            yield process
        finally:
            process.terminate()
            # It ends itself after [DEFAULT] graceful_shutdown_timeout, and tests run with a low
            # priority beside busy clouds.
            process.wait(_ENDS_WITHIN)

    def _variables(self) -> Mapping[str, str]:
        return {
            "PATH": f"{self._environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "OS_BLAZAR_CONFIG_DIR": str(self.path("/etc/blazar")),
        }
