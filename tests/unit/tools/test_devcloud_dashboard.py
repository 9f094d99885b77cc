"""The dev cloud's Horizon is installed again when it would serve the pages of another directory."""

import pathlib

import pytest
from devcloud_lib import settings, venv
from devcloud_lib.layout import Layout
from devcloud_lib.services import dashboard


def test_version_names_the_directory_of_the_pages(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    """A home that a clone left behind served the deleted clone's pages: each was a 404."""
    layout = Layout(tmp_path, settings.Settings(dashboard=True))
    [here] = dashboard.services(layout)
    monkeypatch.setattr(venv, "REPOSITORY", tmp_path / "another clone")
    [there] = dashboard.services(layout)
    assert here.version != there.version
