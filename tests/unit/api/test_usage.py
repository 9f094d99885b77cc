"""/usage and /refusals: who sees what, what is counted, and on which paths; idle reservations."""

import dataclasses
import datetime
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import NOW, Site
from tests.unit.api.things import at
from warre_blazar import times
from warre_blazar.openstack import manager
from warre_blazar.services.booking import admission
from warre_blazar.services.booking.through_manager import reservations
from warre_blazar.services.records import server_samples

INTERVAL = datetime.timedelta(minutes=5)
#: From the day of NOW to ten days later.
WINDOW = f"from={at(0)[:10]}&to={at(10)[:10]}"


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    return things.add_flavor(admin)


def usage(person: Person, query: str = "") -> list[dict[str, Any]]:
    return things.made(person.get(f"usage?{WINDOW}{query}"))["results"]


def hours(person: Person, query: str = "") -> dict[str, float]:
    """The hours that aren't 0."""
    (row,) = usage(person, query)
    return {name: amount for name, amount in row["hours"].items() if amount}


def refusals(person: Person, query: str = "") -> list[dict[str, Any]]:
    answer = things.made(person.get(f"refusals{query}"))
    assert answer["total"] == len(answer["results"])
    return answer["results"]


def test_life_of_a_reservation(site: Site, alpha: Person, flavor: dict[str, Any]):
    booked = things.book(alpha, flavor, instance_count=2)
    assert hours(alpha) == {"booked": 4}
    site.set_time(things.moment(2, 9))
    site.execute()
    site.set_time(things.moment(2, 10))
    assert hours(alpha) == {"booked": 4, "held": 2}
    assert alpha.delete(f"reservations/{booked['id']}").status_int == 204
    assert hours(alpha) == {"booked": 4, "held": 2, "given_back": 2}
    (row,) = usage(alpha)
    assert row["reservations"] == 1
    assert row["resource_hours"]["MEMORY_MB"]["held"] == 2 * 2048
    assert set(row["resource_hours"]) == {"VCPU", "MEMORY_MB", "DISK_GB"}
    assert things.made(alpha.get("usage?from=2000-01-01&to=2000-01-02"))["results"] == [
        {
            **row,
            "reservations": 0,
            "hours": dict.fromkeys(row["hours"], 0),
            "resource_hours": {},
        }
    ]


def test_rows_by_each_key(
    site: Site, alpha: Person, beta: Person, admin: Person, flavor: dict[str, Any]
):
    other = things.add_flavor(admin, name="other")
    things.book(alpha, flavor, start=at(1, 22), end=at(2, 1))
    things.book(beta, other)

    def rows(by: str, *fields: str) -> list[tuple[Any, ...]]:
        found = usage(admin, f"&all_projects=true&by={by}")
        return [(*(row[f] for f in fields), row["hours"]["booked"]) for row in found]

    projects = sorted([(alpha.project_id, 3), (beta.project_id, 2)])
    assert rows("project", "project_id") == projects
    assert rows("user", "user_id") == sorted([(alpha.user_id, 3), (beta.user_id, 2)])
    by_flavor = sorted([(flavor["id"], flavor["name"], 3), (other["id"], "other", 2)])
    assert rows("flavor", "flavor_id", "flavor") == by_flavor
    assert rows("day", "day") == [(at(1)[:10], 2), (at(2)[:10], 3)]
    assert hours(admin, "&all_projects=true") == {"booked": 5}
    assert hours(admin, f"&all_projects=true&flavor_id={other['id']}") == {"booked": 2}
    assert hours(admin, f"&all_projects=true&user_id={alpha.user_id}") == {"booked": 3}
    assert hours(admin, f"&project_id={beta.project_id}") == {"booked": 2}


def test_default_time_is_this_month(site: Site, alpha: Person):
    answer = things.made(alpha.get("usage"))
    assert (answer["start"], answer["end"]) == (at(0), "2100-01-01T12:00:00+00:00")
    answer = things.made(alpha.get("usage?to=2100-03-01"))
    assert answer["start"] == "2100-02-01T00:00:00+00:00"


def test_members_see_their_own_project_only(
    alpha: Person, colleague: Person, reader: Person, beta: Person, nobody: Person, flavor
):
    things.book(alpha, flavor)
    for person in (colleague, reader):
        assert hours(person) == {"booked": 2}
    assert hours(beta) == {}
    for path in ("usage", "refusals"):
        for query in (f"project_id={alpha.project_id}", "all_projects=true"):
            assert refusal(beta.get(f"{path}?{query}")) == (403, "forbidden")
        assert refusal(nobody.get(path)) == (403, "forbidden")


