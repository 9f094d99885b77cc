"""Makers of what tests book: flavors, periods, reservations and leases."""

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
#: A property, and the two hosts that have it.
PROPERTY, PAIR = "functional_group", ("cmp1", "cmp2")
#: The memory of a host that can be booked.
HOST_MEMORY_MB = 8192 - 512

_numbers = itertools.count(1)
_V1_TIME = "%Y-%m-%d %H:%M"
_V2_TIME = "%Y-%m-%dT%H:%M:00+00:00"


def now() -> datetime.datetime:
    """The present minute."""
    return datetime.datetime.now(datetime.UTC).replace(second=0, microsecond=0)


@dataclasses.dataclass(frozen=True)
class Period:
    """A period to book, which can be written as v1 and v2 write times."""

    start: datetime.datetime
    end: datetime.datetime

    @classmethod
    def of(cls, reservation: dict[str, Any]) -> "Period":
        """The period of a reservation, as v2 shows it."""
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
        """The period with its start and its end moved by some hours."""
        return Period(
            self.start + datetime.timedelta(hours=start), self.end + datetime.timedelta(hours=end)
        )


def far(hours: float = 1) -> Period:
    """A period in the far future, at random, so that tests don't collide with other bookings."""
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
    """The body for a small flavor with 3 slots and at most a day."""
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
    """A flavor:slot reservation in the body of a v1 lease."""
    return {"resource_type": "flavor:slot", "flavor_id": flavor["id"], "amount": amount}


def instance(host: str, memory_mb: int = 128, amount: int = 1) -> dict[str, Any]:
    """A reservation of Blazar's type virtual:instance in the body of a v1 lease."""
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
    """The body of a v1 lease."""
    return {
        "name": unique("functional"),
        **period.v1,
        "reservations": list(reservations),
        "events": [],
        **changes,
    }


def book(
    who: Person,
    flavor: dict[str, Any],
    period: Period,
    count: int = 1,
    path: str = "/v2/reservations/",
    **more: Any,
) -> requests.Response:
    """Book over v2, or over Warre's path, and return the response."""
    body = {"flavor_id": flavor["id"], **period.v2, "instance_count": count, **more}
    return who.ask("POST", path, body)


def booked(who: Person, flavor: dict[str, Any], period: Period, count: int = 1) -> dict[str, Any]:
    """Book over v2, which must succeed, and return the reservation."""
    answer = book(who, flavor, period, count)
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "ALLOCATED"
    return answer.json()


def booked_now(
    who: Person, flavor: dict[str, Any], count: int = 1, hours: float = 1, **more: Any
) -> dict[str, Any]:
    """Book from the present minute on. If the minute passes in the meantime, try once more."""
    answer = book(who, flavor, from_now(hours), count, **more)
    if _too_late(answer):
        answer = book(who, flavor, from_now(hours), count, **more)
    assert answer.status_code == 200, answer.text
    return answer.json()


def lease_now(
    create: Callable[[dict[str, Any]], requests.Response], *reservations: dict[str, Any]
) -> dict[str, Any]:
    """Make a lease from the present minute on. If the minute passes meanwhile, try once more."""
    answer = create(lease_body(from_now(), *reservations))
    if _too_late(answer):
        answer = create(lease_body(from_now(), *reservations))
    assert answer.status_code == 201, answer.text
    return answer.json()["lease"]


def _too_late(answer: requests.Response) -> bool:
    """Whether the minute has passed before the API, or Blazar's manager, checked the request."""
    words = ("is in the past", "later than current")
    return answer.status_code == 400 and any(w in answer.json()["error_message"] for w in words)


def show(who: Person, reservation: dict[str, Any]) -> dict[str, Any]:
    """A reservation as v2 shows it now."""
    return who.asks("GET", f"/v2/reservations/{reservation['id']}/")


def becomes(who: Person, reservation: dict[str, Any], status: str) -> dict[str, Any]:
    """Wait until a reservation has a status, and return the reservation."""

    def probe() -> dict[str, Any] | None:
        shown = show(who, reservation)
        assert shown["status"] != "ERROR" or status == "ERROR", shown
        return shown if shown["status"] == status else None

    return until(f"{reservation['id']} to be {status}", probe)


def end_now(who: Person, reservation: dict[str, Any]) -> None:
    """End a reservation by an update of its lease, once it has started, in a later minute.

    If the minute passes in the meantime, try once more.
    """
    path = f"/v1/leases/{reservation['lease_id']}"
    started = datetime.datetime.fromisoformat(reservation["start"])
    until("the minute after the start", lambda: now() > started)
    # Blazar refuses to change a lease that it is starting.
    until("the lease to start", lambda: who.asks("GET", path)["lease"]["status"] == "ACTIVE")
    answer = who.ask("PUT", path, {"end_date": now().strftime(_V1_TIME)})
    if _too_late(answer):
        answer = who.ask("PUT", path, {"end_date": now().strftime(_V1_TIME)})
    assert answer.status_code == 200, answer.text


def delete_lease(who: Person, lease_id: str) -> None:
    """Delete a lease, if it exists, as soon as nothing else is working on it.

    A lease that stayed would make other tests fail, without a hint at the cause. Blazar's own
    plugins wait for Nova, so on a busy machine Blazar may answer 500 before they have finished.
    """
    path = f"/v1/leases/{lease_id}"
    until(
        f"lease {lease_id} to be deleted",
        lambda: who.ask("DELETE", path).status_code in (204, 404),
    )
