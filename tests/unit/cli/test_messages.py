"""The commands on the messages that a user gets."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import Api
from warre_blazar.cli import messages


def test_show(api: Api, run_json: Callable[..., Any]) -> None:
    shown = {"enabled": True, "sends": True, "address": "ada@example.org"}
    api.answers["GET /v2/messages"] = Answer(200, shown)
    assert run_json(messages.ShowMessages) == shown


@pytest.mark.parametrize(("option", "enabled"), [("--on", True), ("--off", False)])
def test_set(api: Api, run_json: Callable[..., Any], option: str, enabled: bool) -> None:
    shown = {"enabled": enabled, "sends": False}
    api.answers["PATCH /v2/messages"] = Answer(200, shown)
    assert run_json(messages.SetMessages, option) == shown
    assert [r.body for r in api.seen if r.body] == [{"enabled": enabled}]


def test_dry_run_sets_nothing(api: Api, run: Run) -> None:
    assert run(messages.SetMessages, "--off", "--dry-run") == "Dry run: would turn messages off\n"
    assert api.seen == []


def test_set_needs_one_option(run: Run) -> None:
    for arguments in ((), ("--on", "--off")):
        with pytest.raises(SystemExit):
            run(messages.SetMessages, *arguments)
