"""A fake of the balance service of Chameleon's portal: charges of reservations by its rules."""

import dataclasses
import datetime
import json
import re
from typing import Any

from oslo_utils import timeutils

from tests.fakes.keystone import Keystone
from tests.fakes.service import Answer, Request, Service

_PATH = r"/api/balance_service/v2/(check-create|check-update|on-end)/"


@dataclasses.dataclass
class Charge:
    """A charge of one reservation."""

    resource_id: str
    start: datetime.datetime
    end: datetime.datetime
    hourly: float

    @property
    def units(self) -> float:
        hours = (self.end - self.start).total_seconds() / 3600
        return max(round(hours * self.hourly, 2), 0.0)


class _DeniedError(Exception):
    """A refusal in words for the user."""


class ChameleonPortal(Service):
    """The service, with one project that has an allocation."""

    def __init__(self, keystone: Keystone, auth_url: str) -> None:
        """
        :param auth_url: the URL of the only site in the portal's settings.
        """
        super().__init__()
        self._keystone = keystone
        self._auth_url = auth_url
        self.forget()

    def forget(self) -> None:
        """Remove all charges."""
        self.charges: list[Charge] = []
        self.allocated = 1000.0
        #: By flavor, the price of an hour of a whole host.
        self.su_factors: dict[str, float] = {}
        self.bodies: list[tuple[str, Any]] = []
        self.requests.clear()

    @property
    def spent(self) -> float:
        return sum(charge.units for charge in self.charges)

    def steps(self) -> list[str]:
        """The steps of the requests so far."""
        return [step for step, _ in self.bodies]

    def answer(self, request: Request) -> Answer:
        found = re.fullmatch(_PATH, request.path)
        if not found:
            return Answer(404, b"<h1>Not Found</h1>", {"Content-Type": "text/html"})
        # A token of Blazar's service user. Its name is in the list of the portal's settings.
        if request.headers.get("x-auth-token") not in self._keystone.tokens:
            return Answer(403)
        url = request.body["context"]["auth_url"]
        if (url if url.endswith("/v3") else f"{url}/v3") != self._auth_url:
            return Answer(403)
        step = found[1]
        with self.lock:
            self.bodies.append((step, request.body))
            try:
                getattr(self, f"_{step.replace('-', '_')}")(request.body)
            except _DeniedError as denied:
                return Answer(403, {"message": str(denied)})
            except Exception:
                return Answer(500, {"message": "Unexpected Error"})
        return Answer(204)

    def _check_create(self, body: Any) -> None:
        lease = body["lease"]
        asked, left = self._price(body, lease), self.allocated - self.spent
        if asked > left:
            raise _DeniedError(
                f"Reservation for project x would spend {asked:.2f} SUs, only {left:.2f} left"
            )
        for each in lease["reservations"]:
            temporary = f"TMP/{lease['project_id']}/{lease['user_id']}/{lease['start_date']}"
            key = each.get("id", f"{temporary}/{lease['name']}")
            span = (_date(lease["start_date"]), _date(lease["end_date"]))
            self.charges.append(Charge(key, *span, self._hourly(each)))

    def _check_update(self, body: Any) -> None:
        before, after = body["current_lease"], body["lease"]
        more = self._price(body, after) - self._price(body, before)
        if more > (left := self.allocated - self.spent):
            raise _DeniedError(
                f"Reservation update would spend {more:.2f} more SUs, only {left:.2f} left"
            )
        for each in after["reservations"]:
            same = [r for r in before["reservations"] if r["id"] == each["id"]]
            hourly = self._hourly(each)
            if before["end_date"] == after["end_date"] and hourly == self._hourly(same[0]):
                continue
            self._replace(each["id"], after, hourly)

    def _replace(self, key: str, lease: Any, hourly: float) -> None:
        now = timeutils.utcnow()
        ongoing = [c for c in self.charges if c.resource_id == key and c.end > now]
        if len(ongoing) != 1:
            raise _DeniedError(f"Wrong number of ongoing charges for reservation {key}")
        ongoing[0].end = now
        start = max(now, _date(lease["start_date"]))
        self.charges.append(Charge(key, start, _date(lease["end_date"]), hourly))

    def _on_end(self, body: Any) -> None:
        self._price(body, body["lease"])
        now = timeutils.utcnow()
        for each in body["lease"]["reservations"]:
            for charge in self.charges:
                if charge.resource_id == each["id"] and charge.end > now:
                    charge.end = now

    def _price(self, body: Any, lease: Any) -> float:
        """What a lease costs. Who it is for is looked up in Keystone."""
        context = body["context"]
        for name in ("project_id", "user_id", "region_name"):
            context[name]
        length = _date(lease["end_date"]) - _date(lease["start_date"])
        hourly = sum(self._hourly(each) for each in lease["reservations"])
        return length.total_seconds() / 3600 * hourly

    def _hourly(self, reservation: Any) -> float:
        kind, hosts = reservation["resource_type"], reservation["allocations"]
        if kind == "virtual:floatingip":
            return 0.0
        if kind != "flavor:instance":
            return float(sum(float(host.get("su_factor", 1.0)) for host in hosts))
        factor = self.su_factors.get(_flavor_of(reservation), 1.0)
        vcpus = reservation["vcpus"] if hosts else 0
        return float(sum(factor * vcpus / host.get("vcpus", vcpus) for host in hosts))


def _flavor_of(reservation: Any) -> str:
    """The flavor for which a price may be configured. Null isn't expected."""
    text = reservation.get("resource_properties", "")
    try:
        return str(json.loads(text).get("id"))
    except json.JSONDecodeError:
        return ""


def _date(text: str) -> datetime.datetime:
    for form in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"):
        try:
            return datetime.datetime.strptime(text, form)
        except ValueError:
            continue
    raise ValueError(text)
