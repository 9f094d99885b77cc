"""Upgrades a dev cloud of its own, and prints what came of it.

What is there before is the version before this one, or this version with the oldest supported
Blazar.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from devcloud_lib import package_sets, ports, shell, side_cloud, stamps, venv
from devcloud_lib.console import say
from devcloud_lib.installer import Installer
from devcloud_lib.package_sets import PackageSet
from devcloud_lib.settings import REPOSITORY

#: The version before this one, as long as no release tag is before this commit.
_BEFORE = "c0e5f814"
_OPTIONS = (
    f"--port-offset={ports.BESIDE['upgrade']}",
    "--managers=2",
    "--api-workers=4",
    "--password-rounds=4",
)
#: What the version before needs beside Blazar and its own dependencies.
_PACKAGES = ("pymysql", "python-blazarclient", "python-openstackclient", "pyuwsgi")


def run(
    home: Path,
    exported: Callable[..., dict[str, str]],
    program: Callable[..., bool],
    *,
    of_blazar: bool = False,
) -> bool:
    """Start a new cloud, upgrade it, and stop it. Return whether nothing was wrong.

    :param home: the directory of the cloud.
    :param exported: returns the environment that a tool's ``env`` prints.
    :param program: runs a program with an environment.
    :param of_blazar: whether Blazar is upgraded, and not this package.
    """
    release = package_sets.SETS["2026.1"] if of_blazar else package_sets.NEWEST
    before = _install(home, _head() if of_blazar else _commit(), release)
    # Blazar with eventlet serves requests in one thread of a process only.
    threads = ("--threads", "1") if release.eventlet else ()
    side_cloud.wipe(home)
    with side_cloud.running(home, *_OPTIONS):
        cloud = exported(str(side_cloud.TOOL), "env", "--home", str(home))
        words = ("-W", "ignore", "-m", "tests.upgrade", str(before), *threads)
        python = str(home / "venv" / "bin" / "python")
        return program(python, *words, env={**cloud, "PATH": os.environ["PATH"]})


def _commit() -> str:
    """The commit of the newest release tag before this commit, or else _BEFORE."""
    return _git("describe", "--tags", "--abbrev=0", "--match", "[0-9]*", "HEAD~1") or _BEFORE


def _head() -> str:
    return _git("rev-parse", "HEAD")


def _git(*words: str) -> str:
    """What git prints, or an empty text if it fails."""
    done = subprocess.run(
        ["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def _install(home: Path, commit: str, release: PackageSet) -> Path:
    """Install a commit with released packages, unless it is there. Return its environment."""
    directory = home.parent / "upgrade-before" / release.name
    log = home.parent / "log" / "upgrade-before.log"
    source, environment = directory / "source", directory / "venv"
    done = stamps.Stamps(directory / "stamps")
    packages = (release.blazar, *_PACKAGES)
    wanted = stamps.digest(commit, venv.packages_version(packages, release.constraints))
    if not done.current("packages", wanted):
        say(f"the version before is {commit}: it is installed in {environment}")
        shutil.rmtree(directory, ignore_errors=True)
        shell.run(["git", "clone", "--quiet", "--shared", REPOSITORY, source], log)
        shell.run(["git", "-C", source, "checkout", "--quiet", commit], log)
        installer = Installer(home.parent / "uv", log, release.constraints)
        installer.make(environment)
        installer.install(environment, *packages, f"{source}[server,cli]")
        done.set("packages", wanted)
    return environment
