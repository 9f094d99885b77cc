"""The files of the repository have known origins, and the archives of a release hold only them."""

import io
import pathlib
import subprocess
import tarfile
import zipfile

import pytest
from devcloud_lib import origins
from devcloud_lib.settings import REPOSITORY

METADATA = "warre_blazar-1.0.0.dist-info/"


def test_every_file_of_the_repository_has_an_origin():
    names = origins.tracked(REPOSITORY)
    assert "warre_blazar/dashboard/static/flavor_reservations/forms.js" in names
    there = {name for name in names if (REPOSITORY / name).exists()}
    assert origins.problems(REPOSITORY, there) == []


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    """A repository with a license, a module and a script."""
    directory = tmp_path / "source"
    files = {"LICENSE": "License", "warre_blazar/a.py": "x = 1\n", "tools/b": "#!/bin/sh\n"}
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for words in ("init --quiet", "add ."):
        subprocess.run(["git", *words.split()], cwd=directory, check=True)
    return directory


def wheel(directory: pathlib.Path, *more: str) -> pathlib.Path:
    names = ["warre_blazar/a.py", *(METADATA + n for n in ("METADATA", "RECORD", "WHEEL"))]
    path = directory / "warre_blazar-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for name in (*names, METADATA + "licenses/LICENSE", *more):
            packed.writestr(name, "")
    return path


def sdist(directory: pathlib.Path, *names: str) -> pathlib.Path:
    path = directory / "warre_blazar-1.0.0.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for name in names:
            packed.addfile(tarfile.TarInfo(f"warre_blazar-1.0.0/{name}"), io.BytesIO())
    return path


def test_wheel_with_the_package_alone_is_right(source: pathlib.Path, tmp_path: pathlib.Path):
    assert origins.check(wheel(tmp_path), source) == []


@pytest.mark.parametrize("name", ["warre_blazar/jquery.min.js", "tests/a.py", METADATA + "x"])
def test_wheel_with_another_file_is_refused(
    source: pathlib.Path, tmp_path: pathlib.Path, name: str
):
    assert origins.check(wheel(tmp_path, name), source) == [f"{name}: not in the repository"]


def test_sdist_has_all_files_and_what_the_build_adds(source: pathlib.Path, tmp_path: pathlib.Path):
    added = ["PKG-INFO", "AUTHORS", "ChangeLog", "warre_blazar.egg-info/SOURCES.txt"]
    whole = sdist(tmp_path, *sorted(origins.tracked(source)), *added)
    assert origins.check(whole, source) == []
    lacking = sdist(tmp_path, "warre_blazar/a.py", *added)
    assert origins.check(lacking, source) == [
        *("LICENSE: missing", "tools/b: missing", "the license is missing")
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("warre_blazar/logo.svg", "", "no origin is known"),
        ("warre_blazar/font.woff", "\x80", "no origin is known"),
        ("warre_blazar/min.js", "x=1;" * 2000, "no origin is known"),
        ("warre_blazar/a.js", "/* Copyright (c) 2010 Somebody */", "it says 'Copyright (c)'"),
        ("warre_blazar/b.py", "# SPDX-License-Identifier: GPL-3.0", "it says 'SPDX-License'"),
        ("doc/source/dashboard/new.png", "", ""),
        ("warre_blazar/c.py", "copy = 2\n", ""),
    ],
)
def test_files_of_others_are_noticed(tmp_path: pathlib.Path, name: str, text: str, said: str):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="latin-1")
    found = origins.problems(tmp_path, [name])
    assert len(found) == bool(said)
    assert said in "".join(found)
