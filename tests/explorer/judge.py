"""Judges what a run has left, from the tables and the cloud alone.

It shares no code with the package, because it checks the package.
"""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from tests.explorer import places, telling
from tests.explorer.operations import POSTPONED, SNAPSHOTS, SPAN, Answer, Operation, Scene
from tests.explorer.telling import Kept, Note
from tests.explorer.world import World
from tests.functional.db import oversold

_SLOTS = "flavor:slot"
#: The slots of the flavor of the scene's lease in the state with waits.
_SLOT_NUMBER = 3
_LEASES = "SELECT id, name, project_id, start_date, end_date, status FROM leases"
_RESERVATIONS = (
    "SELECT r.id, r.lease_id, r.status, r.resource_type, w.instance_count, w.claim_end, w.name, "
    "w.series_id "
    "FROM reservations r LEFT JOIN warre_reservations w ON w.reservation_id = r.id"
)
_EVENTS = "SELECT lease_id, event_type, status FROM events"
#: Managers make the backings of reservations this long before their start.
_AHEAD = datetime.timedelta(minutes=10)
#: For so long after a request, a service may still carry it out.
_LATE = datetime.timedelta(minutes=10)
#: All spans of the states that are explored are whole hours.
_HOUR = datetime.timedelta(hours=1)
_HOURS = """
SELECT l.project_id, l.start_date, l.end_date, w.instance_count, w.claim_start, w.claim_end
FROM warre_reservations w
JOIN reservations r ON r.id = w.reservation_id
JOIN leases l ON l.id = r.lease_id
WHERE l.status != 'TERMINATED' AND r.status != 'deleted'
"""
_HOSTS = (
    "SELECT a.reservation_id, h.hypervisor_hostname FROM computehost_allocations a "
    "JOIN computehosts h ON h.id = a.compute_host_id"
)
_IN_WINDOWS = """
SELECT r.id
FROM warre_windows w
JOIN warre_window_hosts h ON h.window_id = w.id
JOIN computehost_allocations a ON a.compute_host_id = h.host_id
JOIN reservations r ON r.id = a.reservation_id
JOIN leases l ON l.id = r.lease_id
WHERE l.start_date < w.end_date AND l.end_date > w.start_date
"""
_SERIES = (
    "SELECT s.id, s.status, (SELECT COUNT(*) FROM warre_series_occurrences o "
    "WHERE o.series_id = s.id) AS planned FROM warre_series s"
)
_OUTBOX = (
    "SELECT d.id, d.channel, l.subject, l.kind, l.content "
    "FROM warre_deliveries d JOIN warre_log l ON l.id = d.entry_id "
    "WHERE l.kind != 'lease' ORDER BY d.id"
)
_SNAPSHOTS = """
SELECT n.server_id, n.status, n.next_at, l.end_date, r.status AS reservation_status
FROM warre_snapshots n
LEFT JOIN reservations r ON r.id = n.reservation_id
LEFT JOIN leases l ON l.id = r.lease_id
"""
#: Answers that tell of a failure, and not of a refusal that has a reason.
_FAILURES = ("failed", "service_refused", "service_unavailable")
_RESTING = {
    "PENDING": ("UNDONE", "UNDONE", "pending"),
    "ACTIVE": ("DONE", "UNDONE", "active"),
    "TERMINATED": ("DONE", "DONE", "deleted"),
}

Row = Mapping[str, Any]


class Sight:
    """What the tables say at one moment."""

    def __init__(self, world: World) -> None:
        with world.engine.connect() as connection:

            def read(text: str) -> list[Row]:
                return [dict(row) for row in connection.execute(sa.text(text)).mappings()]

            self.leases = {str(row["id"]): row for row in read(_LEASES)}
            self.reservations = read(_RESERVATIONS)
            self.events = read(_EVENTS)
            self.hosts: dict[str, set[str]] = {}
            for row in read(_HOSTS):
                self.hosts.setdefault(row["reservation_id"], set()).add(row["hypervisor_hostname"])
            self.series = read(_SERIES)
            self.executions = read("SELECT lease_id, action, manager_id FROM warre_executions")
            self.waits = read("SELECT id, number, state FROM warre_waits ORDER BY number")
            self.outbox = [Note.of_row(row) for row in read(_OUTBOX)]
            self.snapshots = read(_SNAPSHOTS)
        self.world = world
        self.now = world.now

    def all_of_lease(self, lease_id: str) -> list[Row]:
        """A lease's reservations, those of this package first."""
        mine = [r for r in self.reservations if r["lease_id"] == lease_id]
        return sorted(mine, key=_is_slots, reverse=True)

    def of_lease(self, lease_id: str) -> Row | None:
        """A lease's only reservation, or its first one."""
        return next(iter(self.all_of_lease(lease_id)), None)


