"""The explorer finds a defect that is put in, and runs a schedule again as it was."""

import pytest

from tests.explorer.exploring import Explorer
from tests.explorer.report import Report
from tests.explorer.runs import Result, Runner
from tests.explorer.schedules import Case
from tests.explorer.world import World
from warre_blazar.db.booking import promises
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.plugins import lease_guard
from warre_blazar.services.booking import idempotency
from warre_blazar.services.running import backing

FLAVOR = "Nova: POST /v2.1/flavors"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def explorer(world: World, said: list[str]) -> Explorer:
    return Explorer(Runner(world), Report(said.append), "sqlite", budget=4)


def test_booking_beside_an_extension_breaks_nothing(explorer: Explorer, said: list[str]):
    explorer.pair(Case("sqlite", "pending", ("book", "extend")))
    assert said == []
    assert explorer.report.runs == 4
    assert explorer.report.left_out


def test_all_orders_of_two_changes_break_nothing(world: World, said: list[str]):
    explorer = Explorer(Runner(world), Report(said.append), "sqlite")
    explorer.pair(Case("sqlite", "pending", ("rename", "drain")))
    assert said == []
    assert explorer.report.left_out == 0
    assert explorer.report.skipped > explorer.report.runs


def test_extension_that_promises_nothing_is_found(
    explorer: Explorer, said: list[str], monkeypatch: pytest.MonkeyPatch
):
    plain = explorer.replay("sqlite:pending:extend:0:-:-")
    assert plain is not None
    monkeypatch.setattr(promises, "make", lambda *_: None)
    monkeypatch.setitem(lease_guard._guarded, RESOURCE_TYPE, lambda *_: True)
    writes = "UPDATE leases SET end_date"
    number = next(s.number for s in plain.trace if s.what.startswith(writes))
    explorer.replay(f"sqlite:pending:extend+book:0:0.{number}>1:-")
    assert any("oversold" in line for line in said)


def test_end_that_leaves_its_backing_is_found(
    explorer: Explorer, said: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(backing, "_remove", lambda *_: None)
    explorer.replay("sqlite:ending:end:0:-:-")
    assert any("a Nova flavor is left" in line for line in said)


def test_key_that_does_nothing_is_found(
    explorer: Explorer, said: list[str], monkeypatch: pytest.MonkeyPatch
):
    text = "sqlite:pending:repeat+repeat:0:-:-"
    explorer.replay(text)
    assert said == []
    monkeypatch.setattr(idempotency, "make", lambda _key, _find, create: create(None))
    explorer.replay(text)
    assert any("has made two bookings" in line for line in said)


def test_schedule_is_run_again_as_it_was(explorer: Explorer):
    text = "sqlite:pending:book+extend:1:1.6>0,0.4>1:-"
    runs = [explorer.replay(text) for _ in range(2)]
    assert all(run is not None and str(run.case) == text for run in runs)
    first, second = ([(s.task, s.number) for s in run.trace] for run in runs if run)
    assert first == second


def fault_at(explorer: Explorer, case: str, what: str, kind: str) -> Result:
    """Run an operation that meets a fault at the first step that begins with ``what``."""
    plain = explorer.replay(f"sqlite:{case}:0:-:-")
    assert plain is not None
    number = next(s.number for s in plain.trace if s.what.startswith(what))
    result = explorer.replay(f"sqlite:{case}:0:-:0.{number}={kind}")
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("kind", "answer"), [("killed-before", "unknown"), ("killed-after", "done")]
)
def test_booking_of_a_killed_manager_is_whole_or_not_there(
    explorer: Explorer, kind: str, answer: str
):
    result = fault_at(explorer, "pending:book", "INSERT INTO warre_log", kind)
    assert result.answers[0] is not None
    assert result.answers[0].kind == answer
    assert result.violations == []


@pytest.mark.parametrize("name", ["book", "count", "extend"])
def test_connection_that_is_lost_after_the_managers_work_hides_nothing(
    explorer: Explorer, name: str
):
    """Somebody who is told of an error books once more."""
    plain = explorer.replay(f"sqlite:pending:{name}:0:-:-")
    assert plain is not None
    number = plain.trace[-1].number
    result = explorer.replay(f"sqlite:pending:{name}:0:-:0.{number}=disconnected")
    assert result is not None
    assert [str(answer.kind) for answer in result.answers if answer] == ["done"]
    assert result.violations == []


def test_request_whose_answer_is_lost_is_sent_again(explorer: Explorer):
    result = fault_at(explorer, "soon:make", FLAVOR, "unanswered")
    assert [step.what for step in result.trace].count(FLAVOR) == 2
    assert result.violations == []


def test_same_name_given_twice_at_once_is_told_once(explorer: Explorer, said: list[str]):
    explorer.replay("sqlite:pending:rename+rename:1:1.1>0:-")
    assert said == []


def test_snapshot_may_wait_for_the_new_end_of_a_reservation(explorer: Explorer, said: list[str]):
    explorer.replay("sqlite:active:extend+snapshot:1:1.3>0:-")
    assert said == []


def test_end_that_has_removed_the_class_refuses_a_change_plainly(
    explorer: Explorer, said: list[str]
):
    result = explorer.replay("sqlite:ending:delete+count+rename:1:1.28>0,1.30>0,0.14>2,0.20>1:-")
    assert result is not None
    assert "invalid_state" in str(result.answers[1])
    assert said == []
