"""Each kind of violation is found, and what is no violation isn't."""

import dataclasses

import pytest

from tests.torture import judge as judging
from tests.torture.calm import GRACE, LONGEST
from tests.torture.ledger import REFUSED, SETTLED, UNKNOWN
from tests.torture.reading import Backing, ServerRow
from tests.unit.torture.scene import PROJECT, SLOTS, Scene, at

ACTIVE = {"status": "ACTIVE", "reservation": "active"}
OVER = {"status": "TERMINATED", "reservation": "deleted", "hosts": {}}


@pytest.fixture
def scene() -> Scene:
    """An empty one."""
    return Scene()


def _overlapping(scene: Scene, *spans: tuple[float, float], **more) -> None:
    for number, (start, end) in enumerate(spans):
        scene.accept(start, end, lease_id=scene.lease(f"lease-{number}", start, end, **more))


# Overselling.


def test_slots_up_to_the_last_are_no_violation(scene: Scene):
    # The fourth begins as the first ends.
    _overlapping(scene, (10, 30), (10, 60), (10, 60), (30, 60))
    assert scene.violations() == []


def test_oversold_slots_at_one_moment_of_the_future(scene: Scene):
    _overlapping(scene, (10, 31), (10, 60), (10, 60), (30, 60))
    assert scene.violations() == ["oversold flavor flavor"]
    (text,) = scene.judge.violations.values()
    assert f"{SLOTS + 1} sold of {SLOTS} at {at(30)}" in text


def test_slots_promised_to_an_update_are_sold(scene: Scene):
    _overlapping(scene, (10, 30), (10, 60), (10, 60))
    scene.accept(100, 130, lease_id=scene.lease("moved", 100, 130, promised=(at(20), at(40))))
    assert scene.violations() == ["oversold flavor flavor"]


def test_promise_beside_the_own_time_counts_once(scene: Scene):
    scene.accept(10, 30, 2, lease_id=scene.lease("other", 10, 30, 2, promised=(at(20), at(60))))
    scene.accept(10, 60, 1, lease_id=scene.lease("one", 10, 60, 1))
    assert scene.violations() == []


def test_what_has_passed_is_not_oversold(scene: Scene):
    _overlapping(scene, (-60, -1), (-60, -1), (-60, -1), (-60, -1), status="TERMINATED")
    assert not [key for key in scene.violations() if key.startswith("oversold")]


@pytest.mark.parametrize(
    ("sizes", "cls"),
    [
        ((4, 1, 1, 1), "VCPU"),
        ((1, 400, 1, 1), "MEMORY_MB"),
        ((1, 1, 4, 1), "DISK_GB"),
        ((1, 1, 1, 4), "devices"),
    ],
)
def test_oversold_host(scene: Scene, sizes: tuple[int, int, int, int], cls: str):
    scene.sizes = sizes
    scene.accept(10, 60, 2, lease_id=scene.lease("one", count=2))
    assert scene.violations() == []
    scene.accept(50, 90, 1, lease_id=scene.lease("two", start=50, end=90))
    assert scene.violations() == [f"oversold {cls} of host cmp1"]


def test_other_host_is_not_oversold(scene: Scene):
    scene.sizes = (4, 1, 1, 1)
    scene.accept(10, 60, 2, lease_id=scene.lease("one", count=2))
    scene.accept(50, 90, 1, lease_id=scene.lease("two", start=50, end=90, hosts={"cmp2": 1}))
    assert scene.violations() == []


_INSTANCE = (4, 100, 1, 0)


def test_instances_of_blazars_own_type_take_what_their_row_says(scene: Scene):
    scene.stock("one", 10, 60, sizes=_INSTANCE, hosts={"cmp1": 2})
    assert scene.violations() == []
    scene.stock("two", 50, 70, sizes=_INSTANCE)
    assert scene.violations() == ["oversold VCPU of host cmp1"]


def test_instances_of_blazars_own_type_share_a_host_with_bookings(scene: Scene):
    scene.stock("one", 10, 60, sizes=_INSTANCE, hosts={"cmp1": 2})
    scene.accept(20, 30, 2, lease_id=scene.lease("ours", 20, 30, 2))
    assert scene.violations() == []
    scene.accept(25, 30, 1, lease_id=scene.lease("more", 25, 30, 1))
    assert scene.violations() == ["oversold VCPU of host cmp1"]


@pytest.mark.parametrize("start", [10, 29])
def test_whole_host_is_taken_alone(scene: Scene, start: float):
    scene.accept(10, 30, 1, lease_id=scene.lease("ours", 10, 30, 1))
    scene.stock("host", 30, 60)
    assert scene.violations() == []
    scene.stock("other", start, 30)
    assert "oversold VCPU of host cmp1" in scene.violations()


