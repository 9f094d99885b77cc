"""Horizon checks the policies that the API has by default."""

import pathlib

import yaml

from warre_blazar import dashboard, policies

FILE = pathlib.Path(dashboard.__file__).parent / "conf" / "default_policies.yaml"


def test_default_policies_are_those_of_the_package() -> None:
    written = {rule["name"]: rule["check_str"] for rule in yaml.safe_load(FILE.read_text())}
    ours = {rule.name: rule.check_str for rule in policies.list_rules()}
    assert written.items() >= ours.items()
    assert {name for name in written if name.startswith("warre:")} == set(ours)
