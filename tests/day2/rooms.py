"""Rooms: reservations that run, and whether a server boots in each of their places."""

import dataclasses
import datetime
from collections.abc import Sequence
from typing import Any

import openstack.exceptions

from tests.functional.cloud import world
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import at_once, until

#: Seconds after its start until a room is looked at, and before its end from which it isn't.
OPENED, ENDING = 30.0, 75.0
#: Seconds until a server is ACTIVE or ERROR.
_SETTLED = 180.0
#: The number of servers that boot at the same time.
_AT_ONCE = 4
#: A server with one of these statuses takes no place.
_AWAY = ("ERROR", "SHELVED_OFFLOADED", "DELETED", "SOFT_DELETED")


@dataclasses.dataclass(frozen=True)
class Room:
    """A reservation that runs."""

    owner: Person
    id: str
    lease_id: str
    #: The id of its Nova flavor.
    flavor: str
    places: int
    start: datetime.datetime
    end: datetime.datetime
    reason: str | None

    @classmethod
    def of(cls, owner: Person, shown: dict[str, Any]) -> "Room":
        parse = datetime.datetime.fromisoformat
        return cls(
            owner,
            shown["id"],
            shown["lease_id"],
            shown["compute_flavor"],
            shown["instance_count"],
            parse(shown["start"]),
            parse(shown["end"]),
            shown["status_reason"],
        )

    def servers(self) -> list[Any]:
        """Its servers, those that take no place too."""
        compute = self.owner.cloud.compute
        return [
            s for s in compute.servers() if s.flavor["original_name"] == f"reservation:{self.id}"
        ]


@dataclasses.dataclass(frozen=True)
class Fault:
    """Places of a room in which no server boots."""

    room: Room
    missing: int
    #: What Nova says.
    because: str
    #: What the reservation tells its user.
    reason: str | None


def running(people: Sequence[Person]) -> list[Room]:
    """The rooms that have been open for a while and don't end at once."""
    rooms = []
    for person in people:
        shown = person.asks("GET", "/v2/reservations/?status=ACTIVE")["results"]
        rooms += [Room.of(person, each) for each in shown]
    moment = datetime.datetime.now(datetime.UTC)

    def seconds(span: datetime.timedelta) -> float:
        return span.total_seconds()

    return [
        r for r in rooms if seconds(moment - r.start) > OPENED and seconds(r.end - moment) > ENDING
    ]


def faults(people: Sequence[Person]) -> tuple[int, list[Fault]]:
    """Boot a server in each empty place. Return the number of rooms, and what doesn't boot."""
    rooms = running(people)
    found = at_once([lambda room=room: fault(room) for room in rooms], _AT_ONCE) if rooms else []
    return len(rooms), [each for each in found if each]


def fault(room: Room) -> Fault | None:
    """Boot a server in each empty place of a room. Return what doesn't boot."""
    held = [server for server in room.servers() if server.status not in _AWAY]
    empty = room.places - len(held)
    failed = []
    for _ in range(empty):
        if because := _boot(room):
            failed.append(because)
    if not failed:
        return None
    answer = room.owner.ask("GET", f"/v2/reservations/{room.id}/")
    if answer.status_code != 200 or answer.json()["status"] != "ACTIVE":
        return None  # It has ended meanwhile.
    return Fault(room, len(failed), failed[0], told(room))


def told(room: Room) -> str | None:
    """Why a user can't use all places of a room, as the reservation says it. None: it doesn't."""
    shown = room.owner.asks("GET", f"/v2/reservations/{room.id}/?detail=servers")
    moved = [each["name"] for each in shown["servers"] or () if each["moved_out"]]
    if moved:
        return f"{moved} were moved out of it, which nobody has confirmed"
    return shown["status_reason"]


def _boot(room: Room) -> str | None:
    """Boot a server. Return why it didn't boot, if it didn't; nothing is left of it then."""
    try:
        server = room.owner.boots(room.flavor, world.unique("day2"))
    except openstack.exceptions.SDKException as error:
        return str(error)
    shown = until("a server to settle", lambda: room.owner.server_settles(server), _SETTLED)
    if shown.status == "ACTIVE":
        return None
    room.owner.cloud.compute.delete_server(server.id)
    return str((shown.fault or {}).get("message", "ERROR without a fault"))
