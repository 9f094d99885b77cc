"""The steps that tools/demo runs."""

import pathlib
import subprocess
import sys

from tests.functional.cloud.people import Person

_STEPS = pathlib.Path(__file__).resolve().parents[3] / "tools" / "demo_steps.py"


def test_steps_have_the_expected_results(admin: Person) -> None:
    done = subprocess.run([sys.executable, _STEPS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All steps had the expected results." in done.stdout
    admin.asks("DELETE", "/v2/flavors/demo.gpu/", want=204)
