"""GET /flavors/ID/freeslots?reason=true: the reason why nothing is free."""

import datetime
from typing import Any
from urllib import parse

import pytest
from oslo_config import cfg

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site

#: Days 1 to 3.
PERIOD = "start=2100-01-02&end=2100-01-04"


def asked(person: Person, flavor: dict, query: str) -> dict[str, Any]:
    answer = person.get(f"flavors/{flavor['id']}/freeslots?{query}&reason=true")
    assert answer.status_int == 200, answer
    return answer.json


def test_free_spans_have_no_reason(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin)
    spans = alpha.get(f"flavors/{flavor['id']}/freeslots?{PERIOD}").json
    assert asked(alpha, flavor, PERIOD) == {"results": spans, "reason": None}
    assert len(spans) == 1


#: Values of the flavor, the query, and the code of the reason with some of its detail.
REASONS = {
    "inactive": ({"active": False}, PERIOD, "flavor_inactive", {}),
    "past": ({}, "start=2000-01-01&end=2000-01-02", "invalid_period", {"reason": "past"}),
    "ended": ({"end": things.at(1)}, PERIOD, "after_flavor_end", {"end": things.at(1)}),
    "not yet": ({"start": things.at(3)}, PERIOD, "before_flavor_start", {"start": things.at(3)}),
    "too long": ({}, PERIOD + "&hours=48.5", "too_long", {"max_length_hours": 48}),
    "longer than the time": (
        {"max_length_hours": 99},
        PERIOD + "&hours=49",
        "invalid_period",
        {"reason": "too_short"},
    ),
    "no zone": ({"availability_zone": "nowhere"}, PERIOD, "no_host_matches", {"matching": 0}),
    "too large": ({"vcpu": 17}, PERIOD + "&count=9", "no_host_matches", {"matching": 1}),
    "no host, and too long": (
        {"vcpu": 17},
        PERIOD + "&hours=48.5",
        "no_host_matches",
        {"matching": 1},
    ),
    "slots": ({}, PERIOD + "&count=3", "slots_exhausted", {"asked": 3, "free": 2, "slots": 2}),
    "terms": (
        {"max_instances_per_project": 1},
        PERIOD + "&count=3",
        "too_many_instances",
        {"asked": 3, "held": 0, "max_instances_per_project": 1},
    ),
    "hosts": ({"slots": 99}, PERIOD + "&count=9", "hosts_exhausted", {"asked": 9, "free": 8}),
    "apart": (
        {},
        PERIOD + "&count=2&affinity=false",
        "hosts_exhausted",
        {"asked": 2, "free": 1, "reason": "anti_affinity"},
    ),
}


@pytest.mark.parametrize("case", REASONS)
def test_reason_is_given_when_nothing_is_free(admin: Person, alpha: Person, case: str):
    terms, query, code, detail = REASONS[case]
    flavor = things.add_flavor(admin, **terms)
    found = asked(alpha, flavor, query)
    assert found["results"] == []
    reason = found["reason"]
    assert reason["code"] == code
    assert detail.items() <= reason["detail"].items()
    # A booking gets the same refusal, with the same data.
    hours = 48 if "hours=" not in query else float(query.partition("hours=")[2])
    start = things.at(1) if query.startswith(PERIOD) else "2000-01-01T00:00:00+00:00"
    end = (datetime.datetime.fromisoformat(start) + datetime.timedelta(hours=hours)).isoformat()
    asked_for = dict(parse.parse_qsl(query))
    body = {"flavor_id": flavor["id"], "start": start, "end": end}
    body["instance_count"] = int(asked_for.get("count", 1))
    if "affinity" in asked_for:
        body["affinity"] = asked_for["affinity"] == "true"
    foreseen = alpha.post("reservations?dry_run=true", body).json
    if detail != {"reason": "too_short"}:
        assert foreseen["refusals"][0]["code"] == code
        assert foreseen["refusals"][0]["message"] == reason["message"]
    # Without reason=true the answer is a plain list.
    assert alpha.get(f"flavors/{flavor['id']}/freeslots?{query}").json == []


def test_affinity_that_needs_a_larger_host_is_the_reason(site: Site, admin: Person, alpha: Person):
    world.add_host(site.cloud, "host-2", vcpus=16)
    flavor = things.add_flavor(admin, slots=20)
    found = asked(alpha, flavor, PERIOD + "&count=9&affinity=true")
    assert found["reason"]["code"] == "hosts_exhausted"
    assert {"asked": 9, "free": 8}.items() <= found["reason"]["detail"].items()
    assert asked(alpha, flavor, PERIOD + "&count=9")["reason"] is None