def _moment(value: Any) -> datetime.datetime:
    """A time as a datetime: SQLite returns text where other databases return datetimes."""
    return datetime.datetime.fromisoformat(str(value)[:19])


def oversells(world: World) -> list[str]:
    """What is oversold at any time, and which quotas are exceeded."""
    sold = [
        *oversold.find(world.engine, {places.CLASS}),
        *places.oversold(world.engine, world.devices),
        *_exceeded(world),
    ]
    return [f"oversold: {text}" for text in sold]


def _exceeded(world: World) -> list[str]:
    """The projects that hold more instance-hours than their limit in Keystone."""
    with world.engine.connect() as connection:
        rows = connection.execute(sa.text(_HOURS)).mappings().all()
    held: dict[str, int] = {}
    for row in rows:
        spans = [(row["start_date"], row["end_date"])]
        if row["claim_start"] is not None:
            spans.append((row["claim_start"], row["claim_end"]))
        hours = max(_moment(end) - _moment(start) for start, end in spans) // _HOUR
        held[row["project_id"]] = held.get(row["project_id"], 0) + hours * row["instance_count"]
    limits = {
        project: limit
        for (project, name), limit in world.cloud.keystone.limits.items()
        if name == "hours"
    }
    return [
        f"{hours} hours of project {project}, whose limit is {limits[project]}"
        for project, hours in held.items()
        if hours > limits.get(project, hours)
    ]


def at_rest(sight: Sight) -> list[str]:
    """What isn't at rest, and what Nova and Placement hold too much or too little."""
    return [*_unrest(sight), *_halves(sight), *_backings(sight), *_in_windows(sight)]


def _halves(sight: Sight) -> list[str]:
    """The leases of which only some reservations hold hosts."""
    return [
        f"lease {lease_id} is half booked"
        for lease_id in sight.leases
        if len({bool(sight.hosts.get(r["id"])) for r in sight.all_of_lease(lease_id)}) > 1
    ]


def _in_windows(sight: Sight) -> list[str]:
    """The reservations that are on a host at the time of its window, and weren't listed as left."""
    if sight.world.window_left is None:
        return []
    with sight.world.engine.connect() as connection:
        rows = connection.execute(sa.text(_IN_WINDOWS)).all()
    unlisted = {str(row[0]) for row in rows} - sight.world.window_left
    return [f"reservation {each} is on a host during its window" for each in sorted(unlisted)]


def _unrest(sight: Sight) -> list[str]:
    found = [f"lease {e['lease_id']} waits for its {e['action']}" for e in sight.executions]
    events: dict[str, dict[str, str]] = {}
    for event in sight.events:
        events.setdefault(event["lease_id"], {})[event["event_type"]] = event["status"]
    for lease_id, lease in sight.leases.items():
        reservation = sight.of_lease(lease_id)
        if reservation and reservation["resource_type"] != _SLOTS:
            continue  # Blazar's own executor starts and ends it.
        mine = events.get(lease_id, {})
        statuses = {each["status"] for each in sight.all_of_lease(lease_id)}
        seen = (
            mine.get("start_lease"),
            mine.get("end_lease"),
            " and ".join(sorted(statuses)) or None,
        )
        if seen != _RESTING.get(lease["status"]):
            found.append(f"lease {lease_id} stays {lease['status']} {seen}")
        found += _times(lease, sight.now)
    return found


def _times(lease: Row, now: datetime.datetime) -> list[str]:
    start, end = _moment(lease["start_date"]), _moment(lease["end_date"])
    is_wrong = {
        "PENDING": now > start,
        "ACTIVE": not start <= now <= end,
        "TERMINATED": now < end,
    }.get(lease["status"], False)
    return [f"lease {lease['id']} is {lease['status']} from {start} to {end}"] if is_wrong else []


