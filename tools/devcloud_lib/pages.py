"""Tests the pages for Horizon: against a fake API, and in a browser on a dev cloud.

The tests run in an environment that has the extra ``dashboard``, because the other tests must work
without Horizon. The browser is Debian's Chromium.
"""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from devcloud_lib import apt, ports, side_cloud, stamps, venv
from devcloud_lib.installer import Installer
from devcloud_lib.settings import REPOSITORY

#: The pages must work beside those of blazar-dashboard.
_PACKAGES = ("axe-playwright-python", "babel", "blazar-dashboard", "playwright")
_TESTS, BROWSER_TESTS = "tests/dashboard", "tests/functional/dashboard"
_OFFSET = ports.BESIDE["dashboard"]


def missing_packages() -> list[str]:
    """Return the Debian packages that must be installed first."""
    return [] if apt.find("chromium") else ["chromium"]


def without_browser(home: Path, command: Callable[..., list[str]]) -> bool:
    """Run the tests of the pages against a fake API. Return whether all of them passed.

    :param home: the directory of the environment.
    :param command: returns the command line of pytest with some words.
    """
    return _pytest(environment(home), command(_TESTS), dict(os.environ))


def environment(home: Path) -> Path:
    """Make the environment of the tests if necessary. Return the path of its Python."""
    directory = home / "venv"
    lines = (REPOSITORY / "test-requirements.txt").read_text().split()
    packages = venv.packages_version([*lines, *_PACKAGES], None)
    version = stamps.digest(packages, venv.project_version())
    done = stamps.Stamps(directory / "stamps")
    if not done.current("dashboard", version):
        installer = Installer(home / "uv", home / "pip.log")
        installer.make(directory)
        words = (*lines, *_PACKAGES, "--editable", f"{REPOSITORY}[server,cli,dashboard]")
        installer.install(directory, *words)
        done.set("dashboard", version)
    return directory / "bin" / "python"


def in_browser(
    home: Path, exported: Callable[..., dict[str, str]], command: Callable[..., list[str]]
) -> bool:
    """Run the tests in a browser on a cloud of their own. Return whether all of them passed.

    :param home: the directory of the environment and of the cloud.
    :param exported: returns the environment that a tool's ``env`` prints.
    :param command: returns the command line of pytest with some words.
    """
    program, cloud = environment(home), home / "cloud"
    options = ["--dashboard", "--managers=1", "--password-rounds=4"]
    with side_cloud.running(cloud, f"--port-offset={_OFFSET}", *options):
        side_cloud.register_hosts(cloud)
        variables = exported(str(side_cloud.TOOL), "env", "--home", str(cloud))
        env = {**variables, "PATH": os.environ["PATH"]}
        return _pytest(program, command(BROWSER_TESTS), env)


def _pytest(program: Path, words: Sequence[str], env: dict[str, str]) -> bool:
    words = [str(program), "-m", *words]
    return subprocess.run(words, cwd=REPOSITORY, env=env, check=False).returncode == 0
