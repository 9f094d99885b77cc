"""Runs the tests of the files for deployers in ``contrib/``.

Kolla and Kolla-Ansible render their own templates for these tests. Each version of them has an
environment of its own, and so have the programs of Blazar's containers in each release.
"""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

from devcloud_lib import package_sets, stamps, venv
from devcloud_lib.installer import Installer
from devcloud_lib.package_sets import PackageSet
from devcloud_lib.settings import REPOSITORY

#: Names the directory of the environments for the tests.
VARIABLE = "WARRE_DEPLOYERS_HOME"
_TESTS = "tests/deployers"


@dataclasses.dataclass(frozen=True)
class Release:
    """A release of OpenStack, and the versions of Kolla and Kolla-Ansible that deploy it.

    :ivar name: also the name of the environment with the programs of Blazar's containers.
    :ivar packages: Blazar and the constraints of this release.
    """

    name: str
    kolla: str
    kolla_ansible: str
    packages: PackageSet


RELEASES = (
    Release("2026.1", "22.0.0", "22.2.0", package_sets.SETS["2026.1"]),
    Release("2026.2", "23.0.0", "23.0.0", package_sets.MASTER),
)
#: Kolla imports a container engine's client, even when it builds nothing.
_WITH_KOLLA = ("docker",)
#: What Kolla-Ansible's filters and templates import. Kolla-Ansible 23 requires Python 3.12, but its
#: roles don't. So its files are unpacked, without what the package requires.
_ANSIBLE = ("ansible-core>=2.19.1,<2.22", "bcrypt", "jmespath", "netaddr", "oslo.config", "pbr")
_UNPACKED = ("--no-deps", "--only-binary", ":all:", "--python-version", "3.12")
#: What Kolla's images have besides. uWSGI is a wheel that brings its own Python plugin.
_IN_BLAZAR = ("cryptography", "pymysql", "python-memcached", "pyuwsgi")
_IN_HORIZON = ("django-redis", "pymemcache", "pyuwsgi")


def run(home: Path, run_tests: Callable[..., bool], *words: str) -> bool:
    """Make the environments if necessary, and run the tests. Return whether they passed.

    :param run_tests: runs pytest with some words, and with environment variables as ``env``.
    """
    make(home)
    return run_tests(*words, _TESTS, env={VARIABLE: str(home)})


def make(home: Path) -> None:
    """Make all environments, unless they are current."""
    _environment(home / "ansible", _ANSIBLE)
    for release in RELEASES:
        kolla = f"kolla=={release.kolla}"
        _environment(home / f"kolla-{release.kolla}", (kolla, *_WITH_KOLLA))
        _unpack(home, f"kolla-ansible=={release.kolla_ansible}")
        words = (release.packages.blazar, *_IN_BLAZAR)
        _environment(home / release.name, words, "server", release.packages.constraints)
    _environment(home / "horizon", _IN_HORIZON, "dashboard")


def _environment(
    directory: Path, packages: tuple[str, ...], extra: str = "", constraints: Path | None = None
) -> None:
    """Make an environment.

    :param extra: the extra with which this repository is installed. Empty: it isn't installed.
    """
    words, version = packages, venv.packages_version(packages, constraints)
    if extra:
        words = (*packages, "--editable", f"{REPOSITORY}[{extra}]")
        version = stamps.digest(version, extra, venv.project_version())
    done = stamps.Stamps(directory.parent / "stamps")
    if not done.current(directory.name, version):
        installer = _installer(directory.parent, constraints)
        installer.make(directory)
        installer.install(directory, *words)
        done.set(directory.name, version)


def _unpack(home: Path, package: str) -> None:
    """Unpack a wheel into a directory that is named like the package and its version."""
    directory, done = home / package.replace("==", "-"), stamps.Stamps(home / "stamps")
    version = stamps.digest(package, sys.version)
    if not done.current(directory.name, version):
        _installer(home).install(home / "ansible", "--target", directory, *_UNPACKED, package)
        done.set(directory.name, version)


def _installer(home: Path, constraints: Path | None = None) -> Installer:
    return Installer(home / "uv", home / "log" / "pip.log", constraints)
