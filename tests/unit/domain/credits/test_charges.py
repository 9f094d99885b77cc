"""What a lease owes, by what is noted of its charge and by what the lease is now."""

import dataclasses
import datetime
import json

import pytest

from warre_blazar.domain.credits.charges import (
    Account,
    Charge,
    ChargedReservation,
    PresentLease,
    owed,
)
from warre_blazar.domain.timeline import Span

DAY = datetime.datetime(2100, 1, 3)


def hours(start: float, end: float) -> Span:
    return Span(*(DAY + datetime.timedelta(hours=each) for each in (start, end)))


RESERVATION = ChargedReservation(
    id="r1",
    resource_type="flavor:slot",
    amount=2,
    flavor_id="f1",
    affinity=None,
    resources={"VCPU": 4, "PGPU": 1},
    vcpus=4,
    memory_mb=8192,
    disk_gb=20,
    properties={"id": "f1"},
    hosts=[{"id": "1", "vcpus": 64}, {"id": "2", "vcpus": 32}],
)
CHARGE = Charge("lease-1", "name", hours(9, 17), (RESERVATION,))
BOOKED = Account({"project_id": "p1"}, CHARGE, told=CHARGE)
THERE = dataclasses.replace(BOOKED, was_there=True)


def ended(hour: float) -> Account:
    return dataclasses.replace(THERE, ended_at=hours(hour, hour).start)


def lease(span: Span, amount: int = 2) -> PresentLease:
    return PresentLease("PENDING", span, {"r1": amount})


@pytest.mark.parametrize(
    ("account", "present", "now", "expected", "is_over"),
    [
        pytest.param(BOOKED, lease(hours(9, 17)), 8, hours(9, 17), False, id="as charged"),
        pytest.param(BOOKED, lease(hours(10, 18)), 8, hours(10, 18), False, id="moved"),
        pytest.param(BOOKED, lease(hours(9, 17)), 17, hours(9, 17), True, id="over in time"),
        pytest.param(BOOKED, None, 8, hours(9, 9), True, id="booking failed"),
        pytest.param(BOOKED, None, 12, hours(9, 9), True, id="booking failed, found out late"),
        pytest.param(THERE, None, 12, hours(9, 12), True, id="gone while it ran"),
        pytest.param(THERE, None, 8, hours(9, 9), True, id="gone before its start"),
        pytest.param(THERE, None, 20, hours(9, 17), True, id="gone after its end"),
        pytest.param(ended(12), None, 20, hours(9, 12), True, id="ended early"),
        pytest.param(ended(8), None, 20, hours(9, 9), True, id="ended before its start"),
        pytest.param(ended(12), lease(hours(9, 17)), 13, hours(9, 12), True, id="being deleted"),
        pytest.param(ended(17), lease(hours(9, 17)), 16, hours(9, 17), True, id="about to end"),
    ],
)
def test_lease_owes_what_it_has_had(
    account: Account, present: PresentLease | None, now: float, expected: Span, is_over: bool
):
    found = owed(account, present, hours(now, now).start)
    assert (found.charge.span, found.is_over) == (expected, is_over)


def test_changed_number_of_instances_is_owed():
    found = owed(BOOKED, lease(hours(9, 17), amount=3), DAY)
    assert found.charge.amounts == {"VCPU": 12, "PGPU": 3}
    assert not found.charge.costs_the_same(CHARGE)
    assert found.charge.at(CHARGE.span, {"r1": 2}).costs_the_same(CHARGE)


def test_amounts_are_those_of_all_reservations():
    other = dataclasses.replace(RESERVATION, id="r2", amount=1, resources={"VCPU": 1})
    both = dataclasses.replace(CHARGE, reservations=(RESERVATION, other))
    assert both.amounts == {"VCPU": 9, "PGPU": 2}


@pytest.mark.parametrize(
    ("amount", "ids"),
    [(1, ["1"]), (2, ["1", "2"]), (3, ["1", "2", "1"])],
    ids=["fewer than booked", "as booked", "more than booked"],
)
def test_each_instance_has_a_host(amount: int, ids: list[str]):
    changed = dataclasses.replace(RESERVATION, amount=amount)
    assert [host["id"] for host in changed.hosts_of_instances] == ids


def test_reservation_without_hosts_has_none_for_its_instances():
    assert dataclasses.replace(RESERVATION, hosts=[]).hosts_of_instances == []


@pytest.mark.parametrize(
    "account",
    [BOOKED, ended(12), dataclasses.replace(BOOKED, told=None, busy_until=DAY, request_id="r")],
    ids=["booked", "ended", "being booked"],
)
def test_account_is_read_as_it_was_written(account: Account):
    assert Account.from_dict(json.loads(json.dumps(account.to_dict()))) == account
