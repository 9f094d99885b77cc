"""Requests that nobody should send, each of which has to be refused."""

import dataclasses
import datetime
import uuid
from collections.abc import Callable
from typing import Any

from tests.torture.choices import V1, V2, WARRE, Choice
from tests.torture.ledger import Lease

_HOUR = datetime.timedelta(hours=1)


@dataclasses.dataclass(frozen=True)
class Request:
    """One of them."""

    name: str
    way: str
    method: str
    path: str
    body: Any = None


def _v2(start: datetime.datetime, end: datetime.datetime, flavor: str, **more: Any) -> dict:
    times = {"start": f"{start:%Y-%m-%dT%H:%M}Z", "end": f"{end:%Y-%m-%dT%H:%M}Z"}
    return {"flavor_id": flavor, **times, **more}


def _v1(start: datetime.datetime, end: datetime.datetime, flavor: str, **more: Any) -> dict:
    amount = more.pop("amount", 1)
    slot = {"resource_type": "flavor:slot", "flavor_id": flavor, "amount": amount}
    return {
        "name": f"torture-nonsense-{uuid.uuid4()}",
        "start_date": f"{start:%Y-%m-%d %H:%M}",
        "end_date": f"{end:%Y-%m-%d %H:%M}",
        "reservations": [slot],
        "events": [],
        **more,
    }


_Body = Callable[[datetime.datetime, str], Any]

#: Bookings: by name, the way and the body for the present and a flavor.
_BOOKINGS: dict[str, tuple[str, _Body]] = {
    "count 0": (V2, lambda t, f: _v2(t, t + _HOUR, f, instance_count=0)),
    "count negative": (WARRE, lambda t, f: _v2(t, t + _HOUR, f, instance_count=-3)),
    "count a word": (V2, lambda t, f: _v2(t, t + _HOUR, f, instance_count="many")),
    "count a million": (V2, lambda t, f: _v2(t + _HOUR, t + 2 * _HOUR, f, instance_count=10**6)),
    "end before start": (WARRE, lambda t, f: _v2(t + 2 * _HOUR, t + _HOUR, f)),
    "yesterday": (V2, lambda t, f: _v2(t - 25 * _HOUR, t - 24 * _HOUR, f)),
    "three days": (WARRE, lambda t, f: _v2(t + _HOUR, t + 73 * _HOUR, f)),
    "no such flavor": (V2, lambda t, _: _v2(t + _HOUR, t + 2 * _HOUR, "no-such-flavor")),
    "no flavor": (V2, lambda t, _: {"start": f"{t:%Y-%m-%dT%H:%M}Z"}),
    "a field too many": (V2, lambda t, f: _v2(t + _HOUR, t + 2 * _HOUR, f, shoe_size=44)),
    "no JSON": (V2, lambda *_: b'{"flavor_id": '),
    "a list": (WARRE, lambda *_: [1, 2]),
    "v1 amount a word": (V1, lambda t, f: _v1(t + _HOUR, t + 2 * _HOUR, f, amount="x")),
    "v1 amount 0": (V1, lambda t, f: _v1(t + _HOUR, t + 2 * _HOUR, f, amount=0)),
    "v1 three days": (V1, lambda t, f: _v1(t + _HOUR, t + 73 * _HOUR, f)),
    "v1 yesterday": (V1, lambda t, f: _v1(t - 25 * _HOUR, t - 24 * _HOUR, f)),
    "v1 no such flavor": (V1, lambda t, _: _v1(t + _HOUR, t + 2 * _HOUR, "none-such")),
    "v1 another's project": (V1, lambda t, f: _v1(t + _HOUR, t + 2 * _HOUR, f, project_id="x")),
    "v1 events": (V1, lambda t, f: _v1(t + _HOUR, t + 2 * _HOUR, f, events=[{"event_type": "x"}])),
    "v1 no JSON": (V1, lambda *_: b"\x00\xff"),
}

#: Changes of what there is: by name, the way, method and body.
_CHANGES: dict[str, tuple[str, str, Any]] = {
    "change nothing": (V2, "PATCH", {}),
    "change the flavor": (V2, "PATCH", {"flavor_id": "other"}),
    "start a word": (V2, "PATCH", {"start": "soon"}),
    "warre's start": (WARRE, "PATCH", {"start": "2030-01-01T00:00Z"}),
    "end long ago": (V2, "PATCH", {"end": "2001-01-01T00:00Z"}),
    "v1 status": (V1, "PUT", {"status": "ACTIVE"}),
    "v1 trust": (V1, "PUT", {"trust_id": "mine"}),
    "v1 end a number": (V1, "PUT", {"end_date": 7}),
    "v1 end long ago": (V1, "PUT", {"end_date": "2001-01-01 00:00"}),
}

#: What concerns nothing that there is.
_ELSEWHERE = (
    Request("delete nothing", V2, "DELETE", f"/v2/reservations/{uuid.UUID(int=7)}/"),
    Request("delete no lease", V1, "DELETE", f"/v1/leases/{uuid.UUID(int=7)}"),
    Request("page minus one", V2, "GET", "/v2/reservations/?page=-1"),
    Request("free slots of nothing", WARRE, "GET", "/v2/warre/v1/flavors/none/freeslots/"),
    Request("no such path", V2, "GET", "/v2/reservation_s/"),
)

_PATHS = {V2: "/v2/reservations/", WARRE: "/v2/warre/v1/reservations/", V1: "/v1/leases"}
NAMES = (*_BOOKINGS, *_CHANGES, *(each.name for each in _ELSEWHERE))


def request(choice: Choice, flavor: str, lease: Lease | None, now: datetime.datetime) -> Request:
    """The request that a choice says; one that needs a lease is another one where there is none."""
    name = NAMES[choice.variant % len(NAMES)]
    if name in _CHANGES and lease is None:
        name = "count 0"
    if name in _BOOKINGS:
        way, body = _BOOKINGS[name]
        return Request(name, way, "POST", _PATHS[way], body(now, flavor))
    if name in _CHANGES and lease is not None:
        way, method, body = _CHANGES[name]
        path = f"{_PATHS[V2]}{sorted(lease.flavors)[0]}/" if way == V2 else ""
        path = (
            path
            or {
                WARRE: f"{_PATHS[WARRE]}{sorted(lease.flavors)[0]}/",
                V1: f"{_PATHS[V1]}/{lease.id}",
            }[way]
        )
        return Request(name, way, method, path, body)
    return next(each for each in _ELSEWHERE if each.name == name)