def _backings(sight: Sight) -> list[str]:
    nova, placement = sight.world.cloud.nova, sight.world.cloud.placement
    live = {
        str(r["id"]): r
        for r in sight.reservations
        if r["status"] in ("pending", "active")
        and sight.leases[r["lease_id"]]["status"] in ("PENDING", "ACTIVE")
    }
    there = {
        "Nova flavor": {_dashed(f) for f in nova.flavors},
        "aggregate": {str(a["name"]) for a in nova.aggregates.values()} - {"freepool"},
        "resource class": {_dashed(c.rpartition("_")[0] and _id_of(c)) for c in placement.classes},
    }
    soon = {
        r
        for r, row in live.items()
        if _moment(sight.leases[row["lease_id"]]["start_date"]) <= sight.now + _AHEAD
    }
    found = []
    for what, ids in there.items():
        found += [f"reservation {r} has no {what}" for r in sorted(soon - ids)]
        found += [f"a {what} is left of {r}" for r in sorted(ids - set(live))]
    active = {r for r, row in live.items() if row["status"] == "active"}
    for server in nova.servers.values():
        if _dashed(server["flavor"]) not in active:
            found.append(f"a server is left of {server['flavor']}")
    offered: dict[str, set[str]] = {}
    for host, classes in placement.offered().items():
        for cls in classes:
            offered.setdefault(_dashed(_id_of(cls)), set()).add(host.removeprefix("blazar_"))
    for aggregate in nova.aggregates.values():
        name = str(aggregate["name"])
        if name == "freepool":
            continue
        wanted = sight.hosts.get(name, set()) if name in active else set()
        if set(aggregate["hosts"]) != wanted:
            found.append(f"{name} is on {wanted}, and its aggregate is on {aggregate['hosts']}")
        if offered.get(name, set()) != wanted:
            found.append(f"{name} is on {wanted}, and is offered on {offered.get(name)}")
    return found


def _id_of(cls: str) -> str:
    return cls.removeprefix("CUSTOM_RESERVATION_").replace("_", "").lower()


def _dashed(name: str) -> str:
    """A reservation's id in the form of Blazar's tables."""
    plain = name.replace("-", "").lower()
    return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))


def answers(
    sight: Sight,
    scene: Scene,
    given: Sequence[tuple[Operation, Answer | None]],
    known: set[str],
) -> list[str]:
    """Which answers weren't true.

    :param known: the leases that aren't of these operations' making.
    """
    found = []
    lease = sight.leases.get(scene.lease_id)
    removed = [answer for operation, answer in given if operation.removes]
    ends = any(operation.name == "purge" for operation, _ in given)
    if lease is None and not ends and not _may(removed):
        found.append("the lease is gone, and nobody was told so")
    if lease is not None and any(a is not None and a.kind == "done" for a in removed):
        found.append(f"the lease was answered as deleted, and is {lease['status']}")
    if lease is not None:
        found += _values(sight, scene, lease, given)
    if lease is not None and not _may(removed):
        found += _ended_too_early(sight, lease, given)
    of_series = {r["lease_id"] for r in sight.reservations if r["series_id"]}
    others = known | of_series | {row["id"] for row in sight.waits}
    made = [i for i in sight.leases if i not in others]
    told = [a for o, a in given if o.books and a is not None]
    found += _bookings(sight, made, told, sum(o.books for o, _ in given))
    repeated = {a.lease_name for o, a in given if o.name == "repeat" and a and a.lease_name}
    if len(repeated) > 1:
        found.append("one request, which was sent twice, has made two bookings")
    return found


def series(
    sight: Sight, scene: Scene, given: Sequence[tuple[Operation, Answer | None]]
) -> list[str]:
    """Which series are half booked, half ended, or not as was answered. All are all or none."""
    rows = {str(row["id"]): row for row in sight.series}
    held: dict[str, int] = dict.fromkeys(rows, 0)
    found = []
    for reservation in sight.reservations:
        if reservation["series_id"]:
            series_id = str(reservation["series_id"])
            held[series_id] = held.get(series_id, 0) + 1
            if series_id not in rows:
                found.append(f"a reservation is left of series {series_id}, which is gone")
    for series_id, row in rows.items():
        expected = {"booked": row["planned"], "ended": 0}.get(row["status"])
        if expected != held[series_id]:
            found.append(f"series {series_id} is {row} and has {held[series_id]} reservations")
    made = [a for o, a in given if o.makes_series]
    done = {a.lease_name for a in made if a is not None and a.kind == "done"}
    found += [f"series {i} was answered as booked, and isn't there" for i in done - rows.keys()]
    new = rows.keys() - {scene.series_id}
    if len(new) > sum(a is None or a.kind != "refused" for o, a in given if o.name == "series"):
        found.append(f"{len(new)} series are there, which were refused")
    ends = [a for o, a in given if o.name == "end_series"]
    is_ended = any(a is not None and a.kind == "done" for a in ends)
    if is_ended and rows[scene.series_id]["status"] != "ended":
        found.append("the series was answered as ended, and isn't")
    return found


