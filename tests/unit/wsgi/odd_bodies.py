"""Bodies of requests to any path: valid ones for the path, changed ones, and other bytes."""

import copy
import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.unit.api import things
from tests.unit.wsgi import hostile, sending

#: Who owns an id, and the id, by the names of the parameters of paths.
Known = Mapping[str, Sequence[tuple[str, str]]]

_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 1.5, 2**31, 2**63, 2**64, 10**400, 1e308, "", "x", " x", "1"),
    *("x" * 65, "x" * 300, "x" * 5000, "\x00", "\n", "\U0001f600", "\ud800", "None", "é"),
    *("..", "a/b", "project-beta"),
    *("2100-01-03 09:00", "2100-01-03T09:00:00+00:00", "9999-12-31T23:59:59-12:00", "now", "nan"),
    *("0001-01-01T00:00:00+14:00", "2100-02-30", '["==", "$vcpus", "16"]', "[", "{}"),
    *([], {}, [1], [[]], {"x": 1}, {"": None}, ["x"] * 1001, [None], [{}], {"id": "x"}),
)  # fmt: skip
_KEYS = (
    *("name", "id", "start", "end", "project_id", "user_id", "flavor_id", "note", "status", "x"),
    *("contact", "timezone", "webhook"),
    *("", "__class__", "self", "values", "amount", "instance_count", "slots", "flavor_ids"),
    *("reservations", "events", "trust_id", "extra_specs", "x" * 300, "\x00", "\U0001f600"),
)
#: Bodies that aren't JSON, or on which parsers fail, with their Content-Type. None: the usual one.
_RAW: tuple[tuple[bytes, str | None], ...] = (
    *((raw, None) for raw in (b"", b" ", b"{}", b"[]", b"null", b"1", b'"x"', b"{", b"\xff", b"x")),
    *((raw, None) for raw in (b"[" * 100_000, b"[" * 500 + b"]" * 500, b'{"a":' * 2000, b"\x00")),
    (b'{"name": NaN}', None),
    (b'{"name": "a", "name": "b"}', None),
    (b'{"name": ' + b"9" * 5000 + b"}", None),
    (b'\xef\xbb\xbf{"name": "x"}', None),
    ('{"name": "x"}'.encode("utf-16"), None),
    (b'{"name": "' + b"x" * 140_000 + b'"}', None),
    (b"name=x&start=1&_method=DELETE", "application/x-www-form-urlencoded"),
    (b"%ff=%ff&&==", "application/x-www-form-urlencoded"),
    (b"x=1&" * 2000, "application/x-www-form-urlencoded"),
    (b"x", "multipart/form-data"),
    (b"", "multipart/form-data"),
    (b"--x\r\n\r\n", "multipart/form-data; boundary=x"),
    (
        b'--x\r\nContent-Disposition: form-data; name="_method"\r\n\r\nDELETE\r\n--x--\r\n',
        "multipart/form-data; boundary=x",
    ),
    (b"<host><name>x</name></host>", "application/xml"),
    (b"<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>", "text/xml"),
    (b'{"name": "x"}', "text/plain"),
    (b'{"name": "x"}', ""),
)


def choose(chance: random.Random, known: Known, name: str, sender: str, oddness: float) -> str:
    """The id of something that exists. With an oddness of 0, it is something of the sender."""
    ids = known[name]
    own = [each for owner, each in ids if sender in (owner, "admin") or owner == "everybody"]
    if not own or chance.random() < oddness:
        own = [each for _, each in ids]
    return chance.choice(own)


def body(
    chance: random.Random, template: str, method: str, known: Known, sender: str, oddness: float
) -> tuple[bytes, str | None]:
    """A body for a request, and its Content-Type; None means the usual one."""
    if chance.random() < oddness / 2:
        return chance.choice(_RAW)
    if method in ("GET", "HEAD", "DELETE") and chance.random() < 0.9:
        return b"", None

    def pick(name: str) -> str:
        return choose(chance, known, name, sender, oddness)

    document = _valid(chance, template, method, pick)
    while chance.random() < min(2 * oddness, 0.6):
        document = _spoiled(chance, document)
    return json.dumps(document).encode(), None


def _valid(
    chance: random.Random, template: str, method: str, pick: Callable[[str], str]
) -> dict[str, Any]:
    """A body that is valid for a path. If the path has none, it is that of another path."""
    creates = method == "POST"
    for noun, (create, change) in _BODIES.items():
        if f"/{noun}" in template:
            return (create if creates else change)(chance, pick)
    create, change = chance.choice(list(_BODIES.values()))
    return (create if creates else change)(chance, pick)


_Make = Callable[[random.Random, Callable[[str], str]], dict[str, Any]]


def _flavor(chance: random.Random, _pick: Any) -> dict[str, Any]:
    more = {
        "description": "d",
        "active": chance.random() < 0.9,
        "properties": '["==", "$gpu_model", "a100"]',
        "is_public": chance.random() < 0.5,
        "extra_specs": chance.choice(({}, {"resources:VGPU": "1"}, {"hw:mem_page_size": "large"})),
        "start": things.at(1),
        "end": things.at(90),
        "category": "c",
        "availability_zone": "az1",
        "ephemeral_gb": 0,
    }
    return {**things.FLAVOR, "name": f"f{chance.randrange(5)}", **_some(chance, more)}


