"""Requests of a member to each path, usual ones and those with a value at some field's bounds."""

import dataclasses
import datetime
import random
import threading
import urllib.parse
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.torture import bounds
from tests.torture.users import Person

#: What an operation of the document is served under, and how often each is chosen.
_ROOTS = {"/v2": 4, "/v2/warre/v1": 1}
_LEASES = "/v1/leases"
_HOUR = datetime.timedelta(hours=1)
#: How likely it is that an optional field is given, and that a field has an odd value.
_GIVEN, _ODD = 0.3, 0.6
_KNOWN_MOST = 200
_COUNT = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
_TIME = {"type": "string", "format": "date-time", "maxLength": 64}
_TEXT = {"type": "string", "maxLength": 255}
_EXPRESSION = {
    "type": "string",
    "examples": ['["==", "$vcpus", "16"]', '["~", "$x", "1"]', "[", "[1]", "[" * 900],
}
#: The reservations of leases over v1: by type, the usual value and the schema of each field.
_TYPES: dict[str, dict[str, tuple[Any, bounds.Schema]]] = {
    "flavor:slot": {"amount": (1, _COUNT)},
    "virtual:instance": {
        "amount": (1, _COUNT),
        "vcpus": (1, _COUNT),
        "memory_mb": (256, _COUNT),
        "disk_gb": (1, _COUNT),
        "affinity": (None, {"type": "boolean"}),
        "resource_properties": ("", _EXPRESSION),
    },
    "flavor:instance": {"amount": (1, _COUNT), "affinity": (None, {"type": "boolean"})},
    "physical:host": {
        "min": (1, _COUNT),
        "max": (1, _COUNT),
        "hypervisor_properties": ("", _EXPRESSION),
        "resource_properties": ("", _EXPRESSION),
    },
}
#: Paths that lead nowhere, or that Blazar has and this package refuses.
_ELSEWHERE = ("/", "/v1", "/v2", "/v1/nothing", "/v1/plugins", "/v2/leases", "/v1/os-hosts")


@dataclasses.dataclass(frozen=True)
class Request:
    """A request. ``kind`` is the same for all requests to a path with a method."""

    kind: str
    method: str
    path: str
    body: Any = None

    def __str__(self) -> str:
        text = f"{self.method} {self.path} {'' if self.body is None else repr(self.body)}"
        return text if len(text) < 600 else f"{text[:600]}... ({len(text)} characters)"


class Known:
    """Ids that answers have named, by the last segment of the path of what they belong to."""

    def __init__(self) -> None:
        self._ids: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def note(self, request: Request, document: Any) -> None:
        """Remember the id of what a request has made."""
        made = document.get("lease", document) if isinstance(document, dict) else None
        if request.method == "POST" and isinstance(made, dict) and isinstance(made.get("id"), str):
            with self._lock:
                ids = self._ids.setdefault(_collection(request.path), [])
                ids.append(made["id"])
                del ids[:-_KNOWN_MOST]

    def any(self, collection: str, choice: random.Random) -> str:
        """An id of something of a collection, or one that nothing has."""
        with self._lock:
            ids = self._ids.get(collection)
            return choice.choice(ids) if ids else str(uuid.UUID(int=7))


def _collection(path: str) -> str:
    return path.partition("?")[0].rstrip("/").rpartition("/")[2]


