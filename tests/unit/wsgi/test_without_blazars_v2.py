"""This package's API with a Blazar that has no v2 API, as a release to come will have none."""

import os
import pathlib
import subprocess
import sys

import pytest

from tests.unit.wsgi import blazar_without_v2

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The ``PYTHONPATH`` of a process that has such a Blazar."""
    directory = tmp_path_factory.mktemp("without")
    blazar_without_v2.make(directory)
    return os.pathsep.join(map(str, (directory, ROOT, ROOT / "tools")))


def run(path: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_blazars_own_v2_is_gone(path: str):
    script = (
        "import importlib.util as u, blazar.api.wsgi_app, blazar.cmd.api, blazar.opts, "
        "blazar.api.root; print(u.find_spec('blazar.api.v2'))"
    )
    done = run(path, "-c", script)
    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr


def check(path: str, *tests: str) -> None:
    """Run tests of the API in a process of their own."""
    words = ("-q", "-p", "no:cacheprovider", "-m", "not slow", *tests)
    done = run(path, "-m", "pytest", *words)
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout


def test_some_tests_of_the_api_pass(path: str):
    names = ("conformance", "flavors", "openapi", "policies")
    check(path, *(f"tests/unit/api/test_{name}.py" for name in names))


@pytest.mark.long
def test_all_tests_of_the_api_pass(path: str):
    """This takes as long as these tests do with Blazar's v2: two minutes on two cores."""
    check(path, "tests/unit/api")
