"""Leases that Coral Credits charges, on each path, and what is given back."""

import dataclasses
import datetime
import uuid
from typing import Any

import pytest
from blazar.db import api as db_api
from blazar.db.sqlalchemy import api
from blazar.manager import service

from tests.fakes.coral_credits import CoralCredits
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import NOW
from tests.unit.credits.charged_site import PATHS, ChargedSite, book, send
from warre_blazar import times
from warre_blazar.db import credits as accounts
from warre_blazar.db import session
from warre_blazar.domain.credits.charges import Account, Charge
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.plugins import charged_requests
from warre_blazar.services.booking import admission, changing
from warre_blazar.services.credits import charging
from warre_blazar.site_rules import credits

#: What two hours of the flavor cost.
COSTS = {"VCPU": 4, "MEMORY_MB": 4096, "DISK_GB": 40}
NOTHING = dict.fromkeys(COSTS, 0)
on_each_path = pytest.mark.parametrize("path", PATHS)


def taken(coral: CoralCredits, lease_id: str) -> dict[str, float] | None:
    """The hours that a lease has taken."""
    return coral.consumers.get(uuid.UUID(lease_id))


def left(coral: CoralCredits, alpha: Person) -> dict[str, float]:
    return coral.credits[uuid.UUID(alpha.project_id)]


def lease_of(answer: Any) -> dict[str, Any]:
    """The only lease."""
    assert answer.status_int in (200, 201, 202), answer
    (lease,) = db_api.lease_list()
    return dict(db_api.lease_get(lease["id"]))


@on_each_path
def test_booking_is_checked_and_charged_once(
    site: ChargedSite, coral: CoralCredits, alpha: Person, flavor: dict[str, Any], path: str
):
    lease = lease_of(book(alpha, flavor, path))
    site.look()
    assert coral.steps() == ["check-create", "create"]
    assert taken(coral, lease["id"]) == COSTS
    assert left(coral, alpha) == {"VCPU": 96, "MEMORY_MB": 100_000 - 4096, "DISK_GB": 960}
    assert site.waiting() == []
    body = coral.bodies[-1][1]
    assert "current_lease" not in body
    assert body["lease"]["resource_requests"] == {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 20}
    (reservation,) = body["lease"]["reservations"]
    assert (reservation["resource_type"], reservation["flavor_id"]) == (
        "flavor:instance",
        flavor["id"],
    )


@on_each_path
def test_booking_without_enough_credits_is_refused_with_the_services_words(
    site: ChargedSite, coral: CoralCredits, alpha: Person, flavor: dict[str, Any], path: str
):
    left(coral, alpha)["VCPU"] = 3
    answer = book(alpha, flavor, path)
    assert answer.status_int == 400
    said = "The credits service refuses the reservation: Insufficient VCPU credits available. "
    assert said in answer.text
    assert "Ask for less or for a shorter time" in answer.text
    assert (db_api.lease_list(), coral.consumers, site.accounts()) == ([], {}, 0)


def test_refusal_has_a_code_and_the_services_words(
    coral: CoralCredits, alpha: Person, flavor: dict[str, Any]
):
    left(coral, alpha)["VCPU"] = 3
    answer = book(alpha, flavor)
    assert refusal(answer) == (400, "credits_refused")
    said = "Insufficient VCPU credits available. Requested:4, Available:3 hours"
    assert answer.json["detail"] == {"said": said}


@on_each_path
@pytest.mark.parametrize("fault", ["status", "drop", "stop"])
def test_booking_is_refused_while_the_service_is_away(
    site: ChargedSite,
    coral: CoralCredits,
    alpha: Person,
    flavor: dict[str, Any],
    path: str,
    fault: str,
):
    if fault == "stop":
        coral.stop()
    else:
        coral.fail(**{fault: 503 if fault == "status" else True})
    answer = book(alpha, flavor, path)
    assert answer.status_int == 503
    assert "The credits service is not available (" in answer.text
    assert (db_api.lease_list(), site.accounts()) == ([], 0)