class Members:
    """Makes requests at random, the same ones for the same seed and the same answers."""

    def __init__(
        self,
        seed: int,
        flavors: Sequence[str],
        person: Person,
        known: Known,
        now: Callable[[], datetime.datetime],
    ) -> None:
        self._choice, self._person = random.Random(seed), person
        self._flavors, self._known, self._now = flavors, known, now
        self._operations = bounds.operations()
        #: By kind of request, what makes one.
        self._kinds: dict[str, Callable[[], Request]] = {}
        for operation in self._operations:
            for root in _ROOTS:
                kind = f"{operation.method} {root}{operation.path}"
                self._kinds[kind] = lambda o=operation, r=root, k=kind: self._documented(o, r, k)
        for method in ("GET", "POST", "PUT", "DELETE"):
            path = _LEASES if method == "POST" else f"{_LEASES}/{{lease_id}}"
            self._kinds[f"{method} {path}"] = lambda m=method: self._lease(m)
        self._kinds[f"GET {_LEASES}"] = lambda: Request(f"GET {_LEASES}", "GET", _LEASES)
        self._kinds["elsewhere"] = self._elsewhere

    @property
    def kinds(self) -> list[str]:
        """All kinds of requests."""
        return list(self._kinds)

    def of(self, kind: str) -> Request:
        """A request of a kind."""
        return self._kinds[kind]()

    def requests(self) -> Iterator[Request]:
        """Requests of all kinds. What is booked is chosen more often than what is only read."""
        weights = [self._weight(kind) for kind in self._kinds]
        while True:
            (kind,) = self._choice.choices(list(self._kinds), weights)
            yield self.of(kind)

    @staticmethod
    def _weight(kind: str) -> float:
        root = 1 if "/warre/" in kind else 3
        books = any(word in kind for word in ("reservations", "waits", "series", "leases"))
        return root * (6 if books and not kind.startswith("GET") else 1)

    def _documented(self, operation: bounds.Operation, root: str, kind: str) -> Request:
        path = root + operation.path
        for name in ("flavor_id", "reservation_id", "wait_id", "series_id"):
            path = path.replace(f"{{{name}}}", self._id(operation, name))
        for name in ("flavorproject_id", "window_id", "share_id", "calendar_id"):
            path = path.replace(f"{{{name}}}", "1")
        query = self._filled(operation.query, frozenset())
        if query:
            path = f"{path}?{urllib.parse.urlencode(query, errors='replace')}"
        body: Any = None
        if operation.body:
            body = self._filled(operation.body, operation.required)
            if self._choice.random() < 0.02:
                body = self._choice.choice([b"{", b"\xff\xfe", b"[1, 2]", b"[" * 90_000, b"null"])
        return Request(kind, operation.method, path, body)

    def _id(self, operation: bounds.Operation, name: str) -> str:
        if name == "flavor_id":
            return self._choice.choice(self._flavors)
        if self._choice.random() < 0.05:
            return self._choice.choice(["0", "x" * 300, "%00", "%2e%2e", "%ff", "None"])
        return self._known.any(operation.path.split("/")[1], self._choice)

    def _filled(
        self, schemas: dict[str, bounds.Schema] | Any, required: frozenset[str]
    ) -> dict[str, Any]:
        """Values for the required fields and some others, of which one may be odd."""
        choice = self._choice
        given = [name for name in schemas if name in required or choice.random() < _GIVEN]
        times = self._times()
        filled = {name: self._usual(name, schemas[name], times) for name in given}
        if given and choice.random() < _ODD:
            odd = choice.choice(given)
            filled[odd] = choice.choice(bounds.values(schemas[odd]))
            if odd not in ("instance_count", "count") and choice.random() < 0.02:
                filled["no_such_field"] = 1
        return filled

    def _times(self) -> dict[str, str]:
        """A start and an end, under all names that fields with times have."""
        start = self._now() + self._choice.randint(1, 300) * _HOUR
        end = start + self._choice.randint(1, 3) * _HOUR
        first, last = (f"{moment:%Y-%m-%dT%H:%M}Z" for moment in (start, end))
        later = f"{end + 48 * _HOUR:%Y-%m-%dT%H:%M}Z"
        return {"start": first, "from": first, "end": last, "to": later, "expires_at": last}

    def _usual(self, name: str, schema: bounds.Schema, times: dict[str, str]) -> Any:
        choice = self._choice
        local = "allOf" in schema and name in ("start", "until")
        if name in times:
            return times[name].removesuffix("Z") if local else times[name]
        if name in ("flavor_id", "flavor"):
            return choice.choice(self._flavors)
        usual: dict[str, Any] = {
            "instance_count": choice.randint(1, 3),
            "count": choice.randint(1, 3),
            "hours": choice.randint(1, 3),
            "more": choice.randint(1, 3),
            "until": times["end"].removesuffix("Z"),
            "rrule": choice.choice(["FREQ=DAILY;COUNT=3", "FREQ=WEEKLY;COUNT=60", "FREQ=DAILY"]),
            "timezone": "Europe/Berlin",
            "contact": "alpha@example.org",
            "movable_hours": choice.randint(0, 24),
            "limit": choice.randint(1, 100),
            "page": choice.randint(1, 3),
            "project_id": self._person.project_id,
            "user_id": self._person.user_id,
            "all_projects": "false",
        }
        if name in usual:
            return usual[name]
        options = schema.get("enum") or schema.get("examples")
        if options:
            return choice.choice(list(options))
        return choice.choice([True, False]) if schema.get("type") == "boolean" else f"a {name}"

    # Blazar's own leases.

    def _lease(self, method: str) -> Request:
        if method == "POST":
            return Request(f"POST {_LEASES}", method, _LEASES, self._new_lease())
        kind, path = f"{method} {_LEASES}/{{lease_id}}", self._known.any("leases", self._choice)
        body = self._lease_change() if method == "PUT" else None
        return Request(kind, method, f"{_LEASES}/{path}", body)

    def _new_lease(self) -> dict[str, Any]:
        choice, times = self._choice, self._times()
        body = {
            "name": f"campaign-{uuid.UUID(int=choice.getrandbits(128))}",
            "start_date": times["start"].replace("T", " ").removesuffix("Z"),
            "end_date": times["end"].replace("T", " ").removesuffix("Z"),
            "reservations": [self._reservation() for _ in range(choice.choice([1, 1, 1, 2]))],
            "events": [],
        }
        return self._made_odd(body, {"name": _TEXT, "start_date": _TIME, "end_date": _TIME})

    def _reservation(self) -> dict[str, Any]:
        kind = self._choice.choice(list(_TYPES))
        fields = _TYPES[kind]
        reservation = {
            "resource_type": kind,
            **{name: usual for name, (usual, _) in fields.items()},
        }
        if kind.startswith("flavor"):
            reservation["flavor_id"] = self._choice.choice(self._flavors)
        return self._made_odd(reservation, {name: schema for name, (_, schema) in fields.items()})

    def _lease_change(self) -> dict[str, Any]:
        times = self._times()
        body = {"end_date": times["end"].replace("T", " ").removesuffix("Z")}
        if self._choice.random() < 0.3:
            body["name"] = "another name"
        return self._made_odd(body, {"name": _TEXT, "end_date": _TIME, "start_date": _TIME})

    def _made_odd(self, body: dict[str, Any], schemas: dict[str, bounds.Schema]) -> dict[str, Any]:
        if self._choice.random() < _ODD / 2:
            odd = self._choice.choice(list(schemas))
            body[odd] = self._choice.choice(bounds.values(schemas[odd]))
        return body

    def _elsewhere(self) -> Request:
        method = self._choice.choice(["GET", "POST", "PUT", "PATCH", "DELETE"])
        return Request("elsewhere", method, self._choice.choice(_ELSEWHERE))
