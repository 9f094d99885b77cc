"""The version and the files of the package do not depend on how much of git's history is there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import requirements

pytestmark = pytest.mark.slow

_ROOT = requirements.SETUP.parent
_FILES = ("LICENSE", "MANIFEST.in", "README.rst", "requirements.txt", "setup.cfg", "setup.py")
_NEXT = requirements.read_setup()["metadata"]["version"]


def git(directory: Path, *words: str) -> None:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *author, *words], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two commits and the files from which the package is built."""
    directory = tmp_path / "repository"
    shutil.copytree(
        _ROOT / "warre_blazar",
        directory / "warre_blazar",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in _FILES:
        shutil.copy(_ROOT / name, directory)
    git(directory, "init", "--quiet")
    git(directory, "commit", "--quiet", "--allow-empty", "--message=first")
    git(directory, "add", ".")
    git(directory, "commit", "--quiet", "--message=second")
    return directory


@pytest.fixture
def shallow(repository: Path) -> Path:
    """A clone of the last commit."""
    directory = repository.with_name("shallow")
    git(repository, "clone", "--quiet", "--depth=1", f"file://{repository}", str(directory))
    return directory


@pytest.fixture
def archive(repository: Path) -> Path:
    """The files that ``git archive`` packs, without a repository."""
    path = repository.with_name("archive.zip")
    git(repository, "archive", f"--output={path}", "HEAD")
    shutil.unpack_archive(path, path.with_suffix(""))
    return path.with_suffix("")


def built(directory: Path) -> tuple[str, set[str]]:
    """The version of the package that a directory builds, and the package's files."""
    env = {name: value for name, value in os.environ.items() if name != "PBR_VERSION"}
    subprocess.run(
        [sys.executable, "-W", "ignore", "setup.py", "-q", "egg_info"],
        cwd=directory,
        env=env,
        check=True,
        capture_output=True,
    )
    metadata = directory / "warre_blazar.egg-info"
    (version,) = (
        line.removeprefix("Version: ")
        for line in (metadata / "PKG-INFO").read_text().splitlines()
        if line.startswith("Version: ")
    )
    names = (metadata / "SOURCES.txt").read_text().splitlines()
    return version, {name for name in names if name.startswith("warre_blazar/")}


def test_version_counts_the_commits_of_a_clone(repository: Path) -> None:
    assert built(repository)[0] == f"{_NEXT}.dev1"


@pytest.mark.parametrize("kind", ["shallow", "archive"])
def test_package_without_history_is_complete(
    kind: str, repository: Path, request: pytest.FixtureRequest
) -> None:
    assert built(request.getfixturevalue(kind)) == (_NEXT, built(repository)[1])


def test_sdist_keeps_its_version(archive: Path) -> None:
    (archive / "PKG-INFO").write_text("Name: warre-blazar\nVersion: 0.8.7\n")
    assert built(archive)[0] == "0.8.7"


def test_compiled_modules_are_left_out(archive: Path) -> None:
    (archive / "warre_blazar" / "left.pyc").touch()
    assert "warre_blazar/left.pyc" not in built(archive)[1]
