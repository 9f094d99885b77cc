"""What tests book: flavors, periods, reservations, leases."""

import dataclasses
import datetime
import itertools
import json
import random
import uuid
from collections.abc import Callable
from typing import Any

import requests

from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until

HOSTS = ("cmp1", "cmp2", "cmp3")
#: A property that two of the hosts have, and what a host has to give of memory.
PROPERTY, PAIR = "functional_group", ("cmp1", "cmp2")
HOST_MEMORY_MB = 8192 - 512

_numbers = itertools.count(1)
_V1_TIME = "%Y-%m-%d %H:%M"
_V2_TIME = "%Y-%m-%dT%H:%M:00+00:00"


def now() -> datetime.datetime:
    """The present minute."""
    return datetime.datetime.now(datetime.UTC).replace(second=0, microsecond=0)


@dataclasses.dataclass(frozen=True)
class Period:
    """A period to book; as v1 and v2 write it."""

    start: datetime.datetime
    end: datetime.datetime

    @classmethod
    def of(cls, reservation: dict[str, Any]) -> "Period":
        """A reservation's, as v2 shows it."""
        parse = datetime.datetime.fromisoformat
        return cls(parse(reservation["start"]), parse(reservation["end"]))

    @property
    def v1(self) -> dict[str, str]:
        return {
            "start_date": self.start.strftime(_V1_TIME),
            "end_date": self.end.strftime(_V1_TIME),
        }

    @property
    def v2(self) -> dict[str, str]:
        return {"start": self.start.strftime(_V2_TIME), "end": self.end.strftime(_V2_TIME)}

    def moved(self, start: float = 0, end: float = 0) -> "Period":
        """With start and end later by hours."""
        return Period(
            self.start + datetime.timedelta(hours=start), self.end + datetime.timedelta(hours=end)
        )


def far(hours: float = 1) -> Period:
    """A period in the future that nobody else has: tests may run beside other use."""
    start = now() + datetime.timedelta(
        days=random.randint(30, 3000), minutes=random.randint(0, 1440)
    )
    return Period(start, start + datetime.timedelta(hours=hours))


def from_now(hours: float = 1) -> Period:
    """A period that begins with the present minute."""
    return Period(now(), now() + datetime.timedelta(hours=hours))


def on_host(name: str) -> str:
    """Flavor properties that only one host has."""
    return json.dumps(["==", "$hypervisor_hostname", name])


def unique(name: str) -> str:
    """A name that nothing else has."""
    return f"{name}-{next(_numbers)}-{uuid.uuid4().hex[:8]}"


def flavor_body(**changes: Any) -> dict[str, Any]:
    """A small flavor of 3 slots, a day at most."""
    return {
        "name": unique("functional"),
        "vcpu": 1,
        "memory_mb": 128,
        "disk_gb": 1,
        "slots": 3,
        "max_length_hours": 24,
        **changes,
    }


def slot(flavor: dict[str, Any], amount: Any = 1) -> dict[str, Any]:
    """One of our reservations in a v1 lease."""
    return {"resource_type": "flavor:slot", "flavor_id": flavor["id"], "amount": amount}


def instance(host: str, memory_mb: int = 128, amount: int = 1) -> dict[str, Any]:
    """One of Blazar's own virtual:instance reservations on a host in a v1 lease."""
    return {
        "resource_type": "virtual:instance",
        "vcpus": 1,
        "memory_mb": memory_mb,
        "disk_gb": 1,
        "amount": amount,
        "affinity": None,
        "resource_properties": on_host(host),
    }


def lease_body(period: Period, *reservations: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A v1 lease."""
    return {
        "name": unique("functional"),
        **period.v1,
        "reservations": list(reservations),
        "events": [],
        **changes,
    }


def book(
    who: Person, flavor: dict[str, Any], period: Period, count: int = 1, **more: Any
) -> requests.Response:
    """A booking over v2."""
    body = {"flavor_id": flavor["id"], **period.v2, "instance_count": count, **more}
    return who.ask("POST", "/v2/reservations/", body)


def booked(who: Person, flavor: dict[str, Any], period: Period, count: int = 1) -> dict[str, Any]:
    """A booking over v2 that has to succeed."""
    answer = book(who, flavor, period, count)
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "ALLOCATED"
    return answer.json()


def booked_now(
    who: Person, flavor: dict[str, Any], count: int = 1, hours: float = 1, **more: Any
) -> dict[str, Any]:
    """A booking that starts at once; another try when the minute passes meanwhile."""
    answer = book(who, flavor, from_now(hours), count, **more)
    if _too_late(answer):
        answer = book(who, flavor, from_now(hours), count, **more)
    assert answer.status_code == 200, answer.text
    return answer.json()


def lease_now(
    create: Callable[[dict[str, Any]], requests.Response], *reservations: dict[str, Any]
) -> dict[str, Any]:
    """A lease that starts at once; another try when the minute passes meanwhile."""
    answer = create(lease_body(from_now(), *reservations))
    if _too_late(answer):
        answer = create(lease_body(from_now(), *reservations))
    assert answer.status_code == 201, answer.text
    return answer.json()["lease"]


def _too_late(answer: requests.Response) -> bool:
    """Whether the minute passed on the way: to our API, or from it to Blazar's manager."""
    words = ("is in the past", "later than current")
    return answer.status_code == 400 and any(w in answer.json()["error_message"] for w in words)


def show(who: Person, reservation: dict[str, Any]) -> dict[str, Any]:
    """A reservation as v2 shows it now."""
    return who.asks("GET", f"/v2/reservations/{reservation['id']}/")


def becomes(who: Person, reservation: dict[str, Any], status: str) -> dict[str, Any]:
    """Wait for a reservation's status."""

    def probe() -> dict[str, Any] | None:
        found = show(who, reservation)
        assert found["status"] != "ERROR" or status == "ERROR", found
        return found if found["status"] == status else None

    return until(f"{reservation['id']} to be {status}", probe)


def end_now(who: Person, reservation: dict[str, Any]) -> None:
    """Let a started reservation end, by an update of its lease; not in the minute of its start."""
    path = f"/v1/leases/{reservation['lease_id']}"
    started = datetime.datetime.fromisoformat(reservation["start"])
    until("the minute after the start", lambda: now() > started)
    who.asks("PUT", path, {"end_date": now().strftime(_V1_TIME)})
