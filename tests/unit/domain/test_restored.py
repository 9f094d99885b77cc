"""What an older database doesn't know, by what Nova and Placement hold."""

import dataclasses
import datetime
from typing import Any

import pytest

from warre_blazar.domain.audit.restored import DumpedLease, Unknown, compare, lost_at
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.lease import Lease, LeaseReservation
from warre_blazar.domain.running.mark import Mark
from warre_blazar.domain.running.wanted import Backing, NovaAggregate, NovaFlavor
from warre_blazar.domain.timeline import Span

HOUR = datetime.timedelta(hours=1)
LOST = datetime.datetime(2030, 5, 17, 3)
NOW = LOST + 2 * HOUR
ID = "11111111-1111-4111-8111-111111111111"
SHAPE = Shape(2, 2048, 20, 0, {"hw:cpu_policy": "dedicated"}, None, None)


def dumped(start: int, end: int, status: str = "PENDING", **more: Any) -> DumpedLease:
    """A lease with one reservation, whose times are hours after the loss."""
    is_ours = more.pop("is_ours", True)
    of = {"PENDING": "pending", "ACTIVE": "active"}.get(status, "error")
    reservation = LeaseReservation(ID, is_ours, of, held=True, backed=True)
    span = Span(LOST + start * HOUR, LOST + end * HOUR)
    lease = Lease("lease", status, span, None, (), (reservation,), None)
    return DumpedLease(lease, "name", "project", **more)


SERVERS = {ID: Backing(servers=frozenset({"s2", "s1"}))}


@pytest.mark.parametrize(
    ("lease", "seen", "kinds"),
    [
        # It had begun when the database was lost, so something should be there.
        (dumped(-2, 9, "ACTIVE"), {}, {"gone"}),
        (dumped(-1, 9), {}, {"gone"}),
        (dumped(-2, 1, "ACTIVE"), {}, {"gone"}),
        (dumped(-2, 9, "ACTIVE"), SERVERS, {"ending"}),
        (dumped(-2, 26, "ACTIVE"), SERVERS, {"ending"}),
        (dumped(-2, 27, "ACTIVE"), SERVERS, set()),
        (dumped(-1, 9), SERVERS, {"starting"}),
        (dumped(-2, 1, "ACTIVE"), SERVERS, {"overdue"}),
        (dumped(-2, 1), SERVERS, {"overdue"}),
        # It begins, or would have begun, since the loss.
        (dumped(1, 9), {}, {"starting"}),
        (dumped(1, 2), {}, {"gone"}),
        (dumped(1, 2), SERVERS, {"overdue"}),
        (dumped(5, 9), {}, set()),
        # Its backing was there when the dump was made.
        (dumped(5, 9, made=frozenset({ID})), {}, {"gone"}),
        (dumped(5, 9, made=frozenset({ID})), SERVERS, set()),
        # Nobody knows what a stock lease should have.
        (dumped(-2, 9, "ACTIVE", is_ours=False), {}, {"ending"}),
        (dumped(-2, 1, "ACTIVE", is_ours=False), {}, {"overdue"}),
    ],
)
def test_lease_is_what_nova_and_the_times_say(
    lease: DumpedLease, seen: dict[str, Backing], kinds: set[str]
):
    found = compare([lease], seen, {ID}, LOST, NOW)
    assert {k for k in ("gone", "overdue", "starting", "ending") if getattr(found, k)} == kinds
    assert found.unknown == []


def test_what_ends_first_is_told_first():
    leases = [dumped(-2, hours, "ACTIVE") for hours in (9, 5, 7)]
    ending = compare(leases, SERVERS, {ID}, LOST, NOW).ending
    assert [each.lease.span.end - LOST for each in ending] == [5 * HOUR, 7 * HOUR, 9 * HOUR]


def test_servers_that_would_be_deleted_are_named():
    (overdue,) = compare([dumped(-2, 1, "ACTIVE")], SERVERS, {ID}, LOST, NOW).overdue
    assert overdue.servers == ("s1", "s2")


def test_without_the_time_of_the_loss_only_what_was_made_is_gone():
    assert compare([dumped(-2, 9, "ACTIVE")], {}, {ID}, None, NOW).gone == []
    made = dumped(-2, 9, "ACTIVE", made=frozenset({ID}))
    assert compare([made], {}, {ID}, None, NOW).gone == [made]


@pytest.mark.parametrize(
    ("mark", "minutes"),
    [(Mark(5, 9, "a"), 5), (Mark(5, 5, "a"), 1), (Mark(5, None, "a"), None)],
)
def test_loss_is_counted_in_minutes_of_the_mark(mark: Mark, minutes: int | None):
    expected = None if minutes is None else LOST + datetime.timedelta(minutes=minutes)
    assert lost_at(mark, LOST) == expected
    assert lost_at(mark, None) is None


FLAVOR = Flavor(
    id="flavor",
    name="flavor",
    shape=SHAPE,
    slots=1,
    max_length_hours=1,
    start=None,
    end=None,
    is_public=True,
    active=True,
    texts={},
)
NOVA = NovaFlavor(
    id=backing_names.nova_flavor_id(ID),
    name=f"reservation:{ID}",
    vcpus=2,
    ram=2048,
    disk=20,
    ephemeral=0,
    is_public=False,
    extra_specs=backing_names.flavor_specs(ID, SHAPE),
    projects=frozenset({"project"}),
)
UNKNOWN = Unknown(
    ID,
    Backing(
        flavor=NOVA,
        aggregate=NovaAggregate(
            7, ID, frozenset({"a"}), backing_names.aggregate_metadata(ID, "project", SHAPE)
        ),
        inventories={"blazar_a": backing_names.inventory(2)},
    ),
)


def test_unknown_reservation_says_its_project_hosts_and_flavor():
    (unknown,) = compare([], {ID: UNKNOWN.backing}, set(), LOST, NOW).unknown
    assert unknown == UNKNOWN
    assert (unknown.project_id, unknown.instances, unknown.is_running) == (
        "project",
        {"a": 2},
        True,
    )
    other = dataclasses.replace(FLAVOR, shape=dataclasses.replace(SHAPE, vcpu=4))
    assert unknown.flavor_among([other, FLAVOR]) is FLAVOR


@pytest.mark.parametrize(
    "changes",
    [
        {"flavor": None},
        {"aggregate": None},
        {"flavor": dataclasses.replace(NOVA, ram=4096)},
        # It has a handle.
        {"flavor": dataclasses.replace(NOVA, id="0" * 32)},
        # It has devices.
        {
            "flavor": dataclasses.replace(
                NOVA, extra_specs=backing_names.flavor_specs(ID, SHAPE, ["_GPU"])
            )
        },
    ],
    ids=["no flavor", "no project", "other shape", "handle", "devices"],
)
def test_what_is_not_known_well_enough_is_not_rebuilt(changes: dict[str, Any]):
    backing = dataclasses.replace(UNKNOWN.backing, **changes)
    assert dataclasses.replace(UNKNOWN, backing=backing).flavor_among([FLAVOR]) is None
