"""Checks what the archives of a release hold: files of the repository, whose origins are known."""

import fnmatch
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

#: Where files come from that weren't typed for this package, by patterns of their names. All of it
#: is under the license of this package, or under the same license.
NOT_TYPED = {
    "*.mo": "compiled from the .po beside it",
    "doc/source/*.png": "screenshots of this package's pages",
    "doc/source/*.svg": "drawn for this package, by hand or by its benchmarks",
    "doc/source/_ext/fault_matrix.json": "written by tests",
    "doc/source/api/openapi.json": "generated from the code",
    "doc/source/figures.json": "written by benchmarks",
    "etc/*.sample": "generated from the code",
    "tests/constraints/*.txt": "openstack/requirements, Apache-2.0",
    "tests/functional/db/warre/schema.sql": "what the migrations of Warre make, Apache-2.0",
    "tests/promises.txt": "generated from the code",
    "tests/warre-5.2.2.json": "recorded from Warre, Apache-2.0",
}
#: Nobody types longer lines, except in recorded data.
_LONGEST_LINE = 5000
#: What other people's work says of itself.
_MARK = re.compile(
    rb"copyright (?:\(c\)|\xc2\xa9|19|20)|spdx-license|licensed under|sourcemappingurl|@license",
    re.IGNORECASE,
)
#: The text of the license, this module and its test.
_WITH_MARKS = ("LICENSE", "tools/devcloud_lib/origins.py", "tests/unit/tools/test_origins.py")
#: What the build adds, inside the directories that it names after the package.
_BUILT = {
    *("METADATA", "RECORD", "WHEEL", "entry_points.txt", "pbr.json", "top_level.txt"),
    *("licenses/LICENSE", "licenses/AUTHORS"),
    *("PKG-INFO", "SOURCES.txt", "dependency_links.txt", "not-zip-safe", "requires.txt"),
}
_ADDED = {"AUTHORS", "ChangeLog", "PKG-INFO"}

#: What the build leaves out of an sdist.
_LEFT_OUT = {".gitignore"}
_DIRECTORY = re.compile(r"warre_blazar(?:-[^/]+\.dist-info|\.egg-info)/")


def tracked(source: Path) -> set[str]:
    """The files of a repository."""
    command = ["git", "-C", str(source), "ls-files", "-z"]
    listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return set(listed.split("\0")) - {""}


def problems(source: Path, names: Iterable[str]) -> list[str]:
    """What is wrong with files of a repository: nobody knows where they come from."""
    return [
        f"{name}: {problem}" for name in sorted(names) if (problem := _problem(source / name, name))
    ]


def _problem(path: Path, name: str) -> str:
    content = path.read_bytes()
    is_known = any(fnmatch.fnmatch(name, pattern) for pattern in NOT_TYPED)
    if not is_known and (path.suffix == ".svg" or not _is_typed(content)):
        return "no origin is known; add it to NOT_TYPED with its license"
    if name not in _WITH_MARKS and (mark := _MARK.search(content)):
        return f"it says {mark.group().decode(errors='replace')!r}"
    return ""


def _is_typed(content: bytes) -> bool:
    try:
        return all(len(line) <= _LONGEST_LINE for line in content.decode().splitlines())
    except UnicodeDecodeError:
        return False


def check(archive: Path, source: Path) -> list[str]:
    """What is wrong with an sdist or a wheel that was built of a repository."""
    known = tracked(source)
    if archive.suffix == ".whl":
        found = set(zipfile.ZipFile(archive).namelist())
        expected = {name for name in known if name.startswith("warre_blazar/")}
        added = set()
    else:
        with tarfile.open(archive) as packed:
            found = {each.name.partition("/")[2] for each in packed if each.isfile()}
        expected, added = known - _LEFT_OUT, _ADDED
    built = {name for name in found if _DIRECTORY.sub("", name) in _BUILT and name not in known}
    wrong = [f"{name}: not in the repository" for name in sorted(found - known - built - added)]
    wrong += [f"{name}: missing" for name in sorted(expected - found)]
    if not any(Path(name).name == "LICENSE" for name in found):
        wrong.append("the license is missing")
    return wrong + problems(source, found & known)
