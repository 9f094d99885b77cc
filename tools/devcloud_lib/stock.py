"""Runs Blazar's own unit tests without this repository, and with it installed and enabled.

The tests are in Blazar's package. What this repository changes in Blazar's process (plugin,
filters, controllers, routes of v2) must not change the outcome of any of them.
"""

import os
import subprocess
from pathlib import Path

from devcloud_lib import package_sets, results, venv
from devcloud_lib.console import say
from devcloud_lib.installer import Installer
from devcloud_lib.settings import REPOSITORY

# Packages that Blazar's tests use, although no package requires them.
_PACKAGES = (
    package_sets.MASTER.blazar,
    "ddt",
    "oslotest",
    "pytest",
    "testresources",
    "testscenarios",
    "webtest",
)
#: Tests of Blazar's style checks, which need its style checker.
_LEFT_OUT = "*local_hacking*"


def run(home: Path) -> bool:
    """Run the tests twice. Return whether each test had the same outcome in both runs."""
    environment, log = home / "stock", home / "log" / "pip.log"
    constraints = package_sets.MASTER.constraints
    venv.ensure(environment, log, _PACKAGES, constraints)
    installer = Installer(home / "uv", log, constraints)
    installer.uninstall(environment, "warre-blazar")
    without = _outcomes(environment, "without", [])
    installer.install(environment, "--editable", f"{REPOSITORY}[server]")
    enabled = _outcomes(environment, "with", ["-p", "enabled"])
    say(f"Blazar's tests without warre-blazar: {_summary(without)}")
    say(f"Blazar's tests with warre-blazar:    {_summary(enabled)}")
    for test in sorted(set(without) | set(enabled)):
        if without.get(test) != enabled.get(test):
            say(f"differs: {test}: {without.get(test)} without, {enabled.get(test)} with")
    return bool(without) and without == enabled


def _outcomes(environment: Path, name: str, words: list[str]) -> results.Outcomes:
    report = environment / f"{name}.xml"
    report.unlink(missing_ok=True)
    command = [
        *(environment / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *("-W", "ignore", "--pyargs", "blazar.tests", f"--ignore-glob={_LEFT_OUT}"),
        *(f"--junitxml={report}", "--tb=short", *words),
    ]
    inside = REPOSITORY / "tools" / "devcloud_lib" / "inside"
    with (environment / f"{name}.log").open("w") as log:
        subprocess.run(
            command,
            cwd=environment,
            env={**os.environ, "PYTHONPATH": str(inside)},
            stdout=log,
            stderr=log,
            check=False,
        )
    return results.outcomes(report)


def _summary(outcomes: results.Outcomes) -> str:
    kinds = sorted(set(outcomes.values()))
    return ", ".join(f"{list(outcomes.values()).count(kind)} {kind}" for kind in kinds) or "none"
