"""Builds the package with pbr, which makes the version from the history in git."""

import configparser
import os
import pathlib
import subprocess

import setuptools

_HERE = pathlib.Path(__file__).resolve().parent


def _version() -> str:
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(_HERE / "setup.cfg")
    return setup["metadata"]["version"]


def _has_history() -> bool:
    command = ["git", "-C", str(_HERE), "rev-parse", "--quiet", "--verify", "HEAD~1"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    except OSError:
        return False
    return done.returncode == 0


# pbr counts commits. In a clone of a single commit it counts none and says 0.0.0, and in an archive
# of the repository it gives up. Both get the version of the next release. An sdist has PKG-INFO.
if not (_HERE / "PKG-INFO").exists() and not _has_history():
    os.environ.setdefault("PBR_VERSION", _version())

setuptools.setup(pbr=True)
