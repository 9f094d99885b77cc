"""python-warreclient 3.4.0 as it is on the package index, where it is called ``warreclient``."""

import dataclasses
import datetime
import os
import pathlib
import subprocess
from typing import Any

import yaml

from tests.functional.cloud import devcloud

RELEASE = "warreclient==3.4.0"
#: What it needs, and the program whose commands it adds to.
_NEEDED = ("pip", "python-openstackclient", "nectarclient-lib<2", "osc-lib", "oslo.utils", "pbr")


@dataclasses.dataclass(frozen=True)
class WarreClient:
    """The program ``openstack`` with the commands ``openstack warre ...``."""

    programs: pathlib.Path

    def run(self, *words: str, user: str = "alpha") -> subprocess.CompletedProcess[str]:
        """A command, whatever comes of it."""
        env = {
            **os.environ,
            "OS_USERNAME": user,
            "OS_PROJECT_NAME": user,
            "OS_AUTH_TYPE": "password",
        }
        command = [self.programs / "openstack", "warre", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=env)

    def prints(self, *words: str, user: str = "alpha") -> Any:
        """What a command that has to succeed prints, times as text; None where it prints nothing.

        As YAML: this client can't print the times of windows and reservations as JSON.
        """
        shows = not {"delete", "revoke"}.intersection(words)
        done = self.run(*words, *(["-f", "yaml"] if shows else []), user=user)
        assert done.returncode == 0, f"warre {' '.join(words)}: {done.stdout}{done.stderr}"
        return _times_as_text(yaml.safe_load(done.stdout)) if shows else None


def _times_as_text(printed: Any) -> Any:
    if isinstance(printed, datetime.datetime):
        return printed.isoformat()
    if isinstance(printed, dict):
        return {name: _times_as_text(value) for name, value in printed.items()}
    if isinstance(printed, list):
        return [_times_as_text(value) for value in printed]
    return printed


def installed(directory: pathlib.Path) -> WarreClient:
    """Install it into an environment of its own, unmodified.

    Its metadata ask for Python 3.12; nothing in it does, so an older one will do here.
    """
    programs = devcloud.environment(directory, *_NEEDED)
    command = [programs / "python", "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--ignore-requires-python", RELEASE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return WarreClient(programs)
