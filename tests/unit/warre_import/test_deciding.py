"""The decisions on rows of a Warre's database."""

import dataclasses
import datetime
from typing import Any

import pytest

from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.providers import Inventory
from warre_blazar.warre_import import flavors as flavor_verdicts
from warre_blazar.warre_import import reservations as reservation_verdicts
from warre_blazar.warre_import.reservations import (
    Adoption,
    BlazarLease,
    BlazarReservation,
    InstanceRow,
    Past,
    Surroundings,
    TooOld,
)
from warre_blazar.warre_import.rows import Unusable

START, END = datetime.datetime(2026, 12, 1), datetime.datetime(2026, 12, 2)
FLAVOR = {
    "id": b"f",
    "name": b"gpu",
    "description": None,
    "vcpu": 2,
    "memory_mb": 1024,
    "disk_gb": 10,
    "ephemeral_gb": 5,
    "properties": None,
    "extra_specs": b"{}",
    "category": b"",
    "availability_zone": None,
    "slots": 4,
    "max_length_hours": 24,
    "active": 1,
    "is_public": 1,
    "start": None,
    "end": None,
}
HOST = BookableHost(
    *("h", "h", "nova", {"gpu": "A"}),
    {name: Inventory(total) for name, total in (("VCPU", 8), ("MEMORY_MB", 8192), ("DISK_GB", 99))},
    frozenset(),
    (),
)
ROW: dict[str, Any] = {
    "id": b"r",
    "user_id": b"user",
    "project_id": b"p",
    "flavor_id": b"f",
    "lease_id": b"lease",
    "status": b"ALLOCATED",
    "start": START,
    "end": END,
    "instance_count": 2,
    "status_reason": None,
    "compute_flavor": b"b",
    "created_at": START,
}
INSTANCES = InstanceRow("i", 2, 1024, 10, 2, None, "", "b", 7, None)
RESERVATION = BlazarReservation("b", "virtual:instance", "pending", INSTANCES, {"h": 2})
LEASE = BlazarLease("lease", "Reservation r", "PENDING", "p", "bot", START, END, (RESERVATION,))


def taken(**changes: Any) -> flavor_verdicts.TakenFlavor:
    return flavor_verdicts.flavor({**FLAVOR, **changes}, [HOST])


AROUND = Surroundings({"f": taken()}, (), None)


def decide(
    lease: BlazarLease | None = LEASE, around: Surroundings = AROUND, **changes: Any
) -> Adoption | Past:
    return reservation_verdicts.reservation({**ROW, **changes}, lease, around)


def lease(**changes: Any) -> BlazarLease:
    return dataclasses.replace(LEASE, **changes)


def holding(row: dict[str, Any] | None = None, **changes: Any) -> BlazarLease:
    """The lease with a changed reservation.

    :param row: changes of the reservation's row in ``instance_reservations``.
    :param changes: changes of the reservation itself.
    """
    instances = dataclasses.replace(INSTANCES, **row) if row is not None else INSTANCES
    found = dataclasses.replace(RESERVATION, **{"row": instances, **changes})
    return lease(reservations=(found,))


def test_flavor_is_taken_as_it_is():
    found = taken()
    assert found.remarks == ()
    assert found.columns == {
        **{"id": "f", "name": "gpu", "description": None, "category": None, "slots": 4},
        **{"max_length_hours": 24, "is_public": True, "active": True},
        **{"start_date": None, "end_date": None, "vcpu": 2, "memory_mb": 1024, "disk_gb": 10},
        **{"ephemeral_gb": 5, "extra_specs": {}, "properties": None, "availability_zone": None},
    }
    assert found.shape == Shape(2, 1024, 10, 5, {}, None, None)


