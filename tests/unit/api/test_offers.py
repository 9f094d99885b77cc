"""Offers and availability over the API: what they say, whom they tell, and that offers hold."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site


def ask(person: Person, path: str = "offers", **query: Any) -> Any:
    text = "&".join(f"{name}={quote(str(value))}" for name, value in query.items())
    return person.get(f"{path}?{text}")


def names(answer: Any) -> set[str]:
    found = [*answer["results"], *answer.get("missing", [])]
    return {each["flavor"]["name"] for each in found}


def test_offer_can_be_booked_to_its_latest_end(site: Site, admin: Person, alpha: Person):
    flavor = things.add_flavor(admin)
    start = {"from": things.at(2)}
    offered = ask(alpha, **start, count=1, hours=2).json["results"][0]
    assert offered["flavor"]["id"] == flavor["id"]
    assert offered["longest_hours"] == flavor["max_length_hours"]
    booked = things.book(
        alpha, flavor, start=offered["start"], end=offered["latest_end"], instance_count=1
    )
    assert booked["start"] == offered["start"]


def test_missing_flavor_has_a_reason_and_what_could_be_booked(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin, slots=1)
    answer = ask(alpha, **{"from": things.at(2)}, count=2).json
    assert answer["results"] == []
    missing = next(m for m in answer["missing"] if m["flavor"]["id"] == flavor["id"])
    assert missing["reason"] == "slots_exhausted"
    assert missing["fewer_instances"]["instance_count"] == 1
    assert missing["fewer_hours"] is None
    too_long = ask(alpha, hours=flavor["max_length_hours"] + 1).json["missing"][0]
    assert too_long["reason"] == "too_long"
    assert too_long["fewer_hours"]["longest_hours"] == flavor["max_length_hours"]


def test_longest_offer_is_told_even_beyond_the_limit(admin: Person, alpha: Person, beta: Person):
    flavor = things.add_flavor(admin, slots=1)
    things.book(beta, flavor, start=things.at(2, 12), end=things.at(2, 14))
    answer = ask(alpha, **{"from": things.at(2, 9)}, flavor=flavor["id"], limit=1).json
    (first,) = answer["results"]
    assert (first["start"], first["longest_hours"]) == (things.at(2, 9), 3)
    (longest,) = answer["longest"]
    assert (longest["start"], longest["longest_hours"]) == (things.at(2, 14), 48)


def test_more_than_a_project_may_hold_is_a_reason_of_its_own(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin, slots=3, max_instances_per_project=2)
    answer = ask(alpha, **{"from": things.at(2)}, count=4).json
    (missing,) = [m for m in answer["missing"] if m["flavor"]["id"] == flavor["id"]]
    assert missing["reason"] == "too_many_instances"
    assert missing["fewer_instances"]["instance_count"] == 2


def test_flavor_without_a_host_has_neither_taken_slots_nor_full_hosts(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin, properties='["==", "$gpu_model", "none"]')
    for count in (1, flavor["slots"] + 1):
        answer = ask(alpha, **{"from": things.at(2)}, count=count).json
        missing = next(m for m in answer["missing"] if m["flavor"]["id"] == flavor["id"])
        assert missing["reason"] == "no_host_matches"


@pytest.mark.parametrize("path", ["offers", "availability"])
def test_private_flavors_are_told_only_to_projects_with_access(
    admin: Person, alpha: Person, beta: Person, path: str
):
    secret = things.add_flavor(admin, name="secret", is_public=False)
    things.grant(admin, secret, alpha.project_id)
    assert "secret" in names(ask(alpha, path).json)
    # Not even admins are offered what their project may not book.
    for person in (beta, admin):
        assert "secret" not in names(ask(person, path).json)
        for ref in ("secret", secret["id"]):
            refused = person.get(f"{path}?flavor={ref}")
            assert refusal(refused) == (404, "flavor_not_found")


def test_choice_narrows_offers(admin: Person, alpha: Person):
    a100 = '["==", "$gpu_model", "A100"]'
    both = f'["and", {a100}, [">=", "$cores", "8"]]'
    things.add_flavor(admin, name="plain", category="cpu")
    things.add_flavor(admin, name="gpu", category="gpu", properties=both)
    assert names(ask(alpha).json) == {"plain", "gpu"}
    assert names(ask(alpha, category="gpu").json) == {"gpu"}
    assert names(ask(alpha, properties=a100).json) == {"gpu"}
    assert names(ask(alpha, flavor="plain").json) == {"plain"}
    assert names(ask(alpha, availability_zone="nowhere").json) == set()
    assert names(ask(alpha, "availability", category="gpu").json) <= {"gpu"}


def test_limit_cuts_offers_but_not_their_number(admin: Person, alpha: Person):
    for name in ("one", "two", "three"):
        things.add_flavor(admin, name=name)
    answer = ask(alpha, limit=2).json
    assert (len(answer["results"]), answer["total"], answer["missing"]) == (2, 3, [])


def test_availability_counts_what_is_free_by_day(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin, slots=2)
    things.book(alpha, flavor, start=things.at(3), end=things.at(3, 5))
    days = ask(alpha, "availability", **{"from": things.at(2), "to": things.at(5)}).json
    (mine,) = [each for each in days["results"] if each["flavor"]["id"] == flavor["id"]]
    assert [part["instances"] for part in mine["free"]] == [2, 1, 2]
    hours = ask(
        alpha, "availability", by="hour", **{"from": things.at(3, 4), "to": things.at(3, 6)}
    ).json
    (mine,) = [each for each in hours["results"] if each["flavor"]["id"] == flavor["id"]]
    assert [part["instances"] for part in mine["free"]] == [1, 2]


def test_availability_says_where_a_booking_can_begin_and_why_nothing_is_free(
    admin: Person, alpha: Person
):
    flavor = things.add_flavor(admin, slots=1)
    things.book(alpha, flavor, start=things.at(3, 4), end=things.at(3, 5))
    times = {"start": things.at(3, 9), "end": things.at(3, 10)}
    admin.post("maintenancewindows", {**times, "flavor_ids": [flavor["id"]], "note": "disks"})
    hours = {"by": "hour", "from": things.at(3), "to": things.at(3, 12)}

    def parts(**query: Any) -> list[Any]:
        answer = ask(alpha, "availability", **hours, flavor=flavor["id"], **query).json
        return list(answer["results"][0]["free"])

    begins = [hour for hour, part in enumerate(parts(hours=3)) if part["can_start"]]
    # The last booking ends after what was asked about.
    assert begins == [0, 1, 5, 6, 10, 11]
    assert {part["can_start"] for part in parts()} == {None}
    why = {hour: part["reason"] for hour, part in enumerate(parts()) if part["reason"]}
    assert why == {4: "slots_exhausted", 9: "maintenance"}


def test_availability_knows_starts_at_the_end_of_time(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin)
    last = {"from": "8999-12-30", "to": "8999-12-31"}
    answer = ask(alpha, "availability", **last, hours=999_999).json
    (mine,) = [each for each in answer["results"] if each["flavor"]["id"] == flavor["id"]]
    assert [part["can_start"] for part in mine["free"]] == [False]


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("offers", {"hours": "0"}, "hours"),
        ("availability", {"hours": "0"}, "hours"),
        ("offers", {"count": "0"}, "count"),
        ("offers", {"from": "2030-01-02", "to": "2030-01-01"}, "to"),
        ("offers", {"properties": "[1"}, "properties"),
        ("offers", {"sort": "start"}, "sort"),
        ("availability", {"by": "week"}, "by"),
        ("availability", {"from": "2030-01-01", "to": "2039-01-01"}, "to"),
    ],
)
def test_bad_query_is_refused_by_the_name_of_its_field(alpha: Person, path, query, field):
    refused = ask(alpha, path, **query)
    assert refusal(refused) == (422, "invalid_field")
    assert refused.json["detail"]["field"] == field


def test_enormous_count_is_answered(admin: Person, alpha: Person):
    things.add_flavor(admin, slots=2**31 - 1)
    assert ask(alpha, count=2**31 - 1).json["results"] == []


def test_extension_says_the_latest_end_and_who_may_see_it(
    admin: Person, alpha: Person, beta: Person
):
    flavor = things.add_flavor(admin, slots=1)
    booked = things.book(alpha, flavor)
    things.book(beta, flavor, start=things.at(2, 14), end=things.at(2, 15))
    path = f"reservations/{booked['id']}/extensions"
    assert alpha.get(path).json == {
        "latest_end": things.at(2, 14),
        "stopped_by": "slots_exhausted",
        "extend_from": None,
    }
    assert refusal(beta.get(path)) == (404, "reservation_not_found")
    assert alpha.patch(path.rpartition("/")[0], {"end": things.at(2, 14)}).status_int == 200


def test_fair_terms_are_named_in_refusals(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin, gap_hours=1, max_instances_per_project=2)
    assert flavor["gap_hours"] == 1
    refused = alpha.post(
        "reservations", things.booking(flavor, instance_count=3, end=things.at(2, 10))
    )
    assert refused.json["code"] == "too_many_instances"
    things.book(alpha, flavor)
    near = things.booking(flavor, start=things.at(2, 11), end=things.at(2, 12))
    refused = alpha.post("reservations", near)
    assert refusal(refused) == (400, "gap_too_short")
    assert refused.json["detail"]["start_from"] == things.at(2, 12)


def test_fair_terms_hold_on_warres_path(site: Site, admin: Person, alpha: Person):
    flavor = things.add_flavor(admin, max_instances_per_project=1)
    things.book(alpha, flavor)
    refused = Person(site.app, "alpha", "/v2/warre/v1").post("reservations", things.booking(flavor))
    assert refused.status_int == 400
    assert "at most 1 instance of" in str(refused.json)
