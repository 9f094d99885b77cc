"""Reservations of all kinds that exist when the upgrade begins, and what they are afterwards."""

import dataclasses
import datetime
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tests.functional.cloud import world
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until

_PENDING, _SERVERS, _PASSING = 24, 8, 12
_MINUTE = datetime.timedelta(minutes=1)
#: Fields that change by themselves.
_MOVING = ("status_reason", "updated_at", "warnings", "can_change", "hosts")
_DURABLE = "ALLOCATED"


@dataclasses.dataclass
class Kept:
    """A reservation that nobody changes, as it was shown before the upgrade."""

    owner: Person
    shown: dict[str, Any]

    def differences(self) -> Iterator[str]:
        """What is different now, in sentences. New fields are none."""
        where = f"/v2/reservations/{self.shown['id']}/"
        answer = self.owner.ask("GET", where)
        if answer.status_code != 200:
            yield f"{where} is answered {answer.status_code}: {answer.text}"
            return
        now = answer.json()
        for name, value in self.shown.items():
            if name not in _MOVING and now.get(name) != value:
                yield f"{where}: {name} was {value!r} and is {now.get(name)!r}"


class Standing:
    """The reservations of two users, beside those of the torture test's users."""

    def __init__(self, admin: Person, people: Sequence[Person]) -> None:
        self._admin, self._people = admin, people
        self._kept: list[Kept] = []
        self._servers: list[tuple[Person, str]] = []
        #: How many there are of each kind.
        self.numbers: dict[str, int] = {}
        usual = {"max_length_hours": 48, "memory_mb": 64, "slots": 200}
        self._flavor = self._offer(**usual)
        #: With one slot, so that bookings have to wait.
        self._scarce = self._offer(**usual | {"slots": 1})

    def _offer(self, **changes: Any) -> dict[str, Any]:
        body = world.flavor_body(**changes)
        return dict(self._admin.asks("POST", "/v2/flavors/", body, want=202))

    @property
    def flavor(self) -> str:
        """The id of the flavor that most of them have."""
        return str(self._flavor["id"])

    @property
    def total(self) -> int:
        """How many there are of all kinds together."""
        return sum(self.numbers.values())

    def begin(self) -> None:
        """Book all of them, and boot servers on those that run."""
        running = self._running()
        pending = self._pending()
        self._waits()
        self._series()
        self._window()
        self._passing()
        for who, shown in (*running, *pending):
            self._kept.append(Kept(who, world.show(who, shown)))

    def different(self) -> list[str]:
        """What became of them that should not have, in sentences."""
        found = [text for kept in self._kept for text in kept.differences()]
        for who, server in self._servers:
            shown = who.cloud.compute.find_server(server)
            if shown is None or shown.status != "ACTIVE":
                found.append(f"server {server} is {shown.status if shown else 'gone'}")
        for name, number in (("waits", 3), ("series", 2)):
            there = [r for who in self._people for r in who.asks("GET", f"/v2/{name}/")["results"]]
            if len(there) < number:
                found.append(f"{len(there)} of {number} {name} are left: {there}")
        return found

    def halves(self) -> dict[str, Any]:
        """Book instances on all hosts that start in the next minute, to be interrupted."""
        who, start = self._people[0], world.now() + 2 * _MINUTE
        period = world.Period(start, start + 45 * _MINUTE)
        self.numbers["unfinished start"] = 1
        return world.booked(who, self._flavor, period, 6)

    def _owners(self, number: int) -> list[Person]:
        return list(itertools.islice(itertools.cycle(self._people), number))

    def _running(self) -> list[tuple[Person, dict[str, Any]]]:
        made = []
        for who in self._owners(_SERVERS):
            made.append((who, world.booked_now(who, self._flavor, 1, hours=3)))
        made = [(who, world.becomes(who, each, "ACTIVE")) for who, each in made]
        servers = [(who, who.boots(each["compute_flavor"], "standing")) for who, each in made]
        for who, server in servers:
            settled = until("a server", lambda w=who, s=server: w.server_settles(s))
            assert settled.status == "ACTIVE", settled.fault
            self._servers.append((who, server.id))
        self.numbers["running with a server"] = len(made)
        return made

    def _pending(self) -> list[tuple[Person, dict[str, Any]]]:
        """Reservations of the next days, over each path."""
        made = []
        for number, who in enumerate(self._owners(_PENDING)):
            period = world.from_now(2).moved(24 + number, 24 + number)
            if number % 3 == 2:
                lease = world.lease_body(period, world.slot(self._flavor, 2))
                answer = who.asks("POST", "/v1/leases", lease, want=201)
                shown = {"id": answer["lease"]["reservations"][0]["id"]}
            else:
                path = ("/v2/reservations/", "/v2/warre/v1/reservations/")[number % 3]
                answer = world.book(who, self._flavor, period, 2, path)
                assert answer.status_code == 200, answer.text
                shown = answer.json()
            made.append((who, shown))
        self.numbers["pending"] = len(made)
        return made

    def _waits(self) -> None:
        """A reservation of all slots of a flavor, and waits behind it, one of them for weeks."""
        first, second = self._people
        tomorrow = world.from_now(4).moved(24, 24)
        world.booked(first, self._scarce, tomorrow)
        for hours in (1, 2, 3):
            body = {
                "flavor_id": self._scarce["id"],
                "hours": hours,
                "from": tomorrow.v2["start"],
                "to": tomorrow.v2["end"],
                "mode": "book",
            }
            answer = second.ask("POST", "/v2/waits/", body)
            assert answer.status_code in (200, 201, 202), answer.text
        self.numbers["waits, and what they wait for"] = 4

    def _series(self) -> None:
        """A series of weeks, and one of which a reservation starts in a few minutes."""
        for who, minutes in zip(self._people, (5, 24 * 60), strict=True):
            start = world.now() + minutes * _MINUTE
            body = {
                "flavor_id": self._flavor["id"],
                "start": f"{start:%Y-%m-%dT%H:%M}",
                "timezone": "UTC",
                "hours": 0.1,
                "rrule": "FREQ=DAILY;COUNT=4",
            }
            answer = who.ask("POST", "/v2/series/", body)
            assert answer.status_code in (200, 201, 202), answer.text
        self.numbers["of two series"] = 8

    def _window(self) -> None:
        """A window that clears a host of what is booked on it, tomorrow."""
        window = world.from_now(6).moved(30, 30)
        body = {**window.v2, "host_ids": [world.HOSTS[-1]], "bookings": "move"}
        answer = self._admin.ask("POST", "/v2/maintenancewindows/", body)
        assert answer.status_code in (200, 201, 202), answer.text
        self.numbers["window that clears a host"] = 1

    def _passing(self) -> None:
        """Reservations of which one starts, and one ends, in each of the next minutes."""
        for number, who in enumerate(self._owners(_PASSING), 1):
            start = world.now() + number * _MINUTE
            world.booked(who, self._flavor, world.Period(start, start + 2 * _MINUTE))
        self.numbers["starting and ending within minutes"] = _PASSING


def refusals(who: Person, flavor: str) -> list[tuple[str, str]]:
    """What the API answers to bookings with a field that it doesn't know, by path.

    :returns: each path, and its answer if the answer isn't a refusal that names the field.
    """
    field = "of_a_newer_version"
    period = world.far()
    slot = {**world.slot({"id": flavor}), field: 1}
    booking = {"flavor_id": flavor, **period.v2, field: 1}
    requests = (
        ("/v1/leases", world.lease_body(period, slot)),
        ("/v2/reservations/", booking),
        ("/v2/warre/v1/reservations/", booking),
    )
    found = []
    for path, body in requests:
        answer = who.ask("POST", path, body)
        is_refused = answer.status_code in (400, 422)
        is_clear = is_refused and field in answer.json().get("error_message", "")
        found.append((path, "" if is_clear else f"{path}: {answer.status_code} {answer.text}"))
    return found