#: Changes of Warre's row of a flavor, and the expected columns.
FLAVORS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "specs of numbers": (
        {"extra_specs": b'{"x:a": 2, "x:b": true, "x:c": "x"}'},
        {"extra_specs": {"x:a": "2", "x:b": "true", "x:c": "x"}, "active": True},
    ),
    "no specs": ({"extra_specs": None}, {"extra_specs": {}, "active": True}),
    "specs that are none": ({"extra_specs": b"[1]"}, {"extra_specs": {}, "active": False}),
    "specs that are wrong": (
        {"extra_specs": b'{"resources:A": "x"}'},
        {"extra_specs": {}, "active": False},
    ),
    "specs that name devices": (
        {"extra_specs": b'{"pci_passthrough:alias": "gpu:1"}'},
        {"extra_specs": {"pci_passthrough:alias": "gpu:1"}, "active": False},
    ),
    "properties": (
        {"properties": b'["==", "$gpu", "A"]'},
        {"properties": '["==", "$gpu", "A"]', "active": True},
    ),
    "properties that are wrong": (
        {"properties": b"nonsense"},
        {"properties": None, "active": False},
    ),
    "empty properties": ({"properties": b""}, {"properties": None, "active": True}),
    "nothing said": ({"active": None, "is_public": None}, {"active": False, "is_public": False}),
}


@pytest.mark.parametrize("case", FLAVORS)
def test_changed_flavor_is_taken_with_these_columns(case: str):
    changes, expected = FLAVORS[case]
    found = taken(**changes)
    assert {name: found.columns[name] for name in expected} == expected
    assert bool(found.remarks) == (expected.get("active") is False or None in changes.values())


def test_flavor_without_a_matching_host_gets_a_remark():
    row = {**FLAVOR, "availability_zone": b"z"}
    (remark,) = flavor_verdicts.flavor(row, [HOST]).remarks
    assert "the zone and the properties" in remark


#: Changes of Warre's row of a flavor that no host can hold, and a part of the remark.
TOO_LARGE = {
    "CPUs": ({"vcpu": 9}, "an instance takes 9 of VCPU, of which host h has 8"),
    "dedicated CPUs": (
        {"extra_specs": b'{"hw:cpu_policy": "dedicated"}'},
        "an instance takes 2 of PCPU, of which host h has 0",
    ),
}


@pytest.mark.parametrize("case", TOO_LARGE)
def test_flavor_that_no_host_can_hold_gets_a_remark(case: str):
    changes, said = TOO_LARGE[case]
    found = taken(**changes)
    (remark,) = found.remarks
    assert said in remark
    assert found.columns["active"]


@pytest.mark.parametrize("field", ["name", "description", "extra_specs"])
def test_flavor_with_text_that_is_not_utf8_is_left(field: str):
    with pytest.raises(Unusable, match=f"its {field} isn't UTF-8"):
        taken(**{field: b"\xff"})


def test_allocated_reservation_is_adopted():
    found = decide()
    assert isinstance(found, Adoption)
    assert (found.id, found.user_id, found.flavor_id, found.remarks) == ("r", "user", "f", ())
    # Blazar has ignored ephemeral disk and extra specs.
    assert found.shape == Shape(2, 1024, 10, 0, {}, None, None)


#: The lease, changes of Warre's row, and a part of the reason why it can't be taken.
LEFT: dict[str, tuple[BlazarLease | None, dict[str, Any], str]] = {
    "gone": (None, {}, "is gone"),
    "gone while it was made": (None, {"status": b"PENDING_CREATE"}, "is gone"),
    "in error": (lease(status="ERROR"), {}, "is in ERROR"),
    "starting": (lease(status="STARTING"), {}, "import again later"),
    "another project": (lease(project_id="q"), {}, "of another project"),
    "nothing in it": (lease(reservations=()), {}, "holds 0 reservations"),
    "two in it": (lease(reservations=(RESERVATION,) * 2), {}, "holds 2 reservations"),
    "ours": (holding(resource_type="flavor:slot"), {}, "another reservation's already"),
    "a host": (holding(resource_type="physical:host"), {}, "holds a physical:host"),
    "half started": (holding(status="active"), {}, "is PENDING, and holds one active"),
    "no row": (
        lease(reservations=(dataclasses.replace(RESERVATION, row=None),)),
        {},
        "hasn't finished making",
    ),
    "no flavor": (holding({"flavor_id": None}), {}, "hasn't finished making"),
    "no aggregate": (holding({"aggregate_id": None}), {}, "hasn't finished making"),
    "affinity": (holding({"affinity": True}), {}, "server group"),
    "fewer hosts": (holding(hosts={"h": 1}), {}, "holds hosts for 1"),
    "properties": (holding({"resource_properties": "x"}), {}, "can't be read"),
    "no such flavor": (LEASE, {"flavor_id": b"x"}, "its flavor x isn't taken"),
    "no such status": (LEASE, {"status": b"ODD"}, "none of Warre's"),
    "backwards": (LEASE, {"end": START}, "end isn't after its start"),
    "no start": (LEASE, {"start": None}, "end isn't after its start"),
    "no user": (LEASE, {"user_id": b""}, "user_id is empty"),
}