def test_lease_of_blazars_own_type_that_is_being_deleted_takes_its_hosts(scene: Scene):
    scene.stock("one", 10, 60, sizes=_INSTANCE, hosts={"cmp1": 2}, status="DELETING")
    scene.stock("two", 10, 60, sizes=_INSTANCE, status="CREATING")
    assert scene.violations() == ["oversold VCPU of host cmp1"]


def test_lease_of_blazars_own_type_is_promised_to_nobody(scene: Scene):
    scene.stock("late", -60, 5, sizes=_INSTANCE)
    scene.later(60 + 60 + GRACE + 1)
    assert scene.violations() == []
    scene.remove("late")
    assert scene.violations() == []
    assert scene.judge.stock == {"r-late"}


def test_unfinished_change_takes_both_times_and_not_the_gap(scene: Scene):
    _overlapping(scene, (10, 30), (10, 30), (70, 90), (70, 90))
    scene.accept(10, 30, lease_id=scene.lease("moved", 10, 30, promised=(at(70), at(90))))
    scene.accept(40, 60, 3, lease_id=scene.lease("between", 40, 60, 3))
    assert not [key for key in scene.violations() if key.startswith("oversold flavor")]


def test_quota_of_reservations(scene: Scene):
    # One after the other, so that slots suffice.
    _overlapping(scene, *((n * 10, n * 10 + 10) for n in range(1, 6)))
    assert scene.violations() == []
    scene.accept(60, 70, lease_id=scene.lease("sixth", 60, 70))
    assert scene.violations() == [f"oversold reservations of project {PROJECT}"]


def test_quota_of_hours_counts_started_ones(scene: Scene):
    scene.accept(10, 10 + 6 * 60, 3, lease_id=scene.lease("long", 10, 10 + 6 * 60, 3))
    scene.accept(500, 620, 1, lease_id=scene.lease("two", 500, 620))
    assert scene.violations() == []
    scene.accept(700, 701, 1, lease_id=scene.lease("short", 700, 701))
    assert scene.violations() == [f"oversold hours of project {PROJECT}"]


# What was accepted.


def test_accepted_lease_that_disappears(scene: Scene):
    scene.accept(lease_id=scene.lease())
    assert scene.violations() == []
    scene.remove()
    assert scene.violations() == ["lost lease"]


def test_accepted_lease_that_was_never_there(scene: Scene):
    scene.accept()
    assert scene.violations() == ["lost lease"]


def test_lease_that_is_asked_to_go_may_be_gone(scene: Scene):
    scene.accept(lease_id=scene.lease())
    request = scene.ask(deletes=True)
    scene.remove()
    assert scene.violations() == []
    scene.ledger.unknown("lease", request, scene.clock.now)
    assert scene.violations() == []


def test_lease_whose_deletion_was_refused_has_to_stay(scene: Scene):
    scene.accept(lease_id=scene.lease())
    scene.ledger.refused("lease", scene.ask(deletes=True))
    scene.remove()
    assert scene.violations() == ["lost lease"]


def test_deleted_lease_that_is_still_there(scene: Scene):
    scene.accept(lease_id=scene.lease())
    scene.ledger.accepted("lease", scene.ask(deletes=True), scene.clock.now)
    assert scene.violations() == ["undead lease"]


def test_moved_time_that_is_not_kept(scene: Scene):
    scene.accept(lease_id=scene.lease())
    request = scene.ask(start=at(20), end=at(80))
    scene.ledger.accepted("lease", request, scene.clock.now)
    assert scene.violations() == ["changed lease"]


def test_time_that_nobody_asked_for(scene: Scene):
    scene.accept(lease_id=scene.lease())
    scene.lease(end=61)
    assert scene.violations() == ["changed lease"]


def test_count_that_nobody_asked_for(scene: Scene):
    scene.accept(lease_id=scene.lease())
    scene.lease(count=2)
    assert scene.violations() == ["changed lease"]


def test_refused_change_changes_nothing(scene: Scene):
    scene.accept(lease_id=scene.lease())
    scene.ledger.refused("lease", scene.ask(end=at(80)))
    assert scene.violations() == []
    scene.lease(end=80)
    assert scene.violations() == ["changed lease"]


def test_unknown_change_may_have_been_made_or_not(scene: Scene):
    scene.accept(lease_id=scene.lease())
    scene.ledger.unknown("lease", scene.ask(end=at(80)), scene.clock.now)
    assert scene.violations() == []
    scene.lease(end=80)
    assert scene.violations() == []
    scene.lease(end=70)
    assert scene.violations() == ["changed lease"]


