"""The checks of a built release know what the repository declares."""

import configparser
import pathlib

import pytest
from devcloud_lib.inside import smoke

SETUP = pathlib.Path(__file__).parents[3] / "setup.cfg"


def test_entry_points_are_those_of_the_file(tmp_path: pathlib.Path):
    setup = tmp_path / "setup.cfg"
    setup.write_text("[entry_points]\na =\n    x = one.two:Three\nb =\n    y= m\n    z = n\n")
    assert smoke.declared(setup) == {("a", "x", "one.two:Three"), ("b", "y", "m"), ("b", "z", "n")}


def test_entry_points_of_the_repository_are_all_read():
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(SETUP)
    lines = sum(len(text.strip().splitlines()) for text in parser["entry_points"].values())
    assert len(smoke.declared(SETUP)) == lines
    assert ("oslo.policy.policies", "warre_blazar", "warre_blazar.policies:list_rules") in (
        smoke.declared(SETUP)
    )


@pytest.mark.parametrize("name", ["db/migrations/script.py.mako", "message_templates/moved.txt"])
def test_data_files_are_those_that_are_no_modules(name: str):
    found = smoke.data_files(SETUP)
    assert pathlib.Path("warre_blazar") / name in found
    assert not [path for path in found if path.suffix == ".py"]
