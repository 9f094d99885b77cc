"""What the upgrade's onlooker finds: late starts and ends, and servers that are lost."""

import pytest

from tests.torture.ledger import Ledger
from tests.torture.reading import ServerRow
from tests.unit.torture.scene import Scene
from tests.upgrade.onlooker import Onlooker


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    # Before the start of the reservation, which is seen once.
    scene.lease(start=1, end=10)
    return scene


@pytest.fixture
def onlooker() -> Onlooker:
    return Onlooker()


def look(onlooker: Onlooker, scene: Scene) -> None:
    view = Ledger().view()
    onlooker.judge(view, scene.snapshot(), view)


def become(scene: Scene, lease: str, reservation: str, count: int = 1) -> None:
    scene.lease(start=1, end=10, status=lease, reservation=reservation, count=count)


@pytest.mark.parametrize(("seconds", "late"), [(20, {}), (80, {"r-lease": 80.0})])
def test_start_is_measured(onlooker: Onlooker, scene: Scene, seconds: float, late: dict):
    look(onlooker, scene)
    scene.later(60 + seconds)
    become(scene, "ACTIVE", "active")
    look(onlooker, scene)
    assert (onlooker.starts.done, onlooker.starts.late()) == ({"r-lease": seconds}, late)


def test_start_that_never_comes_is_late(onlooker: Onlooker, scene: Scene):
    look(onlooker, scene)
    scene.later(60 + 80)
    look(onlooker, scene)
    scene.remove()
    look(onlooker, scene)
    assert onlooker.starts.late() == {"r-lease": 80.0}


def test_booking_after_its_start_has_its_own_time(onlooker: Onlooker, scene: Scene):
    scene.later(60 + 40)
    look(onlooker, scene)
    scene.later(30)
    become(scene, "ACTIVE", "active")
    look(onlooker, scene)
    assert onlooker.starts.done == {"r-lease": 30.0}


@pytest.mark.parametrize(("seconds", "late"), [(20, {}), (80, {"r-lease": 80.0})])
def test_end_is_measured(onlooker: Onlooker, scene: Scene, seconds: float, late: dict):
    become(scene, "ACTIVE", "active")
    look(onlooker, scene)
    scene.later(600 + seconds)
    look(onlooker, scene)
    become(scene, "TERMINATED", "deleted")
    look(onlooker, scene)
    assert (onlooker.ends.done, onlooker.ends.late()) == ({"r-lease": seconds}, late)


def test_what_was_due_while_all_was_stopped_has_its_time_afterwards(
    onlooker: Onlooker, scene: Scene
):
    look(onlooker, scene)
    scene.later(60 + 80)
    onlooker.resume()
    look(onlooker, scene)
    scene.later(20)
    become(scene, "ACTIVE", "active")
    look(onlooker, scene)
    assert onlooker.starts.done == {"r-lease": 20.0}


@pytest.mark.parametrize(
    ("lease", "reservation", "count", "is_lost"),
    [
        ("ACTIVE", "active", 2, True),
        ("ACTIVE", "active", 1, False),
        ("ACTIVE", "deleted", 2, False),
        ("DELETING", "active", 2, False),
    ],
    ids=["running", "fewer instances", "over", "being deleted"],
)
def test_server_that_goes(
    onlooker: Onlooker, scene: Scene, lease: str, reservation: str, count: int, is_lost: bool
):
    become(scene, "ACTIVE", "active", 2)
    scene.servers = [ServerRow("server", "rlease", "active")]
    look(onlooker, scene)
    become(scene, lease, reservation, count)
    scene.servers = []
    look(onlooker, scene)
    assert (set(onlooker.lost), onlooker.servers) == ({"server"} if is_lost else set(), {"server"})
