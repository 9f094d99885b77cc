"""The operations that are explored, and the states in which they begin."""

import contextlib
import dataclasses
import datetime
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from blazar import context
from blazar.db import api as db_api
from oslo_utils import uuidutils

from tests.explorer import places
from tests.explorer.faults import Killed
from tests.explorer.world import MOVES_PER_BOOKING, PLAIN, World
from tests.functional.db import warre_site
from tests.functional.db import world as parts
from tests.unit.api import identity
from warre_blazar import texts, warre_import
from warre_blazar.db import session, tables
from warre_blazar.db.booking import reservations
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.labels import NO_LABELS
from warre_blazar.domain.flavors import devices
from warre_blazar.domain.hosts.host_marks import Drain
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.maintenance import Outcome, OverBookings
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.snapshots import BeforeEndRule
from warre_blazar.domain.series.recurrence import Recurrence
from warre_blazar.domain.series.series import BookedSeries, RepeatedBooking, SeriesStatus
from warre_blazar.domain.waits import Wait
from warre_blazar.errors import exceptions
from warre_blazar.openstack import manager
from warre_blazar.services.booking import admission, idempotency, lookup
from warre_blazar.services.booking.through_manager import change
from warre_blazar.services.booking.through_manager import reservations as creation
from warre_blazar.services.flavors import devices as device_recount
from warre_blazar.services.maintenance import over_bookings
from warre_blazar.services.messages.delivery import Delivery
from warre_blazar.services.moves import drained_hosts, failed_hosts
from warre_blazar.services.records import history, server_samples
from warre_blazar.services.running import backing, idle, snapshots
from warre_blazar.services.series import occurrences
from warre_blazar.services.series import progress as series_steps
from warre_blazar.services.series import unattended as keeping_series
from warre_blazar.services.waits import waits
from warre_blazar.services.waits.serving import WaitServer
from warre_blazar.site_rules import wait_permits

SPAN = parts.hours(10, 14)
LATER = parts.hours(14, 16)
_ALPHA = identity.project_id("alpha")
_LONG_AGO = datetime.timedelta(days=1)
#: By this, snapshots are due in the state ``active``.
SNAPSHOTS = BeforeEndRule("snapshot", datetime.timedelta(hours=3))


@dataclasses.dataclass
class Scene:
    """What a state has made: two flavors, two hosts, and a lease that takes all slots."""

    flavor: Any
    #: A flavor that takes whole devices, where the first one takes halves of them.
    whole: Any
    hosts: list[str]
    lease_id: str
    reservation_id: str
    #: A series of two reservations, if there is one.
    series_id: str = ""
    #: The database of the Warre that the lease is from, if it is from one.
    warre_url: str = ""
    #: The waits for one of the lease's slots at its time, in the order in which they wait.
    wait_ids: tuple[str, ...] = ()
    #: Another lease that was booked as users book.
    other_lease_id: str = ""
    #: A flavor of which one instance fits only if the lease goes to the other host.
    large: Any = None


@dataclasses.dataclass
class Answer:
    """What an operation has answered."""

    #: "done", "refused", or "unknown" if nobody was told.
    kind: str
    detail: str = ""
    #: The name of the new lease, for a booking.
    lease_name: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.detail}".strip()


@dataclasses.dataclass(frozen=True)
class Operation:
    """An operation on the lease of a scene."""

    name: str
    act: Callable[[World, Scene], Any]
    #: The values that it gives the lease: "start", "end", "count", "name".
    writes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: Whether the lease is gone after it.
    removes: bool = False
    #: Whether somebody gets an answer, which must be true.
    is_answered: bool = True
    books: bool = False
    makes_series: bool = False
    #: The states in which it makes sense.
    states: tuple[str, ...] = ("pending", "active")

    def run(self, world: World, scene: Scene) -> Answer:
        """Carry it out, and return the answer."""
        try:
            made = self.act(world, scene)
        except (exceptions.NoAnswer, Killed) as error:
            return Answer("unknown", type(error).__name__)
        except exceptions.WarreError as error:
            return Answer("refused", f"{error.code}: {error.message}"[:150])
        except warre_import.ChangedSinceImport:
            return Answer("refused", "changed since the import")
        except Exception as error:
            return Answer("refused", f"failed {error!r}"[:150])
        if made is False:
            return Answer("unknown", "still under way")
        return Answer("done", lease_name=made if isinstance(made, str) else None)


