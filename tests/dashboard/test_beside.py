"""Horizon starts with the pages of blazar-dashboard beside those of this package, and without."""

import os
import pathlib
import subprocess
import sys

import pytest

OURS = ("project:find_reservations:index", "admin:reservation_audit:index")
THEIRS = ("project:leases:index", "admin:hosts:index")
ROOT = pathlib.Path(__file__).parents[2]
#: Prints the addresses of pages that Horizon knows, after Django has checked everything.
PROGRAM = """
import sys, django
django.setup()
from django.core.management import call_command
call_command("check", stdout=sys.stderr)
from django.urls import NoReverseMatch, reverse
for name in sys.argv[1:]:
    try:
        print(name, reverse(f"horizon:{name}"))
    except NoReverseMatch:
        pass
"""


@pytest.mark.parametrize(
    ("settings", "known"), [("settings", OURS), ("settings_beside", (*OURS, *THEIRS))]
)
def test_horizon_has_the_pages_of(settings: str, known: tuple[str, ...]) -> None:
    module = {"DJANGO_SETTINGS_MODULE": f"tests.dashboard.{settings}"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, *OURS, *THEIRS],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **module},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert {line.split()[0] for line in done.stdout.splitlines()} == set(known)
    assert len({line.split()[1] for line in done.stdout.splitlines()}) == len(known)
