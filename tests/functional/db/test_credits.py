"""The accounts of charged leases, on each database."""

import datetime
from typing import Any

import pytest
from oslo_utils import timeutils

from tests.functional.db import notices, world
from warre_blazar import texts, times
from warre_blazar.db import credits as accounts
from warre_blazar.db import session
from warre_blazar.db.messages import deliveries
from warre_blazar.domain.credits.charges import Account, Charge, ChargedReservation, Owed
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.credits import charging
from warre_blazar.services.credits.charging import Charging
from warre_blazar.services.credits.looking import CreditsChannel
from warre_blazar.services.messages.delivery import Delivery

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)
LEASE = "6d0a7c11-3f62-4c0e-9d57-1a2b3c4d5e6f"
CONTEXT = {"user_id": "user", "project_id": world.PROJECT, "auth_url": "x", "region_name": None}
SAID = texts.services.SAID(said="ReadTimeout")


class Api:
    """A credits service that records what each lease owes, and fails if a test says so."""

    def __init__(self) -> None:
        self.owed: dict[str, Span] = {}
        self.error: Exception | None = None
        self.asked = 0

    def check(self, context: Any, charge: Charge, before: Charge | None) -> None:
        self.asked += 1

    def bring(self, account: Account, owed: Owed, now: datetime.datetime) -> None:
        if self.error:
            raise self.error
        self.owed[account.terms.lease_id] = owed.charge.span


@pytest.fixture
def api() -> Api:
    timeutils.set_time_override(world.NOW)
    session.change(deliveries.set_channels, {accounts.LOOKS: False})
    return Api()


@pytest.fixture
def charges(api: Api) -> Charging:
    return Charging(api, allows_when_away=False)


def charge(lease_id: str, reservation_id: str = "r1") -> Charge:
    reservation = ChargedReservation(
        id=reservation_id,
        resource_type="flavor:slot",
        amount=1,
        flavor_id="f1",
        affinity=None,
        resources={"VCPU": 2},
        vcpus=2,
        memory_mb=2048,
        disk_gb=20,
        properties=None,
        hosts=[{"id": "1", "hypervisor_hostname": "a", "vcpus": 16}],
    )
    return Charge(lease_id, "name", SPAN, (reservation,))


def look(charges: Charging) -> None:
    """Do what the channel's thread does."""
    Delivery(CreditsChannel(charges), "manager").run()


def account() -> Account | None:
    found = session.change(accounts.find, LEASE)
    return found and found.account


def test_failed_booking_owes_nothing(api: Api, charges: Charging):
    charges.book(CONTEXT, charge(LEASE), "request-1")
    assert api.owed == {LEASE: SPAN}
    look(charges)
    assert api.owed == {LEASE: SPAN}
    charging.release(LEASE, "request-1")
    look(charges)
    assert api.owed == {LEASE: Span(SPAN.start, SPAN.start)}
    assert account() is None
    assert notices.waiting(accounts.LOOKS) == []


def test_request_of_a_dead_manager_is_looked_at_later(api: Api, charges: Charging):
    charges.book(CONTEXT, charge(LEASE), "request-1")
    timeutils.set_time_override(world.NOW + times.CREDITS_LEFT_TO_REQUEST + times.SECOND)
    look(charges)
    assert api.owed == {LEASE: Span(SPAN.start, SPAN.start)}


def test_request_that_is_over_ends_no_other_one(api: Api, charges: Charging):
    charges.book(CONTEXT, charge(LEASE), "request-1")
    charging.release(LEASE, "request-2")
    look(charges)
    assert api.owed == {LEASE: SPAN}
    with pytest.raises(exceptions.TryAgain):
        charges.book(CONTEXT, charge(LEASE), "request-2")


def test_service_that_is_away_is_told_later(api: Api, charges: Charging):
    charges.book(CONTEXT, charge(LEASE), "request-1")
    charging.release(LEASE, "request-1")
    api.error = exceptions.ServiceTimedOut("The credits service", SAID)
    with pytest.raises(exceptions.ServiceUnavailable):
        look(charges)
    api.error = None
    look(charges)
    assert api.owed == {LEASE: Span(SPAN.start, SPAN.start)}


def test_refused_look_is_given_up(api: Api, charges: Charging):
    charges.book(CONTEXT, charge(LEASE), "request-1")
    charging.release(LEASE, "request-1")
    api.error = exceptions.CreditsRefused("No active allocation")
    look(charges)
    with session.reader() as db:
        (lost,) = deliveries.given_up(db)
    assert (lost.channel, "No active allocation" in str(lost.error)) == (accounts.LOOKS, True)


def test_lease_that_is_there_is_as_it_was_charged(api: Api, charges: Charging):
    lease = world.add_lease(SPAN, status="PENDING")
    stored = Account(CONTEXT, charge(lease.id), told=charge(lease.id))
    session.change(accounts.add, lease.id, stored, world.NOW)
    charges.look(lease.id, world.NOW)
    assert api.owed == {}
    found = session.change(accounts.find, lease.id)
    assert found is not None and found.account.was_there


def test_moved_lease_is_charged_for_its_new_time(api: Api, charges: Charging):
    lease = world.add_lease(SPAN, status="PENDING")
    stored = Account(CONTEXT, charge(lease.id), told=charge(lease.id))
    session.change(accounts.add, lease.id, stored, world.NOW)
    world.write_dates(lease, world.hours(2, 5))
    charges.look(lease.id, world.NOW)
    assert api.owed == {lease.id: world.hours(2, 5)}
    charges.look(lease.id, world.NOW)
    found = session.change(accounts.find, lease.id)
    assert found is not None and found.account.told is not None
    assert (found.account.told.span, found.account.is_uncertain) == (world.hours(2, 5), False)


def test_end_is_told_by_a_look(api: Api, charges: Charging):
    lease = world.add_lease(SPAN, status="ACTIVE")
    stored = Account(CONTEXT, charge(lease.id), told=charge(lease.id), was_there=True)
    session.change(accounts.add, lease.id, stored, world.NOW)
    timeutils.set_time_override(world.hours(2, 2).start)
    charging.end(lease.id, world.hours(2, 2).start)
    assert api.owed == {}
    look(charges)
    assert api.owed == {lease.id: world.hours(1, 2)}
    assert session.change(accounts.find, lease.id) is None