# The operations of users.


def _change(**values: Any) -> Callable[[World, Scene], Any]:
    def act(world: World, scene: Scene) -> Any:
        reservation, _ = lookup.get(scene.reservation_id, _ALPHA)
        new = change.ChangeRequest(**values)
        conditions = parts.conditions(rule=parts.QUOTA)
        return change.change(world.caller(), reservation, new, conditions)[1]

    return act


def _remind(world: World, scene: Scene) -> None:
    ends = SPAN.end - datetime.timedelta(hours=3)
    values = {"before_end_date": ends.strftime("%Y-%m-%d %H:%M")}
    try:
        manager.update_lease(world.caller().context, scene.lease_id, values)
    except manager.ManagerSilent as error:
        raise exceptions.NoAnswer("", texts.services.OWN_BOOKED()) from error
    except exceptions.ServiceRefused:
        # As ``wsgi.blazar_answers`` does.
        if db_api.lease_get(scene.lease_id) is None:
            raise exceptions.ReservationNotFound(scene.reservation_id) from None
        raise


def _delete(world: World, scene: Scene) -> bool:
    reservation, _ = lookup.get(scene.reservation_id, _ALPHA)
    return creation.delete(world.caller(), reservation)


def _later(world: World, scene: Scene, count: int) -> admission.BookingRequest:
    return parts.request(
        scene.flavor, LATER, count, project_id=_ALPHA, now=world.now, rule=parts.QUOTA
    )


def _book(world: World, scene: Scene) -> Any:
    made, _ = creation.create(world.caller(), _later(world, scene, 2))
    return made.state != reservation_states.PENDING_CREATE and made.lease_name


def _squeeze(world: World, scene: Scene) -> Any:
    """Book an instance for which the lease must make room, if it hasn't begun."""
    request = parts.request(scene.large, SPAN, project_id=_ALPHA, now=world.now, rule=parts.QUOTA)
    conditions = dataclasses.replace(request.conditions, moves=MOVES_PER_BOOKING)
    made, _ = creation.create(world.caller(), dataclasses.replace(request, conditions=conditions))
    return made.state != reservation_states.PENDING_CREATE and made.lease_name


def _several(world: World, scene: Scene) -> str:
    """Book a slot beside an instance of a flavor of Nova, in one lease, as Azimuth does."""
    caller, name = world.caller(), uuidutils.generate_uuid()
    values = {
        "name": name,
        "start_date": LATER.start.strftime("%Y-%m-%d %H:%M"),
        "end_date": LATER.end.strftime("%Y-%m-%d %H:%M"),
        "events": [],
        "user_id": caller.user_id,
        "trust_id": "trust",
        "reservations": [
            {
                "resource_type": "flavor:instance",
                "flavor_id": flavor_id,
                "amount": 1,
                "affinity": "None",
            }
            for flavor_id in (scene.flavor.id, PLAIN["id"])
        ],
    }
    try:
        manager.create_lease(caller.context, values)
    except (manager.ManagerSilent, exceptions.WarreError) as error:
        # Clients of v1 look themselves whether they have booked if a service was away.
        if getattr(error, "code", "service_unavailable") != "service_unavailable":
            raise
        raise exceptions.NoAnswer("", texts.services.OWN_BOOKED()) from error
    return name


def _repeat(world: World, scene: Scene) -> Any:
    """Book with an idempotency key, as a request does that is sent a second time.

    There is room for two bookings, so that one too many is made if the key does nothing.
    """
    caller, request = world.caller(), _later(world, scene, 1)
    made, _ = idempotency.make(
        idempotency.key(caller.user_id, "key", "request", world.now),
        creation.find,
        lambda lease_id: creation.create(caller, request, lease_id),
    )
    return made.state != reservation_states.PENDING_CREATE and made.lease_name


def _rule() -> Recurrence:
    return Recurrence(LATER.start, "UTC", "FREQ=DAILY;COUNT=2", datetime.timedelta(hours=1))