def test_parts_of_the_time_are_those_of_the_zone(alpha: Person, flavor: dict[str, Any]):
    """In Melbourne, the 2nd begins at 13:00 UTC on the 1st."""
    things.book(alpha, flavor, start=at(1, 12), end=at(1, 15))

    def rows(by: str, zone: str = "") -> list[tuple[str, float]]:
        found = usage(alpha, f"&by={by}{zone and '&timezone=' + zone}")
        return [(row["day"], row["hours"]["booked"]) for row in found]

    second, third = (things.moment(n).date().isoformat() for n in (1, 2))
    assert rows("day") == [(second, 3)]
    assert rows("day", "Australia/Melbourne") == [(second, 1), (third, 2)]
    monday = things.moment(1).date()
    monday -= monday.weekday() * datetime.timedelta(days=1)
    assert rows("week") == [(monday.isoformat(), 3)]
    assert rows("month") == [(things.moment(1).date().replace(day=1).isoformat(), 3)]


def test_default_month_begins_at_midnight_of_the_zone(alpha: Person):
    answer = things.made(alpha.get("usage?to=2100-03-01&timezone=Australia/Melbourne"))
    assert answer["start"] == "2100-02-28T13:00:00+00:00"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("by=year", "by"),
        ("timezone=Nowhere/Here", "timezone"),
        ("from=never", "from"),
        ("from=2100-01-02&to=2100-01-01", "to"),
        ("from=2100-01-01&to=2100-01-01", "to"),
        ("from=1970-01-01&to=2100-01-01&by=day", "to"),
        ("project_id=", "project_id"),
        ("colour=red", "colour"),
    ],
)
def test_bad_query_is_refused(alpha: Person, query: str, field: str):
    answer = alpha.get(f"usage?{query}")
    assert refusal(answer) == (422, "invalid_field")
    assert answer.json["detail"]["field"] == field


def test_refused_booking_is_listed_and_counted_once(
    site: Site, alpha: Person, admin: Person, beta: Person, flavor: dict[str, Any]
):
    answer = alpha.post("reservations", things.booking(flavor, instance_count=3))
    assert refusal(answer)[1] == "slots_exhausted"
    (found,) = refusals(alpha)
    assert found == {
        "at": f"{NOW.isoformat()}+00:00",
        "code": "slots_exhausted",
        "project_id": alpha.project_id,
        "user_id": alpha.user_id,
        "flavor_id": flavor["id"],
        "flavor": flavor["name"],
        "reservation_id": None,
        "instance_count": 3,
        "start": at(2, 9),
        "end": at(2, 11),
    }
    assert refusals(beta) == []
    assert refusals(admin) == []
    assert refusals(admin, "?all_projects=true") == [found]
    assert refusals(admin, f"?project_id={alpha.project_id}&code=slots_exhausted") == [found]
    assert refusals(alpha, "?code=too_long") == []
    unknown = alpha.get("refusals?code=gap_to_short")
    assert refusal(unknown) == (422, "invalid_field")
    assert "gap_too_short" in unknown.json["error_message"]
    (row,) = usage(alpha)
    assert row["refusals"] == {"slots_exhausted": 1}


def test_refusal_by_the_manager_is_listed_once(site: Site, alpha: Person, flavor: dict[str, Any]):
    answer = alpha.post("reservations", things.booking(flavor, instance_count=3))
    assert refusal(answer)[1] == "slots_exhausted"
    (found,) = refusals(alpha)
    assert (found["user_id"], found["flavor_id"]) == (alpha.user_id, flavor["id"])
    assert (found["start"], found["end"]) == (at(2, 9), at(2, 11))
    assert found["instance_count"] == 3


