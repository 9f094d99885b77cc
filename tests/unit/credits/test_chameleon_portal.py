"""Leases that Chameleon's portal charges, on each path, and what is given back."""

import datetime
import json
from typing import Any

import pytest
from blazar.db import api as db_api

from tests.fakes.chameleon_portal import ChameleonPortal
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.credits.charged_site import PATHS, ChargedSite, book
from tests.unit.credits.test_coral_credits import change, delete, lease_of, lose_the_race
from warre_blazar.services.booking import admission

#: Two hours of 2 of a host's 16 VCPUs.
COSTS = 2 * 2 / 16
on_each_path = pytest.mark.parametrize("path", PATHS)


def start(site: ChargedSite, hour: int = 9) -> None:
    """Let the reservation begin, and some time pass."""
    site.blazar.set_time(things.moment(2, 9))
    site.blazar.execute()
    site.blazar.set_time(things.moment(2, hour))


@on_each_path
def test_booking_is_charged_once_by_its_flavor(
    site: ChargedSite, portal: ChameleonPortal, alpha: Person, flavor: dict[str, Any], path: str
):
    portal.su_factors[flavor["id"]] = 10.0
    lease = lease_of(book(alpha, flavor, path))
    site.look()
    assert portal.steps() == ["check-create"]
    assert portal.spent == 10 * COSTS
    # The charge has the reservation's id, by which changes and ends find it.
    assert [c.resource_id for c in portal.charges] == [r["id"] for r in lease["reservations"]]


def test_reservation_has_what_the_portal_reads(
    portal: ChameleonPortal, alpha: Person, admin: Person
):
    flavor = things.add_flavor(admin, slots=3)
    assert book(alpha, flavor, instance_count=3).status_int == 200
    ((_, body),) = portal.bodies
    (reservation,) = body["lease"]["reservations"]
    size = {name: reservation[name] for name in ("amount", "vcpus", "memory_mb", "disk_gb")}
    assert size == {"amount": 3, "vcpus": 2, "memory_mb": 2048, "disk_gb": 20}
    assert json.loads(reservation["resource_properties"])["id"] == flavor["id"]
    assert [host["vcpus"] for host in reservation["allocations"]] == [16] * 3
    assert body["lease"]["start_date"] == "2100-01-03T09:00:00"


@on_each_path
def test_booking_without_enough_units_is_refused(
    site: ChargedSite, portal: ChameleonPortal, alpha: Person, flavor: dict[str, Any], path: str
):
    portal.allocated = 0.1
    answer = book(alpha, flavor, path)
    assert answer.status_int == 400
    assert "would spend 0.25 SUs, only 0.10 left" in answer.text
    assert (db_api.lease_list(), portal.charges) == ([], [])
    site.look()
    assert site.accounts() == 0


def test_token_that_the_portal_refuses_counts_as_away(
    portal: ChameleonPortal, alpha: Person, flavor: dict[str, Any], configured: Any
):
    configured(credits_auth_url="https://elsewhere.example.org/v3")
    assert refusal(book(alpha, flavor)) == (503, "service_unavailable")


@on_each_path
def test_failed_booking_is_given_back(
    site: ChargedSite,
    portal: ChameleonPortal,
    alpha: Person,
    flavor: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    path: str,
):
    monkeypatch.setattr(admission, "book", lose_the_race)
    book(alpha, flavor, path)
    assert portal.spent == COSTS
    site.look()
    assert (portal.steps(), portal.spent) == (["check-create", "on-end"], 0)
    assert site.accounts() == 0


def test_repeated_booking_goes_on_with_the_charge_of_the_failed_one(
    site: ChargedSite,
    portal: ChameleonPortal,
    alpha: Person,
    flavor: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
):
    """A booking with the same idempotency key gets the same ids, before anybody has looked."""
    headers = {"Idempotency-Key": "key-1"}
    with monkeypatch.context() as failing:
        failing.setattr(admission, "book", lose_the_race)
        alpha.send("POST", "reservations", things.booking(flavor), headers)
    lease_of(alpha.send("POST", "reservations", things.booking(flavor), headers))
    site.look()
    assert portal.spent == COSTS


def test_lost_answer_is_not_charged_twice(
    site: ChargedSite,
    portal: ChameleonPortal,
    alpha: Person,
    flavor: dict[str, Any],
    configured: Any,
):
    configured(credits_when_away="allow")
    portal.fail(lose=True, match="check-create", times=1)
    lease_of(book(alpha, flavor))
    assert portal.spent == COSTS
    site.look()
    assert portal.spent == COSTS


@on_each_path
@pytest.mark.parametrize("hour", [8, 10], ids=["before the start", "while it runs"])
def test_extension_is_charged_once(
    site: ChargedSite,
    portal: ChameleonPortal,
    alpha: Person,
    flavor: dict[str, Any],
    path: str,
    hour: int,
):
    lease = lease_of(book(alpha, flavor, path))
    site.look()
    if hour == 10:
        start(site, hour)
    assert change(alpha, lease, path, things.moment(2, 13)).status_int in (200, 202)
    site.look()
    assert portal.steps() == ["check-create", "check-update"]
    assert portal.spent == 2 * COSTS


@pytest.mark.parametrize("hour", [8, 10], ids=["before the start", "while it runs"])
def test_deletion_gives_back_what_is_left(
    site: ChargedSite, portal: ChameleonPortal, alpha: Person, flavor: dict[str, Any], hour: int
):
    lease = lease_of(book(alpha, flavor))
    site.look()
    if hour == 10:
        start(site, hour)
    delete(alpha, lease["id"], "/v2")
    site.look()
    half = pytest.approx(COSTS / 2, abs=0.01)
    assert portal.spent == (half if hour == 10 else 0)
    assert site.accounts() == 0


def test_more_instances_are_charged(
    site: ChargedSite, portal: ChameleonPortal, alpha: Person, admin: Person
):
    """There is an allocation for each instance, whatever Blazar has written."""
    flavor = things.add_flavor(admin, slots=3)
    booked = book(alpha, flavor, instance_count=2).json
    site.look()
    assert portal.spent == 2 * COSTS
    changed = alpha.patch(f"reservations/{booked['id']}", {"instance_count": 3})
    assert changed.status_int in (200, 202), changed
    site.look()
    assert portal.spent == 3 * COSTS


def test_extension_without_enough_units_is_refused(
    site: ChargedSite, portal: ChameleonPortal, alpha: Person, flavor: dict[str, Any]
):
    lease = lease_of(book(alpha, flavor))
    site.look()
    portal.allocated = COSTS
    end: datetime.datetime = things.moment(2, 13)
    answer = change(alpha, lease, "/v2", end)
    assert refusal(answer) == (400, "credits_refused")
    site.look()
    assert portal.spent == COSTS