@pytest.mark.parametrize("case", LEFT)
def test_unusable_reservation_is_left_with_a_reason(case: str):
    found, changes, why = LEFT[case]
    with pytest.raises(Unusable, match=why):
        decide(found, **changes)


def test_lease_that_several_reservations_name_is_left():
    shared = dataclasses.replace(AROUND, shared={"lease"})
    with pytest.raises(Unusable, match="names its lease lease too"):
        decide(around=shared)


#: Reservations that are over: the lease, changes of Warre's row, the state in the history, and a
#: part of the remark.
OVER: dict[str, tuple[BlazarLease | None, dict[str, Any], str, str]] = {
    "complete": (None, {"status": b"COMPLETE"}, "COMPLETE", ""),
    "in error": (None, {"status": b"ERROR"}, "ERROR", ""),
    "never made": (
        None,
        {"status": b"PENDING_CREATE", "lease_id": None},
        "ERROR",
        "",
    ),
    "over meanwhile": (lease(status="TERMINATED"), {}, "COMPLETE", "its lease is over"),
    "ran until now": (lease(status="TERMINATED"), {"status": b"ACTIVE"}, "COMPLETE", ""),
    "over, and it isn't": (LEASE, {"status": b"COMPLETE"}, "COMPLETE", "that stays"),
}


@pytest.mark.parametrize("case", OVER)
def test_reservation_that_is_over_goes_to_the_history(case: str):
    found, changes, state, said = OVER[case]
    past = decide(found, **changes)
    assert isinstance(past, Past)
    assert past.columns["status"] == state
    assert said in " ".join(past.remarks)
    assert bool(said) == bool(past.remarks)
    never_made = case == "never made"
    assert ("book it again" in (past.columns["status_reason"] or "")) == never_made


def test_reservation_older_than_the_history_is_not_taken():
    around = dataclasses.replace(AROUND, oldest=END + datetime.timedelta(seconds=1))
    with pytest.raises(TooOld):
        decide(None, around, status=b"COMPLETE")
    assert isinstance(decide(LEASE, around), Adoption)


#: Changes of Warre's rows of the reservation and of the flavor, and a part of the remark.
DIFFERENT = {
    "count": ({"instance_count": 1}, {}, "Warre has 1 instances, and Blazar 2"),
    "sizes": ({}, {"vcpu": 4}, "sizes have changed"),
    "slots": ({}, {"slots": 1}, "exceed the flavor's 1 slot"),
    "dates": ({"end": END + datetime.timedelta(days=1)}, {}, "which holds"),
    "flavor": ({"compute_flavor": b"x"}, {}, "Warre showed the Nova flavor x"),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_row_that_differs_from_blazars_gets_a_remark(case: str):
    changes, of_flavor, said = DIFFERENT[case]
    found = decide(LEASE, Surroundings({"f": taken(**of_flavor)}, (), None), **changes)
    assert isinstance(found, Adoption)
    (remark,) = found.remarks
    assert said in remark
    assert found.row.amount == 2


def test_reservation_without_a_lease_id_is_adopted_with_the_lease_of_its_name():
    assert reservation_verdicts.lease_name("r") == "Reservation r"
    assert isinstance(decide(LEASE, lease_id=None, status=b"PENDING_CREATE"), Adoption)
