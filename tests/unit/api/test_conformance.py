"""The API answers every step as a real Warre 5.2.2 answered it.

``warre-5.2.2.json`` has the steps: who asked what, and the answer with names in place of ids
(``<F1>``) and of times (``<T+1d03:00>``, counted from ``EPOCH``). Its ``how`` says how much of an
answer counts: status, keys, body (lists of things in any order), ordered in listings' own tests,
edges (spans of time to within a minute). Fields that only we answer are no difference.
"""

import dataclasses
import datetime
import json
import pathlib
import re
from typing import Any

import pytest

from tests.functional.db import world
from tests.unit.api.people import Person
from tests.unit.api.site import Site

STEPS = json.loads((pathlib.Path(__file__).parent / "warre-5.2.2.json").read_text())

#: The midnight from which the recorded times are counted. The recorded queries contain real dates.
EPOCH = datetime.datetime(2026, 11, 23, tzinfo=datetime.UTC)
PRESENT = datetime.datetime(2026, 11, 21, 9, 30)

_NAMED_TIME = re.compile(r"<T([+-]\d+)d(\d\d):(\d\d)>")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_SOME_ID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}")
MINUTE = datetime.timedelta(minutes=1)


@dataclasses.dataclass
class Names:
    """The names that stand for ids in the recording. An id gets its name from the first answer."""

    ids: dict[str, str]

    def fill(self, text: str) -> str:
        """The text with ids and times in place of names."""
        for name, known in self.ids.items():
            text = text.replace(name, known)
        return _NAMED_TIME.sub(lambda m: _moment(m).isoformat(), text)

    def learn(self, recorded: Any, answer: Any) -> None:
        """Take the name of a new item's id from the recorded answer."""
        if isinstance(recorded, dict) and isinstance(answer, dict) and "id" in answer:
            self.ids.setdefault(recorded.get("id", ""), answer["id"])

    def name(self, value: Any, key: str = "") -> Any:
        """The value with names in place of ids and times, as it would have been recorded."""
        if isinstance(value, dict):
            return {k: self.name(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self.name(v, key) for v in value]
        return self._name_text(value, key) if isinstance(value, str) else value

    def _name_text(self, text: str, key: str) -> str:
        known = {i: name for name, i in self.ids.items()}
        if text in known:
            return known[text]
        if key == "next":
            return text.rpartition("/")[2]
        if _SOME_ID.fullmatch(text):
            return f"<{key}>"
        if _TIME.match(text):
            return "<now>" if key == "created_at" else _name_time(text)
        return text


def _moment(match: re.Match[str]) -> datetime.datetime:
    days, hours, minutes = map(int, match.groups())
    return EPOCH + datetime.timedelta(days=days, hours=hours, minutes=minutes)


def _name_time(text: str) -> str:
    minutes = (datetime.datetime.fromisoformat(text) - EPOCH) // MINUTE
    days, rest = divmod(minutes, 24 * 60)
    return f"<T{days:+d}d{rest // 60:02d}:{rest % 60:02d}>"


def listed(answer: Any) -> Any:
    """A listing in which the total is ``more`` if there is a next page, as Warre has it."""
    if isinstance(answer, dict) and "results" in answer and "next" in answer:
        return {**answer, "total": "more"}
    return answer


def holds(got: Any, recorded: Any, ordered: bool) -> bool:
    """Whether an answer contains everything that was recorded."""
    if isinstance(recorded, dict):
        return isinstance(got, dict) and all(
            key in got and holds(got[key], value, ordered) for key, value in recorded.items()
        )
    if isinstance(recorded, list):
        if not isinstance(got, list) or len(got) != len(recorded):
            return False
        if not ordered and all(isinstance(i, dict) and "id" in i for i in [*got, *recorded]):
            got, recorded = (sorted(items, key=lambda i: i["id"]) for items in (got, recorded))
        return all(holds(g, r, ordered) for g, r in zip(got, recorded, strict=True))
    return got == recorded


def edges(spans: list[dict[str, str]]) -> list[datetime.datetime]:
    """The starts and ends of spans of time, as recorded."""
    matches = (_NAMED_TIME.fullmatch(span[key]) for span in spans for key in ("start", "end"))
    return [_moment(match) for match in matches if match]


def same(how: str, got: Any, recorded: Any) -> bool:
    """Whether an answer is the same as the recorded one, as strictly as the step demands."""
    if how == "status":
        return True
    if how == "keys":
        return set(recorded) <= set(got)
    if how == "edges":
        pairs = list(zip(edges(got), edges(recorded), strict=False))
        return len(got) == len(recorded) and all(abs(a - b) <= MINUTE for a, b in pairs)
    return holds(got, recorded, how == "ordered")


@pytest.fixture
def people(site: Site) -> dict[str | None, Person]:
    """The users of the recording, on Warre's path and at the time of the recording."""
    site.set_time(PRESENT)
    root = "/v2/warre"
    return {name: Person(site.app, name, root) for name in ("admin", "alpha", "beta", None)}


def test_every_recorded_step_is_answered_as_by_warre(people: dict[str | None, Person], site: Site):
    world.add_host(site.cloud, "host-2", vcpus=64, zone="az1")
    names = Names({f"<{p.name}>": p.project_id for p in people.values() if p.name})
    names.ids |= {f"<{p.name}.user>": p.user_id for p in people.values() if p.name}
    different = []
    for step in STEPS:
        method, path = names.fill(step["request"]).split(" ", 1)
        body = None if step["body"] is None else json.loads(names.fill(json.dumps(step["body"])))
        answer = people[step["as"]].send(method, path.removeprefix("/"), body)
        document = answer.json if answer.content_type == "application/json" else None
        if answer.status_int < 300:
            names.learn(step["answer"], document)
        got = listed(names.name(document))
        if answer.status_int != step["status"] or not same(step["how"], got, step["answer"]):
            different.append((step["step"], answer.status_int, got, step["answer"]))
    assert different == []
    assert len(STEPS) == 105
