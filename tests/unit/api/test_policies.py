"""Every operation asks the rules that say they are of it, and does nothing when they say no."""

import json
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from oslo_policy import policy as oslo_policy

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.site import Site
from warre_blazar import policies, policy
from warre_blazar.api import openapi


class Spy(oslo_policy.Check):
    """A check for policy files, ``spy:RULE``, that says what it was told to and keeps who asked."""

    asked: ClassVar[list[str]] = []
    answer: ClassVar[bool] = False

    def __call__(self, target: Any, creds: Any, enforcer: Any, current_rule: Any = None) -> bool:
        self.asked.append(self.match)
        return self.answer


oslo_policy.register("spy", Spy)


@pytest.fixture
def spy(site: Site) -> Iterator[type[Spy]]:
    """Replaces all of our rules with spies, once ``install`` has been called."""
    yield Spy
    site.policy_file.unlink(missing_ok=True)
    policy._enforcer.cache_clear()


def install(site: Site, answer: bool) -> None:
    rules = {r.name: f"spy:{r.name}" for r in policies.list_rules()}
    site.policy_file.write_text(json.dumps(rules))
    policy._enforcer.cache_clear()
    Spy.answer = answer
    Spy.asked.clear()


@pytest.fixture
def ids(site: Site, admin: Person, alpha: Person) -> dict[str, str]:
    """Ids of one item of each kind, by the names of the parameters in the document's paths."""

    def make() -> dict[str, str]:
        flavor = things.add_flavor(admin)
        idle = things.add_flavor(admin, name="idle")
        booked = things.book(alpha, flavor)
        return {
            "flavor_id": idle["id"],
            "booked_id": flavor["id"],
            "flavorproject_id": things.grant(admin, flavor, alpha.project_id)["id"],
            "reservation_id": booked["id"],
            "share_id": things.share(alpha, booked, admin.project_id)["id"],
            "calendar_id": things.made(alpha.post("calendars", {"name": "GPUs"}))["id"],
            "window_id": things.add_window(admin, flavor)["id"],
            "series_id": things.add_series(alpha, flavor)["id"],
            "wait_id": things.add_wait(alpha, flavor)["id"],
        }

    return site.remembered(make)


#: Bodies and queries for which an operation checks all of its rules.
BODIES = {
    "FlavorCreate": things.FLAVOR | {"name": "another"},
    "FlavorUpdate": {"slots": 7},
    "AccessCreate": {"flavor_id": "{booked_id}", "project_id": "p"},
    "ReservationCreate": {
        "flavor_id": "{booked_id}",
        "start": things.at(3),
        "end": things.at(3, 1),
        "project_id": "project-beta",
    },
    "ReservationUpdate": {"end": things.at(2, 12)},
    "MessagesUpdate": {"enabled": False},
    "SeriesCreate": {
        "flavor_id": "{booked_id}",
        "start": things.at(5, 9)[:16],
        "timezone": "UTC",
        "hours": 1,
        "rrule": "FREQ=DAILY;COUNT=1",
        "project_id": "project-beta",
    },
    "SeriesUpdate": {"more": 1},
    "WaitCreate": {"flavor_id": "{booked_id}", "hours": 1, "project_id": "project-beta"},
    "ShareCreate": {"reservation_id": "{reservation_id}", "project_id": "project-beta"},
    "CalendarCreate": {"name": "GPUs"},
    "WindowCreate": {
        "start": things.at(8),
        "end": things.at(9),
        "flavor_ids": ["{booked_id}"],
    },
    "WindowUpdate": {"note": "changed"},
}
QUERIES = {
    ("GET", "/flavors"): "?all_projects=true",
    ("GET", "/reservations"): "?all_projects=true",
    ("GET", "/flavors/{flavor_id}"): "?detail=capacity",
    ("GET", "/limits"): "?project_id=another",
    ("GET", "/series"): "?all_projects=true",
    ("GET", "/usage"): "?all_projects=true",
    ("GET", "/refusals"): "?all_projects=true",
    ("GET", "/waits"): "?all_projects=true",
    ("GET", "/shares"): "?all_projects=true",
    ("GET", "/calendars"): "?all_projects=true",
}


def send(person: Person, operation: openapi.Operation, ids: dict[str, str]) -> Any:
    path = operation.path.format(**ids) + QUERIES.get((operation.method, operation.path), "")
    body = None
    if operation.body:
        text = json.dumps(BODIES[operation.body])
        for name in ("booked_id", "reservation_id"):
            text = text.replace(f"{{{name}}}", ids[name])
        body = json.loads(text)
    return person.send(operation.method, path.removeprefix("/"), body)


OPERATIONS = [
    pytest.param(o, id=f"{o.method}-{o.path.removeprefix('/')}") for o in openapi.OPERATIONS
]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("root", openapi.SERVERS)
def test_operation_is_refused_when_its_rule_forbids_it(site: Site, ids, spy, operation, root):
    install(site, answer=False)
    before = site.rows()
    refused = send(Person(site.app, "admin", root), operation, ids)
    assert refused.status_int in (403, 404)
    assert set(spy.asked) & set(operation.rules())
    assert site.rows() == before


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation_checks_exactly_the_rules_it_names(site: Site, ids, alpha, spy, operation):
    """The rules include those that the manager checks, such as the one on maintenance windows."""
    install(site, answer=True)
    site.cloud.keystone.roles[alpha.user_id, "project-beta"] = ["member"]
    if operation.body == "CalendarCreate":  # A user has one at most.
        assert alpha.delete(f"calendars/{ids['calendar_id']}").status_int == 204
        spy.asked.clear()
    assert send(alpha, operation, ids).status_int < 300
    assert set(spy.asked) == set(operation.rules())


def test_manager_checks_the_rule_on_maintenance_windows(site: Site, ids, alpha, spy):
    """The manager refuses an extension into a window. The API doesn't check the rule for it."""
    install(site, answer=True)
    path = f"reservations/{ids['reservation_id']}"
    assert alpha.patch(path, {"end": things.at(2, 12)}).status_int == 200
    assert set(spy.asked) == {policies.reservations.UPDATE, policies.reservations.IN_WINDOW}
