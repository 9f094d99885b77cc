"""The API answers every step as a real Warre 5.2.2 answered it (``tests/warre_answers.py``)."""

import datetime
from typing import Any

import pytest

from tests import warre_answers
from tests.functional.db import world
from tests.unit.api.people import Person
from tests.unit.api.site import Site

PRESENT = datetime.datetime(2026, 11, 21, 9, 30)


@pytest.fixture
def people(site: Site) -> dict[str | None, Person]:
    """The users of the recording, on Warre's path and at the time of the recording."""
    site.set_time(PRESENT)
    root = "/v2/warre"
    return {name: Person(site.app, name, root) for name in ("admin", "alpha", "beta", None)}


def test_every_recorded_step_is_answered_as_by_warre(people: dict[str | None, Person], site: Site):
    world.add_host(site.cloud, "host-2", vcpus=64, zone="az1")
    names = warre_answers.Names({})
    for person in people.values():
        if person.name:
            names.ids |= warre_answers.named(person.name, person.project_id, person.user_id)

    def send(user: str | None, method: str, path: str, body: Any) -> tuple[int, Any]:
        answer = people[user].send(method, path.removeprefix("/"), body)
        is_json = answer.content_type == "application/json"
        return answer.status_int, answer.json if is_json else None

    assert warre_answers.differences(names, send) == []
    assert len(warre_answers.STEPS) == 105