def waits(
    sight: Sight, given: Sequence[tuple[Operation, Answer | None]], *, has_fault: bool
) -> list[str]:
    """Which waits were lost, booked wrongly, or overtaken.

    Each of them is for one slot of the flavor of the scene's lease, at the lease's time.
    """
    found = []
    for row in sight.waits:
        is_there = row["id"] in sight.leases
        if is_there != (row["state"] == "BOOKED"):
            found.append(f"wait {row['number']} is {row['state']}, its lease is there: {is_there}")
        if row["state"] not in ("BOOKED", "WAITING", "CANCELED"):
            found.append(f"wait {row['number']} is {row['state']}")
    canceled = [answer for operation, answer in given if operation.name == "cancel"]
    if sight.waits and any(a is not None and a.kind == "done" for a in canceled):
        if sight.waits[0]["state"] != "CANCELED":
            found.append(f"a canceled wait is {sight.waits[0]['state']}")
    elif any(row["state"] == "CANCELED" for row in sight.waits) and all(
        a is not None and a.kind == "refused" and not a.detail.startswith("failed")
        for a in canceled
    ):
        found.append("a wait is canceled, and nobody was told so")
    states = [row["state"] for row in sight.waits if row["state"] != "CANCELED"]
    if not has_fault and "BOOKED" in states[states.count("BOOKED") :]:
        found.append(f"a wait was overtaken: {states}")
    if "WAITING" in states and _held(sight) < _SLOT_NUMBER:
        found.append(f"a slot is free, and somebody waits for it: {states}")
    return found


def _held(sight: Sight) -> int:
    """How many slots are held at the time of the scene's lease."""
    return sum(
        row["instance_count"] or 0
        for row in sight.reservations
        if sight.hosts.get(row["id"])
        and _moment(sight.leases[row["lease_id"]]["start_date"]) < SPAN.end
        and _moment(sight.leases[row["lease_id"]]["end_date"]) > SPAN.start
    )


def tellings(sight: Sight, scene: Scene, known: set[str], *, may_repeat: bool) -> list[str]:
    """Which changes weren't told, were told twice, in another order, or haven't happened.

    :param known: the leases that these operations haven't made. Except for the scene's own leases,
        nobody was told that they were made. So notices about them aren't judged.
    """
    there, strangers = {}, set()
    for reservation in filter(_is_slots, sight.reservations):
        lease = sight.leases[reservation["lease_id"]]
        own = (scene.lease_id, scene.other_lease_id)
        is_of_scene = reservation["lease_id"] in own or reservation["series_id"]
        if reservation["lease_id"] in known and not is_of_scene:
            strangers.add(reservation["id"])
            continue
        fields = {
            "start": _written(lease["start_date"]),
            "end": _written(lease["end_date"]),
            "instance_count": reservation["instance_count"],
            "name": reservation["name"],
        }
        is_imported = bool(scene.warre_url) and reservation["id"] == scene.reservation_id
        there[reservation["id"]] = Kept(lease["status"], fields, is_imported)
    told = [*sight.world.recorder.notes, *sight.outbox]
    notes = [note for note in told if note.subject not in strangers]
    return telling.wrong(notes, there, may_repeat=may_repeat)


def _written(value: Any) -> str:
    """A time as notices have it."""
    return f"{_moment(value).isoformat()}+00:00"


def snapshots(sight: Sight) -> list[str]:
    """Which snapshots are unfinished, and which servers have several images."""
    found = [
        f"the snapshot of server {row['server_id']} stays {row['status']}"
        for row in sight.snapshots
        if row["status"] not in ("saved", "failed") and not _has_time(row, sight.now)
    ]
    images = [image["instance_uuid"] for image in sight.world.cloud.glance.images.values()]
    found += [f"server {i} has several images" for i in sorted(set(images)) if images.count(i) > 1]
    saved = {row["server_id"] for row in sight.snapshots if row["status"] == "saved"}
    return found + [f"the saved image of server {i} isn't there" for i in saved - set(images)]