@on_each_path
@pytest.mark.parametrize("step", ["check-create", "/create"])
def test_booking_is_let_through_and_charged_later_if_the_operator_says_so(
    site: ChargedSite,
    coral: CoralCredits,
    alpha: Person,
    flavor: dict[str, Any],
    configured: Any,
    path: str,
    step: str,
):
    configured(credits_when_away="allow")
    coral.fail(status=503, match=step)
    lease = lease_of(book(alpha, flavor, path))
    assert taken(coral, lease["id"]) is None
    coral.mend()
    site.look()
    assert taken(coral, lease["id"]) == COSTS


def test_lost_answer_is_not_charged_twice(
    site: ChargedSite, coral: CoralCredits, alpha: Person, flavor: dict[str, Any], configured: Any
):
    """Whether the service has got the request isn't known."""
    configured(credits_when_away="allow")
    coral.fail(lose=True, match="/create", times=1)
    lease = lease_of(book(alpha, flavor))
    site.look()
    assert taken(coral, lease["id"]) == COSTS
    assert left(coral, alpha)["VCPU"] == 96


def test_lost_answer_of_a_refused_booking_is_given_back(
    site: ChargedSite, coral: CoralCredits, alpha: Person, flavor: dict[str, Any]
):
    coral.fail(lose=True, match="/create", times=1)
    assert book(alpha, flavor).status_int == 503
    assert left(coral, alpha)["VCPU"] == 96
    site.look()
    assert left(coral, alpha)["VCPU"] == 100
    assert (site.waiting(), site.accounts()) == ([], 0)


def lose_the_race(*_: object) -> None:
    """In place of the function that books."""
    raise exceptions.TryAgain


@on_each_path
def test_failed_booking_is_given_back(
    site: ChargedSite,
    coral: CoralCredits,
    alpha: Person,
    flavor: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    path: str,
):
    monkeypatch.setattr(admission, "book", lose_the_race)
    assert book(alpha, flavor, path).status_int == 409
    assert coral.steps() == ["check-create", "create"]
    site.look()
    assert left(coral, alpha) == {"VCPU": 100, "MEMORY_MB": 100_000, "DISK_GB": 1000}
    assert site.accounts() == 0


def test_booking_of_a_killed_manager_is_given_back(
    site: ChargedSite,
    coral: CoralCredits,
    alpha: Person,
    flavor: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
):
    """The manager is killed before it has written the lease."""
    killed_before(monkeypatch, "lease_create")
    book(alpha, flavor)
    assert left(coral, alpha)["VCPU"] == 96
    site.look()
    assert left(coral, alpha)["VCPU"] == 96
    site.pass_time(seconds=times.CREDITS_LEFT_TO_REQUEST / times.SECOND + 1)
    site.look()
    assert left(coral, alpha)["VCPU"] == 100
    assert site.accounts() == 0