def test_maintenance_reason_lists_windows_and_next_free_time(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin)
    first = things.add_window(admin, flavor, start=things.at(1), end=things.at(2), note="firmware")
    second = things.add_window(admin, flavor, start=things.at(2), end=things.at(4))
    things.add_window(admin, flavor, start=things.at(6), end=things.at(7))
    reason = asked(alpha, flavor, PERIOD)["reason"]
    assert reason["code"] == "maintenance"
    shown = [{k: w[k] for k in ("id", "note", "start", "end")} for w in (first, second)]
    assert reason["detail"] == {
        "windows": shown,
        "longest": None,
        "next_free": {"start": things.at(4), "end": things.at(6)},
    }


def test_all_booked_reason_gives_the_next_free_time(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin, max_length_hours=99)
    things.book(alpha, flavor, start=things.at(1), end=things.at(4), instance_count=2)
    reason = asked(alpha, flavor, PERIOD)["reason"]
    assert reason["code"] == "slots_exhausted"
    following = {"start": things.at(4), "end": "2101-01-04T00:00:00+00:00"}
    assert reason["detail"]["next_free"] == following
    assert reason["detail"]["longest"] is None


def test_hosts_reserved_by_others_count_as_booked(admin: Person, alpha: Person):
    other = things.add_flavor(admin, name="other", slots=8, max_length_hours=99)
    flavor = things.add_flavor(admin)
    things.book(alpha, other, start=things.at(1), end=things.at(4), instance_count=8)
    assert asked(alpha, flavor, PERIOD)["reason"]["code"] == "hosts_exhausted"


def test_free_time_shorter_than_hours_is_the_reason(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin, slots=1)
    things.book(alpha, flavor, start=things.at(1), end=things.at(2))
    things.book(alpha, flavor, start=things.at(2, 6), end=things.at(2, 20))
    query = PERIOD + "&hours=12"
    found = asked(alpha, flavor, query)
    assert found["results"] == []
    assert found["reason"]["code"] == "slots_exhausted"
    assert found["reason"]["detail"] == {
        **{"asked": 1, "free": 0, "slots": 1},
        "longest": {"start": things.at(2), "end": things.at(2, 6)},
        "next_free": {"start": things.at(2, 20), "end": "2101-01-04T00:00:00+00:00"},
    }
    assert len(alpha.get(f"flavors/{flavor['id']}/freeslots?{PERIOD}").json) == 2
    assert alpha.get(f"flavors/{flavor['id']}/freeslots?{query}").json == []


def test_flavor_that_is_never_free_again_has_no_next_time(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin, end=things.at(4), max_length_hours=99)
    things.book(alpha, flavor, start=things.at(1), end=things.at(4), instance_count=2)
    assert asked(alpha, flavor, PERIOD)["reason"]["detail"]["next_free"] is None


def test_exempt_project_does_not_get_too_long(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin)
    query = "start=2100-01-02&end=2100-01-09&hours=49"
    things.book(admin, flavor, start=things.at(2), end=things.at(4), instance_count=2)
    things.book(admin, flavor, start=things.at(5), end=things.at(7), instance_count=2)
    assert asked(alpha, flavor, query)["reason"]["code"] == "too_long"
    name, group = "flavor_max_length_exempt_project_ids", "enforcement"
    cfg.CONF.set_override(name, [alpha.project_id], group=group)
    try:
        assert asked(alpha, flavor, query)["reason"]["code"] == "slots_exhausted"
    finally:
        cfg.CONF.clear_override(name, group=group)


def test_invisible_flavor_is_not_found(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin, is_public=False)
    path = f"flavors/{flavor['id']}/freeslots?reason=true"
    assert refusal(alpha.get(path)) == (404, "flavor_not_found")


@pytest.mark.parametrize(("hours", "spans"), [("3.999999", 1), ("4.016667", 0), ("4", 1)])
def test_hours_that_are_whole_minutes_are_accepted(
    admin: Person, alpha: Person, hours: str, spans: int
):
    flavor = things.add_flavor(admin, start=things.at(2), end=things.at(2, 4))
    assert len(alpha.get(f"flavors/{flavor['id']}/freeslots?hours={hours}").json) == spans


@pytest.mark.parametrize(
    ("query", "field"),
    [("reason=why", "reason"), ("hours=0", "hours"), ("hours=0.01", "hours"), ("hours=a", "hours")],
)
def test_bad_query_is_refused_with_its_parameter(admin: Person, query: str, field: str):
    flavor = things.add_flavor(admin)
    answer = admin.get(f"flavors/{flavor['id']}/freeslots?{query}")
    assert refusal(answer) == (422, "invalid_field")
    assert answer.json["detail"]["field"] == field