def _has_time(snapshot: Row, now: datetime.datetime) -> bool:
    """Whether a snapshot may wait.

    Either it waits for a later end, because its reservation was extended. Or its reservation is
    over, and Nova may still carry out the last request.
    """
    if snapshot["status"] != "waiting":
        return False
    if snapshot["reservation_status"] != "active":
        return snapshot["next_at"] is not None and now <= _moment(snapshot["next_at"]) + _LATE
    return bool(now < _moment(snapshot["end_date"]) - SNAPSHOTS.ahead)


def failures(given: Sequence[tuple[Operation, Answer | None]]) -> list[str]:
    """Which operations have failed, although no service and no database has."""
    return [
        f"{operation.name} has failed: {answer}"
        for operation, answer in given
        if answer is not None and answer.kind == "refused" and answer.detail.startswith(_FAILURES)
    ]


def _may(told: Sequence[Answer | None]) -> bool:
    return any(answer is None or answer.kind != "refused" for answer in told)


def _values(
    sight: Sight, scene: Scene, lease: Row, given: Sequence[tuple[Operation, Answer | None]]
) -> list[str]:
    reservation = sight.of_lease(scene.lease_id) or {}
    present = {
        "start": _moment(lease["start_date"]),
        "end": _moment(lease["end_date"]),
        "count": reservation.get("instance_count"),
        "name": reservation.get("name"),
    }
    old = {"start": SPAN.start, "end": SPAN.end, "count": 2, "name": None}
    found = []
    for field, value in present.items():
        writers = [(o.writes[field], a) for o, a in given if field in o.writes]
        possible = {v for v, a in writers if _may([a])}
        is_told = any(a is not None and a.kind == "done" for _, a in writers)
        if not is_told:
            possible.add(old[field])
        possible |= _postponed(sight, lease, field, given)
        if value not in possible and lease["status"] != "TERMINATED" and _is_slots(reservation):
            told = ", ".join(str(a) for _, a in writers) or "nobody changed it"
            found.append(f"the lease's {field} is {value} ({told})")
    return found


def _postponed(
    sight: Sight, lease: Row, field: str, given: Sequence[tuple[Operation, Answer | None]]
) -> set[Any]:
    """What a window that moves the lease in time may write: its length stays the same."""
    if not any(operation.name == "closing" for operation, _ in given):
        return set()
    start, end = _moment(lease["start_date"]), _moment(lease["end_date"])
    lengths = {
        b - a
        for a in _possible(given, "start", SPAN.start)
        for b in _possible(given, "end", SPAN.end)
    }
    if field == "start":
        return {POSTPONED}
    if field == "end" and start == POSTPONED and end - start in lengths:
        return {end}
    return set()


def _possible(
    given: Sequence[tuple[Operation, Answer | None]], field: str, old: datetime.datetime
) -> set[datetime.datetime]:
    return {old, *(o.writes[field] for o, _ in given if field in o.writes)}


def _ended_too_early(
    sight: Sight, lease: Row, given: Sequence[tuple[Operation, Answer | None]]
) -> list[str]:
    """Whether the lease has ended, although a later end was answered as done."""
    writers = [(o.writes["end"], a) for o, a in given if "end" in o.writes and o.is_answered]
    is_told = any(answer is not None and answer.kind == "done" for _, answer in writers)
    if lease["status"] != "TERMINATED" or not is_told:
        return []
    first = min(end for end, answer in writers if _may([answer]))
    if first <= sight.now:
        return []
    return [f"the lease has ended, although its end was answered to be {first}"]


def _is_slots(reservation: Row) -> bool:
    return reservation.get("resource_type") == _SLOTS


def _bookings(sight: Sight, made: list[str], told: list[Answer], asked: int) -> list[str]:
    names = {sight.leases[i]["name"] for i in made}
    found = [
        f"the booking {answer.lease_name} was answered as done, and isn't there"
        for answer in told
        if answer.kind == "done" and answer.lease_name not in names
    ]
    unknown = asked - sum(a.kind in ("done", "refused") for a in told)
    expected = sum(a.kind == "done" for a in told)
    if len(made) > expected + unknown:
        refusals = ", ".join(str(a) for a in told) or "nothing was booked"
        found.append(f"{len(made)} bookings are there ({refusals})")
    return found