def test_unknown_change_does_not_come_later_than_it_can(scene: Scene):
    scene.accept(10, 600, lease_id=scene.lease(end=600))
    scene.ledger.unknown("lease", scene.ask(end=at(800)), scene.clock.now)
    scene.later(SETTLED + 1)
    assert scene.violations() == []
    scene.lease(end=800)
    assert scene.violations() == ["changed lease"]


def test_two_changes_at_once_may_come_in_either_order(scene: Scene):
    scene.accept(lease_id=scene.lease())
    first, second = scene.ask(end=at(80)), scene.ask(end=at(90))
    scene.ledger.accepted("lease", first, scene.clock.now)
    scene.ledger.accepted("lease", second, scene.clock.now)
    for end in (80, 90):
        assert scene.terms(10, end, 1) in scene.ledger.view().leases["lease"].possible()
    # What it came to is what it has to stay.
    scene.lease(end=80)
    assert scene.violations() == []
    scene.lease(end=90)
    assert scene.violations() == ["changed lease"]


def test_lease_that_ends_before_its_time(scene: Scene):
    scene.accept(-5, 60, lease_id=scene.lease(start=-5, **ACTIVE))
    assert scene.violations() == []
    scene.lease(start=-5, **OVER)
    assert scene.violations() == ["early end lease"]


def test_lease_in_error_for_too_long(scene: Scene):
    scene.accept(lease_id=scene.lease(status="ERROR"))
    assert scene.violations() == []
    scene.later(GRACE + 1)
    assert scene.violations() == ["error lease"]


def test_reservation_without_hosts(scene: Scene):
    scene.accept(count=2, lease_id=scene.lease(count=2, hosts={"cmp1": 1}))
    assert scene.violations() == []
    scene.later(GRACE + 1)
    assert scene.violations() == ["places r-lease"]


# What nobody was told of.


def test_lease_that_nobody_asked_for(scene: Scene):
    scene.lease()
    assert scene.violations() == ["unasked lease"]


def test_refused_lease_that_is_there(scene: Scene):
    booking = scene.booking(label="mine")
    scene.ledger.not_booked(booking, REFUSED, scene.clock.now)
    scene.lease(label="mine")
    assert scene.violations() == ["refused lease"]


def test_refused_v1_lease_that_is_there(scene: Scene):
    booking = scene.booking(lease_name="mine")
    scene.ledger.not_booked(booking, REFUSED, scene.clock.now)
    scene.lease(name="mine")
    assert scene.violations() == ["refused lease"]


def test_unknown_booking_may_be_there_and_then_has_to_stay(scene: Scene):
    booking = scene.booking()
    scene.ledger.not_booked(booking, UNKNOWN, scene.clock.now)
    assert scene.violations() == []
    scene.lease(end=60)
    assert scene.violations() == []
    scene.later(SETTLED + 1)
    assert scene.violations() == []
    scene.remove()
    assert scene.violations() == ["lost lease"]


def test_unknown_booking_may_not_be_oversold(scene: Scene):
    scene.ledger.not_booked(scene.booking(), UNKNOWN, scene.clock.now)
    _overlapping(scene, (10, 60), (10, 60), (10, 60))
    scene.lease("fourth")
    assert scene.violations() == ["oversold flavor flavor"]


def test_unknown_booking_that_comes_too_late(scene: Scene):
    scene.ledger.not_booked(scene.booking(), UNKNOWN, scene.clock.now)
    scene.later(SETTLED + 1)
    assert scene.violations() == []
    scene.lease()
    assert scene.violations() == ["unasked lease"]


# Starts, ends and servers.


def test_start_before_its_time(scene: Scene):
    scene.accept(1, 60, lease_id=scene.lease(start=1, **ACTIVE))
    assert scene.violations() == ["early start r-lease"]


def test_start_that_does_not_come(scene: Scene):
    scene.accept(1, 60, lease_id=scene.lease(start=1))
    scene.later(60 + 60)
    assert scene.violations() == []
    scene.later(GRACE + 1)
    assert scene.violations() == ["late start r-lease"]


def test_lease_whose_making_was_interrupted_need_not_start(scene: Scene):
    scene.ledger.not_booked(scene.booking(), UNKNOWN, scene.clock.now)
    scene.lease(start=1, status="CREATING", count=None, hosts={})
    scene.later(60 + 60 + GRACE + 1)
    assert scene.violations() == []


def test_end_that_does_not_come(scene: Scene):
    scene.accept(-5, 1, lease_id=scene.lease(start=-5, end=1, **ACTIVE))
    scene.later(60 + 60 + GRACE + 1)
    assert scene.violations() == ["late end r-lease"]


