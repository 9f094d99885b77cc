"""Runs the tests of what other programs load: Heat's resource and Ansible's modules.

These programs have an environment of their own, with this repository's client.
"""

from collections.abc import Callable
from pathlib import Path

from devcloud_lib import stamps, venv
from devcloud_lib.installer import Installer
from devcloud_lib.settings import REPOSITORY

#: Names the directory of the environment for the tests.
VARIABLE = "WARRE_PROGRAMS_HOME"
_PACKAGES = ("ansible-core>=2.19.1,<2.22", "openstack-heat==27.0.1", "openstacksdk")
_TESTS = "tests/programs"


def run(home: Path, run_tests: Callable[..., bool], *words: str) -> bool:
    """Make the environment if necessary, and run the tests. Return whether they passed.

    :param run_tests: runs pytest with some words, and with environment variables as ``env``.
    """
    return run_tests(*words, _TESTS, env={VARIABLE: str(environment(home))})


def environment(home: Path) -> Path:
    """Make the environment if necessary. Return its directory."""
    directory = home / "venv"
    version = stamps.digest(venv.packages_version(_PACKAGES, None), venv.project_version())
    done = stamps.Stamps(home / "stamps")
    if not done.current("programs", version):
        installer = Installer(home / "uv", home / "log" / "pip.log")
        installer.make(directory)
        installer.install(directory, *_PACKAGES, "--editable", str(REPOSITORY))
        done.set("programs", version)
    return directory
