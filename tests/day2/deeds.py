"""What users and operators do to servers, hosts and flavors, and how each of it is undone."""

import contextlib
import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import Any

import openstack.exceptions

from tests.day2.rooms import Room
from tests.functional.cloud import devcloud, world
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until

#: Seconds until Nova has done what it was asked for.
_DONE = 120.0
#: Seconds until a server that is changed is as it should be.
_SETTLES_WITHIN = 30.0
#: The size of a server that takes half a host, in MiB.
_HALF_HOST_MB = 3800

#: Takes back what a deed did.
Undo = Callable[[], Any]


class NothingToDo(Exception):
    """No server or host is in a state in which this could be done."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a deed is done."""

    admin: Person
    rooms: Sequence[Room]
    choice: random.Random

    def server(self, *statuses: str) -> tuple[Room, Any]:
        """A server of a room, with one of these statuses.

        :raises NothingToDo: there is none.
        """
        found = [(r, s) for r in self.rooms for s in r.servers() if s.status in statuses]
        found = [(r, s) for r, s in found if s.task_state is None]
        if not found:
            raise NothingToDo
        return self.choice.choice(found)

    def host(self) -> str:
        return self.choice.choice(world.HOSTS)


def _settles(who: Person, server: Any, *statuses: str) -> None:
    def settled() -> bool:
        try:
            shown = who.cloud.compute.get_server(server.id)
        except openstack.exceptions.NotFoundException:
            return True
        return shown.task_state is None and shown.status in (*statuses, "ERROR")

    # On a stopped compute, nothing happens to a server before the compute is back.
    with contextlib.suppress(AssertionError):
        until(f"server {server.id} to be {' or '.join(statuses)}", settled, _SETTLES_WITHIN)


# Of users


def delete_server(at: Place) -> Undo | None:
    room, server = at.server("ACTIVE", "SHUTOFF", "PAUSED")
    room.owner.cloud.compute.delete_server(server.id)
    room.owner.cloud.compute.wait_for_delete(server, interval=1, wait=_DONE)
    return None


def stop_server(at: Place) -> Undo | None:
    room, server = at.server("ACTIVE")
    room.owner.cloud.compute.stop_server(server.id)
    _settles(room.owner, server, "SHUTOFF")
    return None


def pause_server(at: Place) -> Undo | None:
    room, server = at.server("ACTIVE")
    room.owner.cloud.compute.pause_server(server.id)
    _settles(room.owner, server, "PAUSED")
    return None


def lock_server(at: Place) -> Undo | None:
    _, server = at.server("ACTIVE", "SHUTOFF")
    at.admin.cloud.compute.lock_server(server.id)
    return None


def rebuild_server(at: Place) -> Undo | None:
    room, server = at.server("ACTIVE")
    image = room.owner.cloud.image.find_image("tiny").id
    room.owner.cloud.compute.rebuild_server(server.id, image=image)
    _settles(room.owner, server, "ACTIVE")
    return None


def shelve_server(at: Place) -> Undo | None:
    room, server = at.server("ACTIVE")
    room.owner.cloud.compute.shelve_server(server.id)
    _settles(room.owner, server, "SHELVED", "SHELVED_OFFLOADED")
    return None


def unshelve_server(at: Place) -> Undo | None:
    room, server = at.server("SHELVED_OFFLOADED")
    room.owner.cloud.compute.unshelve_server(server.id)
    _settles(room.owner, server, "ACTIVE", "SHELVED_OFFLOADED")
    return None


def resize_into_another_room(at: Place) -> Undo | None:
    """Resize a server and never confirm it."""
    room, server = at.server("ACTIVE", "SHUTOFF")
    others = [r for r in at.rooms if r.owner is room.owner and r.id != room.id]
    if not others:
        raise NothingToDo
    other = at.choice.choice(others)
    try:
        room.owner.cloud.compute.resize_server(server.id, other.flavor)
    except openstack.exceptions.BadRequestException:
        raise NothingToDo from None
    _settles(room.owner, server, "VERIFY_RESIZE", "ACTIVE", "SHUTOFF")
    return None


def confirm_resize(at: Place) -> Undo | None:
    room, server = at.server("VERIFY_RESIZE")
    room.owner.cloud.compute.confirm_server_resize(server.id)
    _settles(room.owner, server, "ACTIVE", "SHUTOFF")
    return None


def revert_resize(at: Place) -> Undo | None:
    room, server = at.server("VERIFY_RESIZE")
    room.owner.cloud.compute.revert_server_resize(server.id)
    _settles(room.owner, server, "ACTIVE", "SHUTOFF")
    return None


def delete_reservation(at: Place) -> Undo | None:
    if not at.rooms:
        raise NothingToDo
    room = at.choice.choice(at.rooms)
    room.owner.ask("DELETE", f"/v2/reservations/{room.id}/")
    return None


def give_places_up(at: Place) -> Undo | None:
    """Delete a server, and reduce the reservation by its place."""
    large = [room for room in at.rooms if room.places > 1]
    if not large:
        raise NothingToDo
    room = at.choice.choice(large)
    servers = room.servers()
    if len(servers) == room.places:
        room.owner.cloud.compute.delete_server(servers[0].id)
        room.owner.cloud.compute.wait_for_delete(servers[0], interval=1, wait=_DONE)
    body = {"instance_count": room.places - 1}
    room.owner.ask("PATCH", f"/v2/reservations/{room.id}/", body)
    return None


