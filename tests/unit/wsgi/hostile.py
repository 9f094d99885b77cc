"""Strategies of hypothesis for bodies of leases that are good, bad or hostile."""

import dataclasses
import datetime
import json
from typing import Any

from hypothesis import strategies as st

Document = dict[str, Any]

KINDS: dict[str, Document] = {
    "flavor:slot": {"flavor_id": "gpu.small", "amount": 1},
    "virtual:instance": {
        "amount": 1,
        "vcpus": 1,
        "memory_mb": 512,
        "disk_gb": 5,
        "affinity": None,
        "resource_properties": "",
    },
    "flavor:instance": {"flavor_id": "plain", "amount": 1, "affinity": None},
    "physical:host": {"min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": ""},
}
_EVENT = {"event_type": "start_lease", "time": "2100-01-01 12:00", "status": "UNDONE"}

TEXTS = st.one_of(
    st.sampled_from(["", "now", "x", "n" * 81, "n" * 300, "\x00", "\U0001f600", "None", "True"]),
    st.sampled_from(
        ["2100-01-01 12:00", "2100-01-02T09:00", "9999-12-31 23:59", "0001-01-01 00:00"]
    ),
    st.sampled_from(
        ['["==", "$vcpus", "16"]', '["~", "$x", "1"]', '["and", []]', "[", "{}", "[1]"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, 2, -1, 3, 100, 2**31, 2**64, 1.5, 1.0, 1e308]),
    TEXTS,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["id", "time", "status", "x", ""]), inner, max_size=3),
    ),
    max_leaves=5,
)
EVENTS = st.sampled_from(
    [
        *([], [], [], [], [1], [{}], [_EVENT], None),
        [{**_EVENT, "event_type": "end_lease", "status": "DONE"}],
        [{**_EVENT, "event_type": "end_lease"}],
        [{**_EVENT, "event_type": "nonsense"}],
        [{**_EVENT, "lease_id": "x"}],
    ]
)
LEASE_KEYS = [
    *("name", "start_date", "end_date", "before_end_date", "reservations"),
    *(
        "events",
        "events",
        "events",
        "id",
        "user_id",
        "project_id",
        "trust_id",
        "status",
        "degraded",
        "created_at",
        "lease_id",
    ),
    *("__class__", "_sa_instance_state", "metadata", "prolong_for", "x"),
]
RESERVATION_KEYS = [
    *("id", "lease_id", "status", "resource_id", "resource_type", "start_date", "end_date"),
    *("project_id", "amount", "flavor_id", "affinity", "min", "max", "vcpus", "memory_mb"),
    *("disk_gb", "resource_properties", "hypervisor_properties", "before_end", "count_range"),
    *("network_id", "required_floatingips", "missing_resources", "x"),
]


#: Bodies that are bad as a whole.
RAW = st.one_of(
    st.sampled_from([b"", b"{}", b"[]", b"null", b'{"name": NaN}', b"\xff", b'{"a":' * 2000]),
    st.binary(max_size=40),
    VALUES.map(lambda value: json.dumps(value).encode()),
)


@dataclasses.dataclass(frozen=True)
class Spoiling:
    """One change of a body: of a key of the lease, or of one of its reservations."""

    reservation: int | None
    key: str
    value: Any
    absent: bool


@dataclasses.dataclass(frozen=True)
class Plan:
    """A plan for a request, which is made before it is known which leases exist."""

    changes: bool
    lease: int
    #: The minutes from now to the start, and from the start to the end.
    start: int
    length: int
    kinds: list[str]
    keys: list[str]
    reservation_keys: list[str]
    #: Whether a change contains the empty list of events that clients send to create a lease.
    events: bool
    spoilings: list[Spoiling]
    raw: bytes | None


_IN_LEASE = st.tuples(st.none(), st.sampled_from(LEASE_KEYS))
_IN_RESERVATION = st.tuples(st.integers(0, 1), st.sampled_from(RESERVATION_KEYS))
_SPOILINGS = st.one_of(_IN_LEASE, _IN_RESERVATION).flatmap(
    lambda target: st.builds(
        Spoiling,
        reservation=st.just(target[0]),
        key=st.just(target[1]),
        value=EVENTS if target[1] == "events" else VALUES,
        absent=st.integers(0, 9).map(lambda chance: chance == 0),
    )
)
#: The keys that a change of a lease contains. Most changes contain the end.
_CHANGES = ["end_date", "start_date", "name", "before_end_date", "reservations"]
_SOME = st.sampled_from(["amount", "resource_type", "affinity", "flavor_id", "vcpus", "max"])

PLANS = st.builds(
    Plan,
    changes=st.booleans(),
    lease=st.integers(0, 99),
    start=st.integers(1, 60),
    length=st.integers(2, 180),
    kinds=st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=2),
    keys=st.one_of(
        st.just(["end_date"]),
        st.lists(st.sampled_from(_CHANGES), min_size=1, max_size=3, unique=True),
    ),
    reservation_keys=st.lists(_SOME, max_size=3, unique=True),
    events=st.integers(0, 5).map(lambda chance: chance == 0),
    spoilings=st.one_of(st.just([]), st.lists(_SPOILINGS, min_size=1, max_size=3)),
    raw=st.integers(0, 14).flatmap(lambda chance: RAW if chance == 0 else st.none()),
)


def text(time: datetime.datetime) -> str:
    """A time in the format that Blazar reads."""
    return time.strftime("%Y-%m-%d %H:%M")


def creation(plan: Plan, now: datetime.datetime, name: str) -> Document | bytes:
    """The body for a plan that creates a lease."""
    reservations = [{"resource_type": kind, **KINDS[kind]} for kind in plan.kinds]
    body = {"name": name, **_dates(plan, now), "events": [], "before_end_date": None}
    return _spoiled(plan, {**body, "reservations": reservations})


def change(plan: Plan, now: datetime.datetime, lease: Document) -> Document | bytes:
    """The body for a plan that changes a lease, given the lease as Blazar shows it."""
    possible: Document = {
        "name": lease["name"] + "!",
        **_dates(plan, now),
        "before_end_date": text(now + datetime.timedelta(minutes=plan.length)),
        "reservations": [
            {"id": each["id"], **_some(plan, each["resource_type"])}
            for each in lease["reservations"]
        ],
    }
    events = {"events": []} if plan.events else {}
    return _spoiled(plan, {**{key: possible[key] for key in plan.keys}, **events})


def _dates(plan: Plan, now: datetime.datetime) -> Document:
    start = now + datetime.timedelta(minutes=plan.start)
    end = start + datetime.timedelta(minutes=plan.length)
    return {"start_date": text(start), "end_date": text(end)}


def _some(plan: Plan, kind: str) -> Document:
    """Some keys of a reservation of a resource type, and perhaps the type itself."""
    known = {**KINDS[kind], "resource_type": kind}
    return {key: known[key] for key in plan.reservation_keys if key in known}


def _spoiled(plan: Plan, body: Document) -> Document | bytes:
    if plan.raw is not None:
        return plan.raw
    for spoiling in plan.spoilings:
        target: Any = body
        if spoiling.reservation is not None:
            reservations = body.get("reservations")
            if not isinstance(reservations, list) or not reservations:
                continue
            target = reservations[spoiling.reservation % len(reservations)]
        if isinstance(target, dict):
            if spoiling.absent:
                target.pop(spoiling.key, None)
            else:
                target[spoiling.key] = spoiling.value
    return body
