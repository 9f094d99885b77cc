"""The tutorials: every command in them is run, and its output is compared with the tutorial's.

``python -m tests.functional.cloud.test_tutorials`` on a dev cloud writes the output of the commands
into the tutorials.
"""

import dataclasses
import datetime
import doctest
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zoneinfo

import pytest

from tests.functional.cloud import devcloud
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import at_once

DOCS = pathlib.Path(__file__).resolve().parents[3] / "doc" / "source" / "cli"
#: The user who runs each tutorial.
TUTORIALS = {"researcher": "alpha", "teacher": "beta", "operator": "admin", "waiting": "beta"}
GPU = {
    "name": "tutorial.gpu",
    "category": "tutorial",
    "vcpu": 1,
    "memory_mb": 128,
    "disk_gb": 1,
    "slots": 3,
    "max_length_hours": 168,
    "extra_specs": {"pci_passthrough:alias": "a100:1"},
}
#: The flavor of the teacher, whom the bookings of the others must not meet.
COURSE = {**GPU, "name": "tutorial.course", "category": "course", "extra_specs": {}}
#: A flavor that one tutorial books up.
SCARCE = {
    **{name: value for name, value in GPU.items() if name != "extra_specs"},
    "name": "tutorial.scarce",
    "category": "scarce",
}

_MARK = "--- the tutorial goes on ---"
_VARYING = (
    (r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}|\b[0-9a-f]{32}\b", "ID"),
    (r"\d{4}-\d\d-\d\d", "DATE"),
    (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b", "DAY"),
    # The days that a week of the calendar shows depend on today.
    (r"\n(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d\d(?= )", ""),
    (r"(DAY DATE|booted until DATE|an end until DATE) \d\d:\d\d", r"\1 TIME"),
    (r"(\| tutorial-idle +\| DATE)T\d\d:\d\d:\d\d", r"\1 TIME"),
    # In summer, Berlin has another offset.
    (r"\+0[12]:00", "OFFSET"),
    # Blazar may be quick, and what a project uses and may use depends on other tests.
    (r"(?m)^(PENDING_CREATE|ALLOCATED): .*\n", ""),
    (r"(?m)^\| (reservations|hours) .*$", r"| \1 NUMBERS"),
    # The width of a table depends on its contents.
    (r"-{3,}", "---"),
    (r"[ ]+", " "),
)


@dataclasses.dataclass(frozen=True)
class Step:
    """A command and what it prints."""

    command: str
    output: str


def steps(name: str) -> list[Step]:
    """The steps of a tutorial."""
    found: list[Step] = []
    inside = False
    for line in (DOCS / f"{name}.rst").read_text().splitlines():
        if line.startswith(".. code-block:: console"):
            inside = True
        elif line and not line.startswith(" "):
            inside = False
        elif inside and line.startswith("    $ "):
            found.append(Step(line.removeprefix("    $ "), ""))
        elif inside and line.strip():
            last = found.pop()
            found.append(Step(last.command, f"{last.output}{line[4:]}\n"))
    return found


def printed(name: str) -> list[str]:
    """Run a tutorial's commands in one shell, and return what each of them prints."""
    user = TUTORIALS[name]
    lines = [line for step in steps(name) for line in (f"echo '{_MARK}'", step.command)]
    environment = {
        **os.environ,
        "PATH": f"{devcloud.home() / 'venv' / 'bin'}:{os.environ['PATH']}",
        "OS_USERNAME": user,
        "OS_PROJECT_NAME": user,
        "OS_AUTH_TYPE": "password",
        "COLUMNS": "80",
        "TZ": "UTC",
    }
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            ["bash", "-c", "\n".join(lines)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            cwd=directory,
            check=False,
        )
    kept = [line.rstrip() for line in done.stdout.splitlines() if line]
    parts = "".join(f"{line}\n" for line in kept).split(f"{_MARK}\n")
    return parts[1:]


def alike(want: str, got: str) -> bool:
    """Whether two outputs are the same, apart from what varies. ``...`` stands for anything."""
    return doctest.OutputChecker().check_output(_steady(want), _steady(got), doctest.ELLIPSIS)


def _steady(text: str) -> str:
    for pattern, name in _VARYING:
        text = re.sub(pattern, name, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _withdraw(admin: Person) -> None:
    """Delete what failed tutorials have left."""
    for flavor in admin.asks("GET", "/v2/flavors/?all_projects=true")["results"]:
        if not flavor["name"].startswith("tutorial."):
            continue
        query = f"/v2/reservations/?all_projects=true&flavor_id={flavor['id']}"
        for reservation in admin.asks("GET", query)["results"]:
            admin.ask("DELETE", f"/v2/reservations/{reservation['id']}/")
        admin.ask("DELETE", f"/v2/flavors/{flavor['id']}/")
    for window in admin.asks("GET", "/v2/maintenancewindows/")["results"]:
        if (window["note"] or "").startswith("tutorial"):
            admin.ask("DELETE", f"/v2/maintenancewindows/{window['id']}/")


def _pass_midnight() -> None:
    """Wait if a day ends soon: commands of a tutorial that say "tomorrow" mean the same day."""
    zones = (datetime.UTC, zoneinfo.ZoneInfo("Europe/Berlin"))
    while any(
        datetime.datetime.now(zone).date()
        != (datetime.datetime.now(zone) + datetime.timedelta(minutes=10)).date()
        for zone in zones
    ):
        time.sleep(10)


def run_all(admin: Person) -> dict[str, list[str]]:
    """Run all tutorials at the same time, and return the outputs of each one's commands."""
    _pass_midnight()
    _withdraw(admin)
    for flavor in (GPU, COURSE, SCARCE):
        admin.asks("POST", "/v2/flavors/", flavor, want=202)
    try:
        found = at_once([lambda n=name: printed(n) for name in TUTORIALS])
    finally:
        _withdraw(admin)
    return dict(zip(TUTORIALS, found, strict=True))


@pytest.fixture(scope="module")
def outputs(admin: Person) -> dict[str, list[str]]:
    """The outputs of each tutorial's commands."""
    return run_all(admin)


@pytest.mark.whole
@pytest.mark.parametrize("name", TUTORIALS)
def test_commands_print_what_the_tutorial_shows(outputs: dict[str, list[str]], name: str) -> None:
    wanted = steps(name)
    assert len(outputs[name]) == len(wanted) > 5
    wrong = [
        f"$ {step.command}\nwanted:\n{step.output}got:\n{got}"
        for step, got in zip(wanted, outputs[name], strict=True)
        if not alike(step.output, got)
    ]
    assert not wrong, "\n".join(wrong)


def test_different_output_is_not_alike() -> None:
    assert alike("| a 2026-12-01 |\n", "|  a  2027-12-01 |\n")
    assert not alike("a 1\n", "a 2\n")
    assert not alike("", "Traceback\n")


def _record() -> None:
    """Write the outputs of the commands into the tutorials."""
    for name, found in run_all(Person("admin")).items():
        path = DOCS / f"{name}.rst"
        text = path.read_text()
        for step, output in zip(steps(name), found, strict=True):
            old = f"    $ {step.command}\n" + _indented(step.output)
            text = text.replace(old, f"    $ {step.command}\n" + _indented(output))
        path.write_text(text)


def _indented(text: str) -> str:
    return "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())


if __name__ == "__main__":
    sys.exit(_record())