def _series(world: World, scene: Scene) -> str:
    """Book two reservations or none, on two days."""
    caller, booking = world.caller(), RepeatedBooking(scene.flavor.id, 1, None, NO_LABELS, None)
    item = BookedSeries(
        id=uuidutils.generate_uuid(),
        project_id=_ALPHA,
        user_id=caller.user_id,
        booking=booking,
        recurrence=_rule(),
        all_or_none=True,
        status=SeriesStatus.BOOKING,
        work_id=uuidutils.generate_uuid(),
        ends_running=False,
        created_at=world.now,
    )
    conditions = parts.conditions(rule=parts.QUOTA)
    asked = occurrences.Occurrences(item, item.recurrence.occurrences(9), conditions)
    return occurrences.create(caller, asked).series.id


def _extend_series(world: World, scene: Scene) -> str:
    item = series_steps.get(scene.series_id)
    spans = occurrences.next_spans(item, 9, 1, None)
    conditions = parts.conditions(rule=parts.QUOTA)
    asked = occurrences.Occurrences(item, spans, conditions)
    return occurrences.extend(world.caller(), asked, uuidutils.generate_uuid()).series.id


def _end_series(world: World, scene: Scene) -> bool:
    return occurrences.end(world.caller(), scene.series_id, running=False)


# The operations of managers and operators.


def _lead_out(world: World, scene: Scene) -> None:
    keeping_series.look()


def _end_idle(world: World, scene: Scene) -> bool:
    """End the lease, which has no server for too long. An answer says whether that was done."""
    return idle.look(world.now, IDLE_INTERVAL) > 0


def _execute(world: World, scene: Scene) -> None:
    executor = world.new_executor()
    for _ in range(3):
        world.run(executor, world.now)


def _make(world: World, scene: Scene) -> None:
    backing.make_ahead(world.now)


def _heal(world: World, scene: Scene) -> None:
    db_api.host_update(scene.hosts[0], {"reservable": False})
    failed_hosts.heal(parts.hours(0, 1000), parts.conditions(), world.now)


def _drain(world: World, scene: Scene) -> None:
    drained_hosts.drain(scene.hosts[0], Drain(None, None, None), parts.conditions(), world.now)


def _window(world: World, scene: Scene) -> None:
    """Close the first host over bookings. What can't leave it is left, and listed."""
    _close(world, [], scene.hosts[:1])


def _close(world: World, flavor_ids: list[str], hosts: list[str]) -> None:
    world.window_left = None
    over = over_bookings.OverBookingsRequest(OverBookings.MOVE, parts.conditions(), world.now)
    _, meetings = over_bookings.create(WINDOW, None, flavor_ids, hosts, over)
    world.window_left = {
        each.reservation.reservation_id for each in meetings if each.outcome is Outcome.LEFT
    }


def _closing(world: World, scene: Scene) -> None:
    """Close both hosts over bookings, which can only go to the time after the window."""
    movable = {"movable_hours": _MOVABLE_HOURS}
    session.change(reservations.set_values, scene.reservation_id, movable)
    _close(world, [], scene.hosts)


def _deliver(world: World, scene: Scene) -> None:
    executor = world.new_executor()
    executor.beat()
    Delivery(world.recorder, executor.manager_id).run()


def _snapshot(world: World, scene: Scene) -> None:
    executor = world.new_executor()
    for _ in range(2):
        executor.beat()
        snapshots.look(world.now, executor.manager_id, SNAPSHOTS)
        world.cloud.glance.finish()


def _recount(world: World, scene: Scene) -> None:
    device_recount.recount(devices.NO_DEVICES)


def _purge(world: World, scene: Scene) -> None:
    history.purge(world.now + _LONG_AGO, 0)


def _import(world: World, scene: Scene) -> None:
    warre_import.take_over(scene.warre_url, world.now, 0)


def _undo(world: World, scene: Scene) -> None:
    warre_import.undo()


IDLE_INTERVAL = datetime.timedelta(minutes=30)
#: When the lease is ended, if it has no server.
IDLE_END = SPAN.start + 3 * IDLE_INTERVAL


def serve(world: World) -> None:
    """Serve those who wait, whether or not it is this manager's turn."""
    manager_id = world.new_executor().manager_id
    server = WaitServer(manager_id, wait_permits.permit, lambda: parts.conditions(rule=parts.QUOTA))
    server.serve(world.now)


