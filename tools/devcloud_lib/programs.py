"""Runs the tests of other programs: Heat and Ansible load what is in contrib/, python-chi books.

These programs have an environment of their own, with this repository's client.
"""

import os
from collections.abc import Callable
from pathlib import Path

from devcloud_lib import ports, side_cloud, stamps, venv
from devcloud_lib.installer import Installer
from devcloud_lib.settings import REPOSITORY

#: Names the directory of the environment for the tests.
VARIABLE = "WARRE_PROGRAMS_HOME"
_PACKAGES = (
    *("ansible-core>=2.19.1,<2.22", "openstack-heat==27.0.1", "openstacksdk", "pymysql"),
    # python-chi's package doesn't require the client through which it books.
    *("python-chi==1.2.10", "python-blazarclient"),
)
_TESTS, _ON_CLOUD = "tests/programs", "tests/functional/programs"
_OFFSET = ports.BESIDE["programs"]


def run(home: Path, run_tests: Callable[..., bool], *words: str) -> bool:
    """Make the environment if necessary, and run the tests. Return whether they passed.

    :param run_tests: runs pytest with some words, and with environment variables as ``env``.
    """
    return run_tests(*words, _TESTS, env={VARIABLE: str(environment(home))})


def run_on_cloud(
    home: Path, exported: Callable[..., dict[str, str]], run_tests: Callable[..., bool]
) -> bool:
    """Run the tests that need a dev cloud, on one of their own. Return whether they passed.

    :param exported: returns the environment that a tool's ``env`` prints.
    :param run_tests: as for ``run``.
    """
    cloud, options = home / "cloud", ("--managers=1", "--api-workers=2", "--password-rounds=4")
    with side_cloud.running(cloud, f"--port-offset={_OFFSET}", *options):
        side_cloud.register_hosts(cloud)
        env = exported(str(side_cloud.TOOL), "env", "--home", str(cloud))
        env |= {"PATH": os.environ["PATH"], VARIABLE: str(environment(home))}
        return run_tests(_ON_CLOUD, env=env)


def program(name: str) -> str:
    """The path of a program of the environment, for the tests."""
    if VARIABLE not in os.environ:
        raise RuntimeError("run these tests by 'tools/test programs', which makes what they need")
    return str(Path(os.environ[VARIABLE]) / "bin" / name)


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
