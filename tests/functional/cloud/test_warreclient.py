"""The 20 commands of python-warreclient 3.4.0, unmodified, on Warre's path.

What they print is compared with what they printed against Warre, as far as the recorded answers
show it: a command prints the fields of an answer, or the columns of a list that it takes from one.
"""

from importlib import metadata
from typing import Any

import pytest

from tests import warre_answers
from tests.functional.cloud import warre_client, world
from tests.functional.cloud.people import Person
from tests.functional.cloud.warre_client import WarreClient

COMMANDS = {
    "flavor": {
        *("access grant", "access list", "access revoke", "create", "delete", "free-slots"),
        *("list", "set", "show"),
    },
    "maintenance-window": {"create", "delete", "list", "set", "show"},
    "reservation": {"create", "delete", "list", "set", "show"},
    "limits": {""},
}


@pytest.fixture(scope="module")
def warre(tmp_path_factory: pytest.TempPathFactory) -> WarreClient:
    """The client."""
    return warre_client.installed(tmp_path_factory.mktemp("warreclient"))


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    """Warre's own answers by step."""
    return {step["step"]: step["answer"] for step in warre_answers.STEPS}


def has_fields(printed: dict[str, Any], answer: dict[str, Any]) -> None:
    """Everything that was printed of Warre's answer is printed of ours."""
    assert set(answer) <= set(printed), set(answer) - set(printed)


def same(printed: dict[str, Any], answer: dict[str, Any], *fields: str) -> None:
    """These fields are printed as they were."""
    assert {f: printed[f] for f in fields} == {f: answer[f] for f in fields}


def test_it_has_twenty_commands(warre: WarreClient) -> None:
    (found,) = warre.programs.parent.glob("lib/python*/site-packages/warreclient-3.4.0.dist-info")
    points = metadata.Distribution.at(found).entry_points.select(group="openstack.warre.v1")
    names = {point.name for point in points}
    known = {f"warre {noun} {verb}".strip() for noun in COMMANDS for verb in COMMANDS[noun]}
    assert {name.replace("_", " ") for name in names} == known
    assert len(known) == 20


@pytest.mark.whole
def test_flavors(warre: WarreClient, recorded: dict[str, Any]) -> None:
    name = world.unique("warreclient")
    words = ["--description", "first", "--vcpu", "1", "--memory", "512", "--disk", "1"]
    words += ["--max-length-hours", "72", "--slots", "2", "--category", "gpu"]
    made = warre.prints("flavor", "create", name, *words, user="admin")
    try:
        answer = recorded["flavor create"]
        has_fields(made, answer)
        same(made, answer, "description", "vcpu", "memory_mb", "disk_gb", "max_length_hours")
        same(made, answer, "slots", "category", "active", "is_public", "properties", "start", "end")
        listed = warre.prints("flavor", "list", "--category", "gpu")
        assert name in {row.get("name", row.get("Name")) for row in listed}
        shown = warre.prints("flavor", "show", made["id"])
        has_fields(shown, recorded["flavor show"])
        changed = warre.prints("flavor", "set", made["id"], "--slots", "3", user="admin")
        assert (changed["id"], changed["slots"]) == (made["id"], 3)
        day = world.far().start.date()
        until = f"{day.year + 1}-01-01"
        free = warre.prints("flavor", "free-slots", made["id"], "--start", f"{day}", "--end", until)
        assert free
        assert set(free[0]) == set(recorded["slots empty"][0])
        refused = warre.run("flavor", "set", made["id"], "--slots", "9")
        assert refused.returncode != 0
    finally:
        warre.prints("flavor", "delete", made["id"], user="admin")
    assert warre.run("flavor", "show", made["id"]).returncode != 0


@pytest.mark.whole
def test_access(warre: WarreClient, recorded: dict[str, Any]) -> None:
    name = world.unique("warreclient")
    words = ["--vcpu", "1", "--memory", "512", "--disk", "1", "--max-length-hours", "72"]
    words += ["--slots", "2", "--private"]
    made = warre.prints("flavor", "create", name, *words, user="admin")
    try:
        assert warre.run("flavor", "show", made["id"]).returncode != 0
        granted = warre.prints("flavor", "access", "grant", made["id"], "alpha", user="admin")
        has_fields(granted, recorded["access grant"])
        assert warre.prints("flavor", "show", made["id"])["name"] == name
        listed = warre.prints("flavor", "access", "list", "--flavor", made["id"], user="admin")
        assert [row["id"] for row in listed] == [granted["id"]]
        assert set(recorded["access list"]["results"][0]) == set(listed[0])
        warre.prints("flavor", "access", "revoke", granted["id"], user="admin")
        assert warre.run("flavor", "show", made["id"]).returncode != 0
    finally:
        warre.prints("flavor", "delete", made["id"], user="admin")


@pytest.mark.whole
def test_windows(warre: WarreClient, recorded: dict[str, Any]) -> None:
    period = world.far().v2
    made = warre.prints(
        *("maintenance-window", "create", "--start", period["start"], "--end", period["end"]),
        *("--note", "firmware"),
        user="admin",
    )
    try:
        has_fields(made, recorded["window show"])
        same(made, recorded["window show"], "note")
        listed = warre.prints("maintenance-window", "list")
        assert made["id"] in {row["id"] for row in listed}
        assert set(listed[0]) == {"id", "start", "end", "note", "flavors"}
        assert warre.prints("maintenance-window", "show", made["id"])["start"] == period["start"]
        words = ("maintenance-window", "set", made["id"], "--note", "later")
        assert warre.prints(*words, user="admin")["note"] == "later"
    finally:
        warre.prints("maintenance-window", "delete", made["id"], user="admin")
    assert warre.run("maintenance-window", "show", made["id"]).returncode != 0


def test_reservations_and_limits(
    warre: WarreClient, recorded: dict[str, Any], alpha: Person, offer: Any
) -> None:
    flavor, period = offer(), world.far()
    words = ["--start", period.v2["start"], "--end", period.v2["end"], "--instance-count", "1"]
    before = warre.prints("limits")
    made = warre.prints("reservation", "create", flavor["name"], *words)
    answer = next(
        step for name, step in recorded.items() if name.startswith("reserve") and "flavor" in step
    )
    has_fields(made, answer)
    same(made, answer, "instance_count")
    shown = warre.prints("reservation", "show", made["id"])
    assert (shown["status"], shown["id"]) == ("ALLOCATED", made["id"])
    # As with Warre: the Nova flavor is another thing with another id.
    assert shown["compute_flavor"] not in (None, made["id"])
    listed = warre.prints("reservation", "list")
    (row,) = [row for row in listed if row["id"] == made["id"]]
    assert set(row) == {"id", "flavor", "start", "end", "status"}
    assert (row["flavor"], row["status"]) == (flavor["name"], "ALLOCATED")
    everything = warre.prints("reservation", "list", "--all-projects", user="admin")
    assert made["id"] in {row["id"] for row in everything}
    end = period.moved(end=1).v2["end"]
    assert warre.prints("reservation", "set", made["id"], "--end", end)["end"] == end
    used = {row["Name"]: row["Value"] for row in warre.prints("limits")}
    was = {row["Name"]: row["Value"] for row in before}
    assert set(used) == set(was) == set(recorded["limits after"]["absolute"])
    assert used["totalReservationsUsed"] == was["totalReservationsUsed"] + 1
    warre.prints("reservation", "delete", made["id"])
    assert warre.run("reservation", "show", made["id"]).returncode != 0