def test_manager_is_not_asked_again_and_again_for_the_same(
    site: Site, alpha: Person, flavor: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    asked, create = [], manager.create_lease
    monkeypatch.setattr(manager, "create_lease", lambda *a: asked.append(a) or create(*a))
    wanted = things.booking(flavor, instance_count=3)
    for _ in range(3):
        assert refusal(alpha.post("reservations", wanted)) == (400, "slots_exhausted")
    assert len(asked) == 1
    assert [found["code"] for found in refusals(alpha)] == ["slots_exhausted"] * 3
    # What is possible by now is booked at once.
    things.book(alpha, flavor, instance_count=2)
    site.clock.sleep(times.REFUSED_LATELY)
    assert refusal(alpha.post("reservations", wanted)) == (400, "slots_exhausted")
    assert len(asked) == 3


def test_managers_refusal_stays_if_there_is_room_by_the_time_it_is_explained(
    site: Site, alpha: Person, flavor: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    def decide(*args: Any, **kwargs: Any) -> admission.BookingDecision:
        found = admission.decide(*args, **kwargs)
        return dataclasses.replace(found, place=mock.Mock(), refusals=())

    early = admission.flavor_and_refusals
    fake = SimpleNamespace(decide=decide, flavor_and_refusals=early)
    monkeypatch.setattr(reservations, "admission", fake)
    answer = alpha.post("reservations", things.booking(flavor, instance_count=3))
    assert refusal(answer) == (400, "slots_exhausted")
    assert "next_start" not in answer.json["detail"]
    assert len(refusals(alpha)) == 1


def test_refused_change_is_listed_once(site: Site, alpha: Person, flavor: dict[str, Any]):
    booked = things.book(alpha, flavor)
    answer = alpha.patch(f"reservations/{booked['id']}", {"end": at(9), "instance_count": 2})
    assert refusal(answer)[1] == "too_long"
    (found,) = refusals(alpha)
    assert (found["code"], found["reservation_id"]) == ("too_long", booked["id"])
    assert (found["start"], found["end"]) == (at(2, 9), at(9))
    assert found["instance_count"] == 2


def test_change_beyond_the_quota_is_refused_by_the_api_and_listed_once(
    site: Site, alpha: Person, flavor: dict[str, Any]
):
    booked = things.book(alpha, flavor)
    site.cloud.keystone.limits = {(alpha.project_id, "hours"): 3}
    answer = alpha.patch(f"reservations/{booked['id']}", {"end": at(2, 23)})
    assert refusal(answer)[1] == "quota_exceeded"
    assert [found["code"] for found in refusals(alpha)] == ["quota_exceeded"]


def test_dry_run_and_bad_input_are_no_refusals(site: Site, alpha: Person, flavor: dict[str, Any]):
    booked = things.book(alpha, flavor)
    too_many = things.booking(flavor, instance_count=3)
    assert things.made(alpha.post("reservations?dry_run=true", too_many))["bookable"] is False
    dry = f"reservations/{booked['id']}?dry_run=true"
    assert things.made(alpha.patch(dry, {"end": at(9)}))["bookable"] is False
    assert alpha.post("reservations", {**too_many, "instance_count": 0}).status_int == 422
    assert refusals(alpha) == []


def test_refused_booking_on_warres_path_is_listed(
    site: Site, alpha: Person, flavor: dict[str, Any]
):
    answer = alpha.post("/v2/warre/v1/reservations", things.booking(flavor, instance_count=3))
    assert answer.status_int >= 400
    assert [found["code"] for found in refusals(alpha)] == ["slots_exhausted"]


def test_private_flavor_stays_secret(site: Site, alpha: Person, admin: Person):
    secret = things.add_flavor(admin, name="secret", is_public=False)
    assert refusal(alpha.post("reservations", things.booking(secret)))[1] == "flavor_not_found"
    (found,) = refusals(alpha)
    assert (found["code"], found["flavor_id"]) == ("flavor_not_found", None)


def test_idle_reservations(site: Site, alpha: Person, beta: Person, flavor: dict[str, Any]):
    booked = things.book(alpha, flavor)
    site.set_time(things.moment(2, 9))
    site.execute()
    server_samples.take(things.moment(2, 9, 5), site.executor.manager_id, INTERVAL)
    (found,) = things.made(alpha.get("reservations?idle=true"))["results"]
    assert (found["id"], found["idle_since"]) == (booked["id"], at(2, 9))
    assert things.made(beta.get("reservations?idle=true"))["results"] == []
    (found,) = things.made(alpha.get("reservations"))["results"]
    assert "idle_since" not in found
    site.cloud.nova.boot(booked["compute_flavor"], alpha.project_id)
    server_samples.take(things.moment(2, 9, 10), site.executor.manager_id, INTERVAL)
    assert things.made(alpha.get("reservations?idle=true"))["results"] == []
    answer = alpha.get("reservations?idle=true&deleted=true")
    assert refusal(answer) == (422, "invalid_field")