def _flavor_change(chance: random.Random, pick: Any) -> dict[str, Any]:
    fixed = ("vcpu", "memory_mb", "disk_gb", "ephemeral_gb")
    flavor = {k: v for k, v in _flavor(chance, pick).items() if k not in fixed}
    return _some(chance, flavor) or {"slots": chance.randint(1, 9)}


def _access(_chance: random.Random, pick: Any) -> dict[str, Any]:
    return {"flavor_id": pick("flavor_id"), "project_id": pick("project_id")}


def _span(chance: random.Random) -> dict[str, Any]:
    hour = chance.randrange(20)
    day = chance.randint(1, 20)
    return {"start": things.at(day, hour), "end": things.at(day, hour + 1 + chance.randrange(3))}


def _booking(chance: random.Random, pick: Any) -> dict[str, Any]:
    more = {"instance_count": chance.randint(1, 3), "affinity": None, "name": "n", "note": "x"}
    more |= {"contact": "alpha@example.org", "timezone": "Europe/Berlin"}
    return {"flavor_id": pick("flavor_id"), **_span(chance), **_some(chance, more)}


def _booking_change(chance: random.Random, _pick: Any) -> dict[str, Any]:
    if chance.random() < 0.3:
        return {"end": things.at(2, 20)}
    more = {**_span(chance), "instance_count": chance.randint(1, 3), "name": "n", "note": "x"}
    more |= {"contact": "alpha@example.org"}
    return _some(chance, more) or {"name": "m"}


def _window(chance: random.Random, pick: Any) -> dict[str, Any]:
    ids = sorted({pick("flavor_id") for _ in range(chance.randrange(3))})
    return {**_span(chance), "note": "w", "flavor_ids": ids}


def _window_change(chance: random.Random, pick: Any) -> dict[str, Any]:
    return _some(chance, _window(chance, pick)) or {"note": "v"}


def _lease(chance: random.Random, pick: Any) -> dict[str, Any]:
    kind = chance.choice(list(hostile.KINDS))
    day, hour = chance.randint(2, 20), chance.randrange(20)
    dates = {"start_date": f"2100-01-{day:02} {hour:02}:00", "end_date": f"2100-01-{day:02} 23:30"}
    values = dict(hostile.KINDS[kind])
    if kind == "flavor:slot":
        values["flavor_id"] = pick("flavor_id")
    return sending.lease({"resource_type": kind, **values}, **dates)


def _lease_change(chance: random.Random, pick: Any) -> dict[str, Any]:
    more = {
        "name": "l",
        "end_date": "2100-01-03 12:00",
        "start_date": "2100-01-02 12:00",
        "before_end_date": "2100-01-03 10:00",
        "reservations": [{"id": pick("reservation_id"), "amount": chance.randint(1, 3)}],
    }
    return _some(chance, more) or {"name": "k"}


def _host(chance: random.Random, _pick: Any) -> dict[str, Any]:
    return {"name": chance.choice(("host-1", "host-9")), **_some(chance, {"gpu_model": "a100"})}


def _host_change(chance: random.Random, _pick: Any) -> dict[str, Any]:
    return _some(chance, {"rack": "r1", "private": True, "gpu_model": "a100"}) or {"x": None}


def _property(chance: random.Random, _pick: Any) -> dict[str, Any]:
    return {"private": chance.random() < 0.5}


#: Functions that make the body of a creation and that of a change, by a part of the path.
_BODIES: dict[str, tuple[_Make, _Make]] = {
    "flavorprojects": (_access, _access),
    "flavors": (_flavor, _flavor_change),
    "reservations": (_booking, _booking_change),
    "maintenancewindows": (_window, _window_change),
    "leases": (_lease, _lease_change),
    "properties": (_property, _property),
    "os-hosts": (_host, _host_change),
}


def _some(chance: random.Random, values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if chance.random() < 0.35}


def _spoiled(chance: random.Random, document: Any) -> Any:
    """A copy of a document with one mistake."""
    spoiled = copy.deepcopy(document)
    if not isinstance(spoiled, dict) or not spoiled or chance.random() < 0.05:
        return chance.choice(([spoiled], chance.choice(_VALUES), {"x": spoiled}))
    target, key = spoiled, chance.choice(list(spoiled))
    if isinstance(spoiled.get("reservations"), list) and chance.random() < 0.6:
        nested = spoiled["reservations"]
        if nested and isinstance(nested[0], dict):
            target, key = nested[0], chance.choice(hostile.RESERVATION_KEYS)
    match chance.randrange(4):
        case 0:
            target.pop(key, None)
        case 1:
            target[chance.choice(_KEYS)] = chance.choice(_VALUES)
        case _:
            target[key] = chance.choice(_VALUES)
    return spoiled