def killed_before(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the manager die before it calls a function of Blazar's database."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(api, name, fail)
    # What the manager does in the end is done by nobody.
    monkeypatch.setattr(charging, "release", lambda *_: None)


def test_manager_that_is_killed_while_it_asks_leaves_no_charge(
    site: ChargedSite,
    coral: CoralCredits,
    alpha: Person,
    flavor: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
):
    killed_before(monkeypatch, "lease_create")
    coral.fail(lose=True, match="/create", times=1)
    book(alpha, flavor)
    site.pass_time(seconds=times.CREDITS_LEFT_TO_REQUEST / times.SECOND + 1)
    site.look()
    assert left(coral, alpha)["VCPU"] == 100


@on_each_path
def test_deletion_before_the_start_gives_all_back(
    site: ChargedSite, coral: CoralCredits, alpha: Person, flavor: dict[str, Any], path: str
):
    lease = lease_of(book(alpha, flavor, path))
    site.look()
    delete(alpha, lease["id"], path)
    site.look()
    assert coral.steps() == ["check-create", "create", "on-end"]
    assert taken(coral, lease["id"]) == NOTHING
    assert left(coral, alpha) == {"VCPU": 100, "MEMORY_MB": 100_000, "DISK_GB": 1000}
    assert site.accounts() == 0


def delete(person: Person, lease_id: str, path: str) -> None:
    if path == "/v1":
        assert send(person, "DELETE", f"/v1/leases/{lease_id}").status_int in (200, 204)
        return
    person.root = path
    assert person.delete(f"reservations/{id_of_only(person)}").status_int in (202, 204)


def id_of_only(person: Person) -> str:
    """The id of a person's only reservation."""
    (reservation,) = person.get("reservations").json["results"]
    return str(reservation["id"])


def test_deletion_gives_back_what_is_left_however_late_it_is_told(
    site: ChargedSite, coral: CoralCredits, alpha: Person, flavor: dict[str, Any]
):
    lease = lease_of(book(alpha, flavor))
    site.look()
    site.blazar.set_time(things.moment(2, 9))
    site.blazar.execute()
    site.blazar.set_time(things.moment(2, 10))
    delete(alpha, lease["id"], "/v2")
    coral.fail(drop=True)
    with pytest.raises(Exception, match="not available"):
        site.look()
    coral.mend()
    site.pass_time(hours=5)
    site.look()
    assert taken(coral, lease["id"]) == {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 20}
    assert site.accounts() == 0


def test_end_in_time_costs_what_was_charged(
    site: ChargedSite, coral: CoralCredits, alpha: Person, flavor: dict[str, Any]
):
    lease = lease_of(book(alpha, flavor))
    site.look()
    for hour in (9, 11):
        site.blazar.set_time(things.moment(2, hour))
        site.blazar.execute()
    site.pass_time(seconds=3)
    site.look()
    assert taken(coral, lease["id"]) == COSTS
    assert (coral.steps(), site.accounts()) == (["check-create", "create"], 0)


def change(person: Person, lease: dict[str, Any], path: str, end: datetime.datetime) -> Any:
    """Change the end of a reservation."""
    if path == "/v1":
        body = {"end_date": f"{end:%Y-%m-%d %H:%M}"}
        return send(person, "PUT", f"/v1/leases/{lease['id']}", body)
    person.root = path
    body = {"end": f"{end.isoformat()}+00:00"}
    return person.patch(f"reservations/{id_of_only(person)}", body)


@on_each_path
def test_extension_is_checked_and_charged(
    site: ChargedSite, coral: CoralCredits, alpha: Person, flavor: dict[str, Any], path: str
):
    lease = lease_of(book(alpha, flavor, path))
    site.look()
    assert change(alpha, lease, path, things.moment(2, 12)).status_int in (200, 202)
    site.look()
    assert coral.steps() == ["check-create", "create", "check-update", "update"]
    assert taken(coral, lease["id"]) == {"VCPU": 6, "MEMORY_MB": 3 * 2048, "DISK_GB": 60}
    assert site.waiting() == []


@on_each_path
def test_extension_without_enough_credits_is_refused(
    site: ChargedSite, coral: CoralCredits, alpha: Person, flavor: dict[str, Any], path: str
):
    lease = lease_of(book(alpha, flavor, path))
    site.look()
    left(coral, alpha)["VCPU"] = 1
    answer = change(alpha, lease, path, things.moment(2, 12))
    assert answer.status_int == 400
    assert "Insufficient VCPU credits available" in answer.text
    assert db_api.lease_get(lease["id"])["status"] == "PENDING"
    site.look()
    assert taken(coral, lease["id"]) == COSTS


def test_failed_extension_is_given_back(
    site: ChargedSite,
    coral: CoralCredits,
    alpha: Person,
    flavor: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
):
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    lease = lease_of(book(alpha, flavor))
    site.look()
    monkeypatch.setattr(changing, "move", fail)
    change(alpha, lease, "/v1", things.moment(2, 12))
    assert taken(coral, lease["id"]) == {"VCPU": 6, "MEMORY_MB": 3 * 2048, "DISK_GB": 60}
    site.look()
    assert taken(coral, lease["id"]) == COSTS


def test_lease_id_that_has_failed_can_be_charged_again(
    site: ChargedSite,
    coral: CoralCredits,
    alpha: Person,
    flavor: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
):
    """A booking with the same idempotency key gets the same id, which the service knows."""
    headers = {"Idempotency-Key": "key-1"}
    with monkeypatch.context() as failing:
        failing.setattr(admission, "book", lose_the_race)
        alpha.send("POST", "reservations", things.booking(flavor), headers)
    site.look()
    assert left(coral, alpha)["VCPU"] == 100
    lease = lease_of(alpha.send("POST", "reservations", things.booking(flavor), headers))
    site.look()
    assert taken(coral, lease["id"]) == COSTS
    assert left(coral, alpha)["VCPU"] == 96


def test_lease_that_was_booked_before_stays_uncharged(
    site: ChargedSite, coral: CoralCredits, alpha: Person, flavor: dict[str, Any]
):
    filters = site.blazar._manager.enforcement.enabled_filters
    site.blazar._manager.enforcement.enabled_filters = []
    lease = lease_of(book(alpha, flavor))
    site.blazar._manager.enforcement.enabled_filters = filters
    assert change(alpha, lease, "/v1", things.moment(2, 12)).status_int == 200
    delete(alpha, lease["id"], "/v1")
    site.look()
    assert coral.steps() == []


def test_move_by_maintenance_is_charged(
    site: ChargedSite, coral: CoralCredits, alpha: Person, admin: Person, flavor: dict[str, Any]
):
    """No filter is asked about it, and the service is told what the lease is now."""
    booked = book(alpha, flavor, movable_hours=48).json
    site.look()
    body = {"start": things.at(2), "end": things.at(3), "flavor_ids": [flavor["id"]]}
    things.made(admin.post("maintenancewindows", {**body, "bookings": "move"}))
    site.look()
    step, sent = coral.bodies[-1]
    assert (step, sent["lease"]["start_date"]) == ("update", "2100-01-04T00:00:00")
    assert taken(coral, booked["lease_id"]) == COSTS


def test_each_occurrence_of_a_series_is_charged(
    site: ChargedSite, coral: CoralCredits, alpha: Person, flavor: dict[str, Any]
):
    things.add_series(alpha, flavor)
    site.look()
    assert left(coral, alpha)["VCPU"] == 92
    assert len(coral.consumers) == 2


def test_site_without_the_filter_has_nothing_of_it(
    site: ChargedSite, alpha: Person, flavor: dict[str, Any]
):
    lease_of(book(alpha, flavor))
    wrapped_by = getattr(service.ManagerService.create_lease, "wrapped_by", ())
    assert charged_requests.__name__ not in wrapped_by
    assert (credits.is_enabled(), site.accounts()) == (False, 0)


def test_two_requests_for_one_lease_at_the_same_moment_both_withdraw(
    site: ChargedSite, coral: CoralCredits, alpha: Person
):
    """Each has made an account before it could see the other's."""
    context = {"project_id": alpha.project_id}
    charge = Charge("lease-1", "name", Span(things.moment(2), things.moment(3)), ())
    account = Account(context, charge)
    for number in (1, 2):
        begun = dataclasses.replace(account, request_id=f"request-{number}")
        session.change(accounts.add, "lease-1", begun, NOW)
    assert not session.change(charging._is_only_request, "lease-1", "request-1")
    assert session.change(charging._is_only_request, "lease-1", "request-2")
    assert site.accounts() == 1