# Of operators


def force_server(at: Place) -> Undo | None:
    """Force an ordinary server onto a host that is for bookings."""
    return _stranger(at, {})


def preemptible_server(at: Place) -> Undo | None:
    return _stranger(at, {"blazar:preemptible": "true"})


def _stranger(at: Place, specs: dict[str, str]) -> Undo:
    compute, name = at.admin.cloud.compute, world.unique("stranger")
    flavor = compute.create_flavor(name=name, vcpus=1, ram=_HALF_HOST_MB, disk=1)
    if specs:
        compute.create_flavor_extra_specs(flavor, specs)
    server = compute.create_server(
        name=name,
        image_id=at.admin.cloud.image.find_image("tiny").id,
        flavor_id=flavor.id,
        availability_zone=f"nova:{at.host()}",
        networks="none",
    )

    def undo() -> None:
        compute.delete_server(server.id, ignore_missing=True)
        compute.wait_for_delete(server, interval=1, wait=_DONE)
        compute.delete_flavor(flavor.id)

    _settles(at.admin, server, "ACTIVE")
    return undo


def live_migrate(at: Place) -> Undo | None:
    room, server = at.server("ACTIVE", "PAUSED")
    try:
        at.admin.cloud.compute.live_migrate_server(server.id, block_migration="auto")
    except openstack.exceptions.SDKException:
        raise NothingToDo from None
    _settles(room.owner, server, "ACTIVE", "PAUSED")
    return None


def cold_migrate(at: Place) -> Undo | None:
    """Migrate a server, and never confirm it."""
    room, server = at.server("ACTIVE", "SHUTOFF")
    try:
        at.admin.cloud.compute.migrate_server(server.id)
    except openstack.exceptions.SDKException:
        raise NothingToDo from None
    _settles(room.owner, server, "VERIFY_RESIZE", "ACTIVE", "SHUTOFF")
    return None


def stop_compute(at: Place) -> Undo | None:
    """Stop a compute and tell Nova at once."""
    host = at.host()
    compute = at.admin.cloud.compute
    devcloud.stop(f"nova-compute-{host}")
    (service,) = compute.services(host=host, binary="nova-compute")
    compute.update_service_forced_down(service, host, "nova-compute", True)

    def undo() -> None:
        (stopped,) = compute.services(host=host, binary="nova-compute")
        compute.update_service_forced_down(stopped, host, "nova-compute", False)
        devcloud.start(f"nova-compute-{host}")

    return undo


def delete_compute_service(at: Place) -> Undo | None:
    """Stop a compute that has no servers, and delete its service.

    It is undone by starting it again, and by putting it back into the site's own aggregates.
    """
    host = at.host()
    compute = at.admin.cloud.compute
    if list(compute.servers(all_projects=True, host=host, details=False)):
        raise NothingToDo
    sites = [a for a in compute.aggregates() if host in (a.hosts or ()) and a.availability_zone]
    devcloud.stop(f"nova-compute-{host}")
    (service,) = compute.services(host=host, binary="nova-compute")
    try:
        compute.delete_service(service)
    except openstack.exceptions.ConflictException:
        # Nova counts a server that is being built before it lists it on the host.
        devcloud.start(f"nova-compute-{host}")
        raise NothingToDo from None

    def undo() -> None:
        devcloud.start(f"nova-compute-{host}")
        for aggregate in sites:
            until(
                f"{host} to be in {aggregate.name}", lambda a=aggregate: _put_into(at, a.id, host)
            )

    return undo


def _put_into(at: Place, aggregate_id: int, host: str) -> bool:
    """Put a host into an aggregate. Return whether it is there: Nova may not know it yet."""
    try:
        at.admin.cloud.compute.add_host_to_aggregate(aggregate_id, host)
    except openstack.exceptions.ConflictException:
        return True
    except openstack.exceptions.NotFoundException:
        return False
    return True


def drain_host(at: Place) -> Undo | None:
    host = at.host()
    devcloud.manage_host("drain", host, "--yes")
    return lambda: devcloud.manage_host("drain", host, "--undo")


def take_host_from_aggregate(at: Place) -> Undo | None:
    """Edit a reservation's aggregate by hand."""
    compute = at.admin.cloud.compute
    known = {room.id for room in at.rooms}
    found = [a for a in compute.aggregates() if a.name in known and a.hosts]
    if not found:
        raise NothingToDo
    aggregate = at.choice.choice(found)
    host = at.choice.choice(aggregate.hosts)
    compute.remove_host_from_aggregate(aggregate.id, host)

    def undo() -> None:
        # The reservation is over, or a manager has put the host back.
        gone = (openstack.exceptions.NotFoundException, openstack.exceptions.ConflictException)
        with contextlib.suppress(*gone):
            compute.add_host_to_aggregate(aggregate.id, host)

    return undo


USERS = (
    delete_server,
    delete_server,
    stop_server,
    pause_server,
    lock_server,
    rebuild_server,
    shelve_server,
    unshelve_server,
    resize_into_another_room,
    resize_into_another_room,
    confirm_resize,
    revert_resize,
    delete_reservation,
    give_places_up,
)
OPERATORS = (
    force_server,
    preemptible_server,
    live_migrate,
    cold_migrate,
    stop_compute,
    delete_compute_service,
    drain_host,
    take_host_from_aggregate,
)