def _serve(world: World, scene: Scene) -> None:
    serve(world)


def _cancel(world: World, scene: Scene) -> None:
    waits.cancel(waits.get(scene.wait_ids[0]), world.now, None)


SHORTER = SPAN.start + datetime.timedelta(hours=2)
LONGER = SPAN.end + datetime.timedelta(hours=1)
MOVED = parts.hours(12, 15)
#: The time of the maintenance windows, and where a reservation begins that they move.
WINDOW = parts.hours(9, 18)
POSTPONED = WINDOW.end
_MOVABLE_HOURS = 12

_ALL = ("pending", "soon", "active", "due", "ending")
#: The states in which one lease can make room for another.
_SCATTERED = ("scattered", "crowded")
OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("book", _book, books=True, states=(*_ALL, "course", "waiting")),
        Operation("several", _several, books=True, states=_ALL),
        Operation("repeat", _repeat, books=True),
        Operation("squeeze", _squeeze, books=True, states=_SCATTERED),
        Operation("count", _change(count=1), {"count": 1}, states=(*_ALL, "waiting", *_SCATTERED)),
        Operation("remind", _remind, {}, states=_ALL),
        Operation(
            "shorten",
            _change(end=SHORTER),
            {"end": SHORTER},
            states=("pending", "active", "idle", "scattered"),
        ),
        Operation(
            "extend", _change(end=LONGER), {"end": LONGER}, states=(*_ALL, "idle", *_SCATTERED)
        ),
        Operation(
            "move",
            _change(start=MOVED.start, end=MOVED.end),
            {"start": MOVED.start, "end": MOVED.end},
            states=("pending", "soon", "due", *_SCATTERED),
        ),
        Operation("rename", _change(labels={"name": "new"}), {"name": "new"}, states=_ALL),
        Operation("delete", _delete, removes=True, states=(*_ALL, "idle", "waiting", *_SCATTERED)),
        Operation("series", _series, makes_series=True, states=("pending", "course")),
        Operation("extend_series", _extend_series, makes_series=True, states=("course",)),
        Operation("end_series", _end_series, states=("course",)),
        Operation("lead_out", _lead_out, is_answered=False, states=("pending", "course")),
        Operation("end_idle", _end_idle, {"end": IDLE_END}, is_answered=False, states=("idle",)),
        Operation("serve", _serve, is_answered=False, states=("waiting",)),
        Operation("cancel", _cancel, states=("waiting",)),
        Operation("make", _make, is_answered=False, states=("soon", "crowded")),
        Operation("start", _execute, is_answered=False, states=("due",)),
        Operation("end", _execute, is_answered=False, states=("ending", "imported")),
        Operation("heal", _heal, is_answered=False, states=(*_ALL, "idle", "foreign", *_SCATTERED)),
        Operation("drain", _drain, is_answered=False, states=(*_ALL, "foreign", *_SCATTERED)),
        Operation("window", _window, is_answered=False, states=("pending", "soon")),
        Operation("closing", _closing, is_answered=False, states=("pending",)),
        Operation("deliver", _deliver, is_answered=False, states=_ALL),
        Operation("snapshot", _snapshot, is_answered=False, states=("active",)),
        Operation("recount", _recount, is_answered=False, states=("pending",)),
        Operation("import", _import, is_answered=False, states=("foreign",)),
        Operation("undo", _undo, is_answered=False, states=("imported", "foreign")),
        Operation("purge", _purge, is_answered=False, states=("ending",)),
    )
}


# States.


def pending(world: World) -> Scene:
    """A lease from 10 to 14 that takes both slots of its flavor. The second host is empty.

    Each host has two devices of two units. An instance of the lease takes a unit.

    The project may hold as many hours as the lease and another booking have together.
    """
    world.cloud.keystone.limits[_ALPHA, "hours"] = 12
    hosts = [_host(world, name) for name in ("a", "b")]
    flavor, whole = (
        parts.add_flavor(
            slots=slots,
            vcpu=1,
            extra_specs={places.SPEC: units},
            idle_end_hours=1,
        )
        for slots, units in ((2, "1"), (4, "2"))
    )
    request = parts.request(flavor, SPAN, 2, project_id=_ALPHA, now=world.now, rule=parts.QUOTA)
    made, _ = creation.create(world.caller(), request)
    return Scene(flavor, whole, hosts, made.lease_id, made.reservation_id)


