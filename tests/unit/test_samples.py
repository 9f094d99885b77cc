"""Policies have descriptions, and the samples in etc/ are what the generators produce."""

import pathlib
import subprocess
import sys

import pytest

from warre_blazar import policies

_ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("rule", policies.list_rules(), ids=lambda rule: rule.name)
def test_policy_is_described(rule: object) -> None:
    assert rule.description.endswith(".")
    assert rule.operations


@pytest.mark.parametrize(
    ("generator", "name"),
    [("oslo-config-generator", "config"), ("oslopolicy-sample-generator", "policy")],
)
def test_sample_is_current(generator: str, name: str, tmp_path: pathlib.Path) -> None:
    config = _ROOT / f"etc/{name}-generator.conf"
    made = tmp_path / "sample"
    program = pathlib.Path(sys.executable).parent / generator
    command = [program, "--config-file", config, "--output-file", made]
    subprocess.run(command, check=True, cwd=_ROOT, capture_output=True)
    kept = next(line for line in config.read_text().splitlines() if line.startswith("output_file"))
    assert made.read_text() == (_ROOT / kept.split("=")[1].strip()).read_text()
