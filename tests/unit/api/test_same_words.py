"""A flavor that can't be booked: all views give the same reason, and say whether to wait."""

from typing import Any

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.things import at

#: The flavor's values, the number of instances that is asked for, the code, and whether a wait
#: could be served.
FLAVORS: dict[str, tuple[dict[str, Any], int, str, bool]] = {
    "no host": ({"availability_zone": "nowhere"}, 1, "no_host_matches", False),
    "closed": ({"active": False}, 1, "flavor_inactive", False),
    "more than slots": ({"slots": 2}, 3, "slots_exhausted", False),
    "more than hosts": ({"slots": 99, "vcpu": 8}, 3, "hosts_exhausted", False),
    "more than a project": ({"max_instances_per_project": 1}, 2, "too_many_instances", False),
    "full": ({"slots": 2}, 1, "slots_exhausted", True),
}


@pytest.mark.parametrize("case", FLAVORS)
def test_all_views_say_the_same(admin: Person, alpha: Person, beta: Person, case: str):
    terms, count, code, can_wait = FLAVORS[case]
    flavor = things.add_flavor(admin, **terms)
    if case == "full":
        things.book(beta, flavor, start=at(1), end=at(3), instance_count=2)
    ref, instances = flavor["id"], {"instance_count": count}
    when = f"from={at(1)[:16]}&to={at(3)[:16]}&count={count}&flavor={ref}"
    booking = {"flavor_id": ref, "start": at(1, 9), "end": at(1, 11), **instances}
    foreseen = alpha.post("reservations?dry_run=true", booking).json
    (offered,) = alpha.get(f"offers?{when}").json["missing"]
    (never,) = alpha.get(f"availability?{when}").json["missing"]
    free = alpha.get(
        f"flavors/{ref}/freeslots?start={at(1)[:16]}&end={at(3)[:16]}&count={count}&reason=true"
    ).json
    series = things.series(flavor, start=at(1, 9)[:16], **instances)
    of_series = alpha.post("series?dry_run=true", series)
    refused = alpha.post("reservations", booking).json
    assert {
        refused["code"],
        foreseen["refusals"][0]["code"],
        offered["reason"],
        never["reason"],
        free["reason"]["code"],
        of_series.json["refused"][0]["code"],
    } == {code}
    waits = [each["wait_start"] for each in (offered, never, foreseen, refused["detail"])]
    assert [bool(each) for each in waits] == [can_wait] * 4
    answer = alpha.post("waits", {"flavor_id": ref, "hours": 2, **instances})
    assert answer.json.get("code") == (None if can_wait else code)
