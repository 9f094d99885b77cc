"""A cloud answers every step as a real Warre 5.2.2 answered it (``tests/warre_answers.py``)."""

import datetime
from typing import Any

import requests

from tests import warre_answers
from tests.functional.cloud.people import Person

_PATH = "/v2/warre"


def test_every_recorded_step_is_answered_as_by_warre(people: dict[str, Person]) -> None:
    today = datetime.datetime.now(datetime.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    names = warre_answers.Names({}, today + datetime.timedelta(days=2))
    for name, person in people.items():
        cloud = person.cloud
        names.ids |= warre_answers.named(name, cloud.current_project_id, cloud.current_user_id)
    root = people["admin"].cloud.endpoint_for("reservation")

    def send(user: str | None, method: str, path: str, body: Any) -> tuple[int, Any]:
        if user:
            answer = people[user].ask(method, _PATH + path, body)
        else:
            answer = requests.request(method, root.removesuffix("/v1") + _PATH + path, timeout=60)
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return answer.status_code, answer.json() if is_json and answer.content else None

    assert warre_answers.differences(names, send) == []
