"""Makes a virtual environment with released packages and this repository."""

import sys
from collections.abc import Sequence
from pathlib import Path

from devcloud_lib import stamps
from devcloud_lib.console import say
from devcloud_lib.installer import Installer
from devcloud_lib.package_sets import PackageSet
from devcloud_lib.settings import REPOSITORY

#: What the dev cloud needs beside OpenStack's services.
_CLIENTS = (
    # The mail server of the cloud.
    "aiosmtpd",
    # The benchmarks draw pictures with it.
    "matplotlib",
    "openstacksdk",
    "psycopg2-binary",
    "pymysql",
    "python-blazarclient",
    "python-openstackclient",
    # uWSGI as a wheel, so that no compiler is needed.
    "pyuwsgi",
)
_PROJECT_FILES = ("setup.cfg", "requirements.txt", "pyproject.toml")


def missing_packages() -> list[str]:
    """Return the Debian packages without which Debian's Python can't make environments."""
    try:
        import ensurepip  # noqa: F401, PLC0415
    except ImportError:
        return ["python3-venv"]
    return []


def cloud_packages(chosen: PackageSet) -> tuple[str, ...]:
    """Return the requirements of the packages of a dev cloud."""
    return (chosen.blazar, *chosen.services, *_CLIENTS)


def packages_version(packages: Sequence[str], constraints: Path | None) -> str:
    """Return a hash that changes with the packages, their constraints and the Python."""
    return stamps.digest(*packages, constraints or "", sys.version)


def project_version() -> str:
    """Return a hash that changes when the repository must be installed again (not at each edit)."""
    return stamps.digest(str(REPOSITORY), *(REPOSITORY / name for name in _PROJECT_FILES))


def ensure(
    directory: Path, log: Path, wanted: Sequence[str], constraints: Path | None = None
) -> str:
    """Make the environment and install what is missing in it. Return what to print about it.

    :param constraints: a file of upper constraints, for the packages and for what they need.
    """
    installer = Installer(directory.parent / "uv", log, constraints)
    done = stamps.Stamps(directory / "stamps")
    packages, project = packages_version(wanted, constraints), project_version()
    if not done.current("packages", packages):
        say(f"venv: installing {len(wanted)} packages and their dependencies")
        installer.make(directory)
        installer.install(directory, *wanted)
        done.set("packages", packages)
    elif done.current("project", packages + project):
        return ""
    if not (REPOSITORY / "setup.cfg").exists():
        return "packages installed; the repository has no setup.cfg yet"
    installer.install(directory, "--editable", f"{REPOSITORY}[server,cli]")
    done.set("project", packages + project)
    return "packages and this repository installed"