def waiting(world: World) -> Scene:
    """Three projects wait for a slot each, at the lease's time. There is one slot more by now."""
    scene = pending(world)
    with session.writer() as db:
        db.execute(
            tables.flavors.update().where(tables.flavors.c.id == scene.flavor.id).values(slots=3)
        )
    ids = []
    for number, person in enumerate(("beta", "admin", "alpha")):
        wait = Wait(
            id=f"00000000-0000-4000-8000-00000000000{number}",
            project_id=identity.project_id(person),
            user_id=identity.user_id(person),
            flavor_id=scene.flavor.id,
            category=None,
            instance_count=1,
            length=SPAN.end - SPAN.start,
            window=SPAN,
            created_at=world.now,
            expires_at=SPAN.start,
        )
        ids.append(waits.create(wait, 1, frozenset()).wait.id)
    return dataclasses.replace(scene, wait_ids=tuple(ids))


def scattered(world: World) -> Scene:
    """The lease is on the first host. On the second one is another, which can't move."""
    scene = pending(world)
    fixed, large = (
        parts.add_flavor(slots=1, vcpu=vcpu, properties=properties)
        for vcpu, properties in ((2, '["==", "$hypervisor_hostname", "b"]'), (3, None))
    )
    world.cloud.keystone.limits[_ALPHA, "hours"] = 16
    other = parts.request(fixed, SPAN, project_id=_ALPHA, now=world.now, rule=parts.QUOTA)
    made, _ = creation.create(world.caller(), other)
    return dataclasses.replace(scene, large=large, other_lease_id=made.lease_id)


def crowded(world: World) -> Scene:
    """The same, and the leases begin in five minutes."""
    scene = scattered(world)
    world.go_to(SPAN.start - datetime.timedelta(minutes=5))
    return scene


def soon(world: World) -> Scene:
    """The lease begins in five minutes. Its backing is still planned."""
    scene = pending(world)
    world.go_to(SPAN.start - datetime.timedelta(minutes=5))
    return scene


def due(world: World) -> Scene:
    """The lease's start is due."""
    scene = pending(world)
    world.go_to(SPAN.start)
    return scene


def active(world: World) -> Scene:
    """The lease has begun an hour ago, and a server runs on it."""
    scene = pending(world)
    executor = world.new_executor()
    for moment in (SPAN.start - datetime.timedelta(seconds=5), SPAN.start):
        world.go_to(moment)
        world.run(executor, moment)
    world.cloud.nova.boot(backing_names.nova_flavor_id(scene.reservation_id), _ALPHA)
    world.go_to(SPAN.start + datetime.timedelta(hours=1))
    return scene


def idle_(world: World) -> Scene:
    """The lease has begun, and has had no server for as long as its flavor allows."""
    scene = pending(world)
    executor = world.new_executor()
    moments = (SPAN.start - datetime.timedelta(seconds=5), SPAN.start)
    for moment in moments:
        world.go_to(moment)
        world.run(executor, moment)
    for number in (1, 2, 3):
        moment = SPAN.start + number * IDLE_INTERVAL
        world.go_to(moment)
        server_samples.take(moment, executor.manager_id, IDLE_INTERVAL)
    return scene


def course(world: World) -> Scene:
    """The lease hasn't begun, and there is a series of two reservations."""
    scene = pending(world)
    scene.series_id = _series(world, scene)
    return scene


def ending(world: World) -> Scene:
    """The lease's end is due, and a server runs on it."""
    scene = active(world)
    world.go_to(SPAN.end)
    return scene


def foreign(world: World) -> Scene:
    """A lease of a Warre that runs and wasn't taken over yet. Needs MariaDB."""
    hosts = [_host(world, name) for name in ("a", "b")]
    world.cloud.add_freepool("a", "b")
    lease = warre_site.book(world.cloud, warre_site.TWO, _ALPHA, SPAN, 2)
    warre_site.begin(world.cloud, lease)
    world.cloud.nova.boot(lease.reservation_id, _ALPHA)
    moment = SPAN.start + datetime.timedelta(hours=1)
    world.go_to(moment)
    warre = world.make_warre()
    warre.add(warre_site.TWO, lease, instance_count=2)
    return Scene(None, None, hosts, lease.id, lease.reservation_id, warre.url)


