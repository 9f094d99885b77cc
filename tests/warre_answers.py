"""What a real Warre 5.2.2 answered, and how our answers are compared with it.

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
from collections.abc import Callable
from typing import Any

STEPS = json.loads(pathlib.Path(__file__).with_name("warre-5.2.2.json").read_text())

#: The midnight from which the recorded times are counted. The recorded queries contain real dates.
EPOCH = datetime.datetime(2026, 11, 23, tzinfo=datetime.UTC)

#: Sends a request of a user: its arguments are the user's name or None, the method, the path on
#: Warre's endpoint and the body. It returns the status and the document that was answered.
Send = Callable[[str | None, str, str, Any], tuple[int, Any]]

_NAMED_TIME = re.compile(r"<T([+-]\d+)d(\d\d):(\d\d)>")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_DATE = re.compile(r"(?<==)\d{4}-\d\d-\d\d\b")
_SOME_ID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}")
_MINUTE = datetime.timedelta(minutes=1)


@dataclasses.dataclass
class Names:
    """The names that stand for ids in the recording. An id gets its name from the first answer.

    :ivar epoch: the midnight that takes the place of ``EPOCH``.
    """

    ids: dict[str, str]
    epoch: datetime.datetime = EPOCH

    def fill(self, text: str) -> str:
        """The text with ids and times in place of names, and with dates counted from the epoch."""
        for name, known in self.ids.items():
            text = text.replace(name, known)
        text = _DATE.sub(lambda m: self._moved(m.group()), text)
        return _NAMED_TIME.sub(lambda m: _moment(m, self.epoch).isoformat(), text)

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

    def listed(self, answer: Any) -> Any:
        """A listing without what others have made, and with ``more`` as total if it goes on."""
        if not isinstance(answer, dict) or not isinstance(answer.get("results"), list):
            return answer
        known = {None, *self.ids.values()}
        results = [item for item in answer["results"] if item.get("id") in known]
        return {**answer, "results": results, "total": "more" if "next" in answer else len(results)}

    def _moved(self, date: str) -> str:
        moment = datetime.datetime.fromisoformat(date).replace(tzinfo=datetime.UTC)
        return f"{(moment + (self.epoch - EPOCH)).date()}"

    def _name_text(self, text: str, key: str) -> str:
        known = {i: name for name, i in self.ids.items()}
        if text in known:
            return known[text]
        if key == "next":
            return text.rpartition("/")[2]
        if _SOME_ID.fullmatch(text):
            return f"<{key}>"
        if _TIME.match(text):
            return "<now>" if key == "created_at" else self._name_time(text)
        return text

    def _name_time(self, text: str) -> str:
        minutes = (datetime.datetime.fromisoformat(text) - self.epoch) // _MINUTE
        days, rest = divmod(minutes, 24 * 60)
        return f"<T{days:+d}d{rest // 60:02d}:{rest % 60:02d}>"


def _moment(match: re.Match[str], epoch: datetime.datetime = EPOCH) -> datetime.datetime:
    days, hours, minutes = map(int, match.groups())
    return epoch + datetime.timedelta(days=days, hours=hours, minutes=minutes)


def _holds(got: Any, recorded: Any, ordered: bool) -> bool:
    """Whether an answer contains everything that was recorded."""
    if isinstance(recorded, dict):
        return isinstance(got, dict) and all(
            key in got and _holds(got[key], value, ordered) for key, value in recorded.items()
        )
    if isinstance(recorded, list):
        if not isinstance(got, list) or len(got) != len(recorded):
            return False
        if not ordered and all(isinstance(i, dict) and "id" in i for i in [*got, *recorded]):
            got, recorded = (sorted(items, key=lambda i: i["id"]) for items in (got, recorded))
        return all(_holds(g, r, ordered) for g, r in zip(got, recorded, strict=True))
    return got == recorded


def _edges(spans: list[dict[str, str]]) -> list[datetime.datetime]:
    """The starts and ends of spans of time, as recorded."""
    matches = (_NAMED_TIME.fullmatch(span[key]) for span in spans for key in ("start", "end"))
    return [_moment(match) for match in matches if match]


def _same(how: str, got: Any, recorded: Any) -> bool:
    """Whether an answer is the same as the recorded one, as strictly as the step demands."""
    if how == "status":
        return True
    if how == "keys":
        return set(recorded) <= set(got)
    if how == "edges":
        pairs = list(zip(_edges(got), _edges(recorded), strict=False))
        return len(got) == len(recorded) and all(abs(a - b) <= _MINUTE for a, b in pairs)
    return _holds(got, recorded, how == "ordered")


def differences(names: Names, send: Send) -> list[tuple[str, int, Any, Any]]:
    """Send all recorded requests. Return the answers that differ from Warre's.

    :param names: the ids of the users and of their projects.
    :returns: for each such step its name, the status and the answer that we gave, and Warre's.
    """
    different = []
    for step in STEPS:
        method, path = names.fill(step["request"]).split(" ", 1)
        body = None if step["body"] is None else json.loads(names.fill(json.dumps(step["body"])))
        status, document = send(step["as"], method, path, body)
        if status < 300:
            names.learn(step["answer"], document)
        got = names.name(names.listed(document))
        if status != step["status"] or not _same(step["how"], got, step["answer"]):
            different.append((step["step"], status, got, step["answer"]))
    return different


def named(person: str, project_id: str, user_id: str) -> dict[str, str]:
    """The names by which the recording calls a user and the user's project."""
    return {f"<{person}>": project_id, f"<{person}.user>": user_id}
