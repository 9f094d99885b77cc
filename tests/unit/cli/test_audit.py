"""The command that lists what the last audit has found."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import Api, listing
from warre_blazar.cli import audit

FOUND = {
    "kind": "host-gone",
    "subject": "1",
    "text": "Host cmp1 has left Nova",
    "meaning": "It isn't there.",
    "remedy": "Start it.",
    "needs": "a person",
    "failure": None,
    "mended": False,
}
ENDED = {"finished_at": "2026-11-25T12:30:15+00:00"}


def test_differences_are_listed_with_what_mends_them(
    api: Api, run_json: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    away = [{"service": "nova", "reason": "no answer"}]
    api.answers["GET /v2/audit"] = listing(FOUND, found=1, away=away, **ENDED)
    (row,) = run_json(audit.ListDifferences)
    assert row == {name: FOUND[name] for name in ("kind", "text", "needs", "remedy")}
    assert run_json(audit.ListDifferences, "--long") == [FOUND]
    said = capsys.readouterr().err
    assert "The audit ended at" in said
    assert "12:30" in said
    assert "nova could not be compared: no answer" in said


@pytest.mark.parametrize(
    ("finished", "told"),
    [
        (ENDED, "There are no differences to list."),
        ({"finished_at": None}, "There was no audit yet. Run warre-blazar-manage audit."),
    ],
)
def test_nothing_to_list_is_said(
    api: Api,
    run: Run,
    capsys: pytest.CaptureFixture[str],
    finished: dict[str, str | None],
    told: str,
) -> None:
    api.answers["GET /v2/audit"] = listing(found=0, away=[], **finished)
    run(audit.ListDifferences)
    assert capsys.readouterr().err.endswith(f"{told}\n")
