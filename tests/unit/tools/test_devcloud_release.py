"""``tools/devcloud up --release`` chooses the set of packages of a cloud."""

import pathlib

import pytest
from devcloud_lib import package_sets, settings, venv
from devcloud_lib.console import Failure
from devcloud_lib.layout import Layout
from devcloud_lib.services import blazar


def test_choice_is_kept_for_the_next_up(tmp_path: pathlib.Path):
    settings.save(tmp_path, settings.choose(tmp_path, release="2026.1"))
    assert settings.choose(tmp_path, release=None).packages.name == "2026.1"


def test_release_of_a_cloud_cannot_change(tmp_path: pathlib.Path):
    settings.save(tmp_path, settings.choose(tmp_path, release="2026.1"))
    with pytest.raises(Failure, match="cannot change"):
        settings.choose(tmp_path, release="newest")


def test_cloud_of_a_release_needs_a_directory_of_its_own(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("WARRE_DEVCLOUD_HOME", str(tmp_path))
    assert settings.choose(tmp_path).release == "newest"
    with pytest.raises(Failure, match="--home"):
        settings.choose(tmp_path, release="2026.1")


def test_cloud_of_a_release_can_be_the_one_that_is_used(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    settings.save(tmp_path, settings.choose(tmp_path, release="2026.1"))
    monkeypatch.setenv("WARRE_DEVCLOUD_HOME", str(tmp_path))
    assert settings.choose(tmp_path, managers=2).release == "2026.1"


def test_unknown_release_is_refused():
    with pytest.raises(Failure, match=r"one of 2026\.1, master, newest"):
        settings.Settings(release="2025.2")


def test_services_are_restarted_when_the_set_or_its_constraints_change(tmp_path: pathlib.Path):
    versions = {
        Layout(tmp_path, settings.Settings(release=name)).version for name in package_sets.SETS
    }
    assert len(versions) == len(package_sets.SETS)


def test_packages_are_installed_again_when_their_constraints_change(tmp_path: pathlib.Path):
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("one===1\n")
    before = venv.packages_version(["one"], constraints)
    assert venv.packages_version(["one"], constraints) == before
    constraints.write_text("one===2\n")
    assert venv.packages_version(["one"], constraints) != before
    assert venv.packages_version(["one"], None) != before


@pytest.mark.parametrize(("release", "threads"), [("2026.1", 1), ("master", 16)])
def test_process_of_an_api_with_eventlet_has_one_thread(
    tmp_path: pathlib.Path, release: str, threads: int
):
    layout = Layout(tmp_path, settings.Settings(release=release))
    api, *_ = blazar.services(layout)
    assert f"--threads={threads}" in api.command