def imported(world: World) -> Scene:
    """A lease of a Warre that runs, was taken over, and whose end is due. Needs MariaDB."""
    scene = foreign(world)
    warre_import.take_over(scene.warre_url, world.now, 0)
    world.go_to(SPAN.end)
    return scene


#: The states that only some kinds of databases have.
ONLY_ON = {"imported": "mariadb", "foreign": "mariadb"}


def _host(world: World, name: str) -> str:
    units = world.devices[name] = (2, 2)
    placement = world.cloud.placement
    ids = [
        placement.add_provider(f"{name}_gpu{i}", None, **{places.CLASS: n})
        for i, n in enumerate(units)
    ]
    gpus = tuple(
        Provider(gpu, f"{name}_gpu{i}", name, {places.CLASS: Inventory(n)}, frozenset())
        for i, (gpu, n) in enumerate(zip(ids, units, strict=True))
    )
    host_id = parts.add_host(world.cloud, name, vcpus=4, children=gpus)
    provider = placement.named(name)
    assert provider is not None
    (root,) = (i for i, p in placement.providers.items() if p["name"] == name)
    for gpu in ids:
        placement.providers[gpu]["parent"] = root
    for cls, total in {"VCPU": 4, "MEMORY_MB": 65536, "DISK_GB": 1000}.items():
        provider["inventories"][cls] = {"total": total, "reserved": 0, "allocation_ratio": 1.0}
    return host_id


STATES: dict[str, Callable[[World], Scene]] = {
    state.__name__.strip("_"): state
    for state in (
        *(pending, course, waiting, scattered, crowded, soon, due, active, idle_, ending),
        *(foreign, imported),
    )
}


_HELD = """
SELECT w.flavor_id, l.start_date, l.end_date, w.claim_start, w.claim_end, w.instance_count
FROM warre_reservations w
JOIN reservations r ON r.id = w.reservation_id
JOIN leases l ON l.id = r.lease_id
WHERE EXISTS (SELECT 1 FROM computehost_allocations a WHERE a.reservation_id = r.id)
"""
_SLOTS = 2


class Buyer:
    """Books each hour of the scene's flavor that has become free, and then all whole devices."""

    def __init__(self, world: World, scene: Scene) -> None:
        self._world, self._scene = world, scene
        self.leases: list[str] = []
        self._free_before = set(self._free())

    def _free(self) -> list[int]:
        """The hours in the future at which fewer slots are held than there are."""
        whole = self._scene.whole.id if self._scene.whole else None
        with self._world.engine.connect() as connection:
            rows = [row[1:] for row in connection.execute(sa.text(_HELD)) if row[0] != whole]
        free = []
        for hour in range(10, 16):
            moment = parts.NOW + datetime.timedelta(hours=hour)
            at = str(moment)
            held = sum(
                count
                for start, end, claim_start, claim_end, count in rows
                if str(start)[:19] <= at < str(end)[:19]
                or (claim_start and str(claim_start)[:19] <= at < str(claim_end)[:19])
            )
            if held < _SLOTS and moment > self._world.now:
                free.append(hour)
        return free

    def look(self) -> list[str]:
        """Book what is free now and wasn't free before. Return the leases that were made."""
        before = len(self.leases)
        self._look()
        return self.leases[before:]

    def _look(self) -> None:
        new = [hour for hour in self._free() if hour not in self._free_before]
        if not new:
            return
        # One booking shows an oversell, because everything is held otherwise.
        hours = list(itertools.takewhile(lambda hour: hour - new[0] in range(len(new)), new))
        if not self._book(self._scene.flavor, hours, 1):
            return
        self._free_before.update(hours)
        if self._scene.whole:
            any(self._book(self._scene.whole, hours, count) for count in (4, 3, 2, 1))

    def _book(self, flavor: Any, hours: list[int], count: int) -> bool:
        request = parts.request(
            flavor,
            parts.hours(hours[0], hours[-1] + 1),
            count,
            project_id=identity.project_id("beta"),
            now=self._world.now,
        )
        with context.BlazarContext(), contextlib.suppress(exceptions.WarreError):
            self.leases.append(parts.book(request).id)
            return True
        return False