def _running(scene: Scene, launched: float = 0) -> None:
    scene.accept(0, 10, lease_id=scene.lease(start=0, end=10, **ACTIVE))
    scene.servers = [ServerRow("server", "rlease", "active", at(launched), "cmp1")]


def test_server_within_its_reservation(scene: Scene):
    _running(scene)
    for _ in range(9):
        assert scene.violations() == []
        scene.later(60)


def test_early_server(scene: Scene):
    _running(scene, launched=-0.1)
    assert scene.violations() == ["early server server"]


def test_late_server(scene: Scene):
    _running(scene)
    scene.later(599)
    assert scene.violations() == []
    scene.lease(start=0, end=10, **OVER)
    scene.later(GRACE)
    assert scene.violations() == []
    scene.later(2)
    assert scene.violations() == ["late server server"]


def test_server_of_a_deleted_lease(scene: Scene):
    _running(scene)
    assert scene.violations() == []
    scene.ledger.accepted("lease", scene.ask(deletes=True), scene.clock.now)
    scene.remove()
    assert scene.violations() == []
    scene.later(GRACE + 2)
    assert scene.violations() == ["late server server"]


def test_late_server_is_excused_while_nova_is_away_but_not_for_ever(scene: Scene):
    _running(scene)
    scene.later(599)
    assert scene.violations() == []
    scene.lease(start=0, end=10, **OVER)
    scene.absences.begin("nova-api", "kill -9", scene.clock.now)
    scene.later(LONGEST - 1)
    assert scene.violations() == []
    scene.later(2)
    assert scene.violations() == ["late server server"]


def test_more_servers_than_instances(scene: Scene):
    _running(scene)
    scene.servers.append(ServerRow("another", "rlease", "active", at(0), "cmp1"))
    assert scene.violations() == []
    scene.later(GRACE + 1)
    assert scene.violations() == ["many rlease"]


# At the end.


def _held(**changes) -> Backing:
    held = {"flavors": set(), "aggregates": {}, "classes": {}}
    return Backing(**{**held, **changes})


_ID = "00000000-0000-0000-0000-000000000001"


@pytest.mark.parametrize(
    ("left", "words"),
    [
        ({"flavors": {_ID}}, "a Nova flavor is left"),
        ({"aggregates": {_ID: set()}}, "a aggregate is left"),
        ({"classes": {_ID: {"cmp1": 1}}}, "a resource class is left"),
    ],
)
def test_what_is_left_at_the_end(scene: Scene, left: dict, words: str):
    found = judging.at_the_end(scene.snapshot(), _held(**left), {PROJECT}, set())
    assert [words in text for text in found] == [True]
    assert judging.at_the_end(scene.snapshot(), _held(**left), {PROJECT}, {_ID}) == []


_BACKED = {"flavors": {_ID}, "aggregates": {_ID: {"cmp1"}}, "classes": {_ID: {"cmp1": 2}}}


@pytest.mark.parametrize(
    "changes",
    [
        {"flavors": set()},
        {"aggregates": {}},
        {"aggregates": {_ID: {"cmp1", "cmp2"}}},
        {"classes": {}},
        {"classes": {_ID: {"cmp1": 1}}},
        {"classes": {_ID: {"cmp1": 2, "cmp2": 1}}},
    ],
)
def test_live_reservation_has_exactly_what_it_needs(scene: Scene, changes: dict):
    scene.lease(count=2, **ACTIVE)
    reservation = dataclasses.replace(scene.reservations.pop("r-lease"), id=_ID)
    scene.reservations[_ID] = reservation
    judged = (scene.snapshot(), _held(**_BACKED), {PROJECT}, set())
    assert judging.at_the_end(*judged) == []
    judged = (scene.snapshot(), _held(**{**_BACKED, **changes}), {PROJECT}, set())
    assert judging.at_the_end(*judged) != []


@pytest.mark.parametrize(("start", "is_needed"), [(9, True), (11, False)])
def test_reservation_needs_a_backing_shortly_before_its_start(
    scene: Scene, start: int, is_needed: bool
):
    scene.lease(start=start, end=start + 60)
    reservation = dataclasses.replace(scene.reservations.pop("r-lease"), id=_ID)
    scene.reservations[_ID] = reservation
    judged = (scene.snapshot(), _held(), {PROJECT}, set())
    assert len(judging.at_the_end(*judged)) == (3 if is_needed else 0)


def test_server_left_at_the_end(scene: Scene):
    scene.lease(start=-60, end=-1, **OVER)
    scene.servers = [ServerRow("server", "rlease", "active", at(-50), "cmp1")]
    (text,) = judging.at_the_end(scene.snapshot(), _held(), {PROJECT}, set())
    assert "server server is left" in text
