"""A fake Coral Credits, which is as strict as the service and answers in its forms.

It has the requests about consumers. The rules are those of the service's serializers and views.
"""

import datetime
import ipaddress
import math
import re
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from oslo_utils import timeutils

from tests.fakes.service import Answer, Request, Service

_HTML = {"Content-Type": "text/html"}
_STEPS = ("check-create", "create", "check-update", "update", "on-end")

Hours = dict[str, float]


class _Refused(Exception):
    """An answer other than 204."""

    def __init__(self, status: int, body: Any) -> None:
        self.answer = Answer(status, body, _HTML if isinstance(body, bytes) else {})


class CoralCredits(Service):
    """The service, with credits by project."""

    def __init__(self) -> None:
        super().__init__()
        self.token = "token-of-the-service"
        #: The resource classes that the service knows.
        self.classes = {"VCPU", "MEMORY_MB", "DISK_GB", "PGPU"}
        self.forget()

    def forget(self) -> None:
        """Remove all accounts and consumers."""
        #: The hours that are left, by project and resource class.
        self.credits: dict[uuid.UUID, Hours] = {}
        #: The hours that each lease has taken.
        self.consumers: dict[uuid.UUID, Hours] = {}
        #: The bodies of all requests, by step.
        self.bodies: list[tuple[str, Any]] = []
        self.requests.clear()

    def grant(self, project_id: str, **hours: float) -> None:
        self.credits[uuid.UUID(project_id)] = dict(hours)

    def steps(self) -> list[str]:
        """The steps of the requests so far."""
        return [step for step, _ in self.bodies]

    def answer(self, request: Request) -> Answer:
        if not re.fullmatch(r"/consumer//?[^/]+", request.path):
            return Answer(404, b"<h1>Not Found</h1>", _HTML)
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return Answer(401, {"detail": "Authentication credentials were not provided."})
        step = request.path.rsplit("/", 1)[-1]
        if step not in _STEPS or request.method != "POST":
            return Answer(405, {"detail": f'Method "{request.method}" not allowed.'})
        with self.lock:
            self.bodies.append((step, request.body))
            try:
                self._handle(step, request.body)
            except _Refused as refused:
                return refused.answer
            except (AttributeError, KeyError, TypeError, ValueError):
                # The service doesn't expect it, and nothing is written.
                return Answer(500, b"<h1>Server Error (500)</h1>", _HTML)
        return Answer(204)

    def _handle(self, step: str, body: Any) -> None:
        if step == "on-end":
            # Its lease ends now, or at the start if that is to come.
            now = timeutils.utcnow()
            start = _date(body["lease"]["start_date"])
            body = {**body, "lease": {**body["lease"], "end_date": max(now, start).isoformat()}}
            body["current_lease"] = body["lease"]
        needs_current = step in ("check-update", "update", "on-end")
        lease = {"id": str(uuid.uuid4()), **body["lease"]}
        checked = _Checked({**body, "lease": lease}, needs_current=needs_current)
        held = self._held(body["current_lease"]["id"]) if needs_current else None
        left = self.credits.get(checked.project_id)
        if left is None:
            _forbid("No matching ResourceProviderAccount found")
            raise AssertionError
        delta = self._delta(checked, held)
        for name in delta:
            if name not in left:
                _forbid(f"NoCreditAllocation('No credit allocated for resource_type {name}')")
        for name, hours in left.items():
            if hours < delta[name]:
                _forbid(
                    f"InsufficientCredits('Insufficient {name} credits available. "
                    f"Requested:{delta[name]}, Available:{hours:.0f} hours')"
                )
        if step in ("create", "update", "on-end"):
            self._spend(checked, delta, held, left)

    def _held(self, lease_id: str) -> Hours:
        if uuid.UUID(lease_id) not in self.consumers:
            raise _Refused(404, {"detail": "No Consumer matches the given query."})
        return self.consumers[uuid.UUID(lease_id)]

    def _delta(self, checked: "_Checked", held: Hours | None) -> Hours:
        delta: Hours = {}
        for name, amount in checked.requests.items():
            if name not in self.classes:
                raise _Refused(404, {"detail": "No ResourceClass matches the given query."})
            hours = float(amount) * checked.length
            if not held and hours <= 0:
                _forbid(
                    f"ResourceRequestFormatError('Invalid request: {hours} hours requested for "
                    f"{name}.')"
                )
            delta[name] = math.ceil(hours - (held or {}).get(name, 0))
        return delta

    def _spend(self, checked: "_Checked", delta: Hours, held: Hours | None, left: Hours) -> None:
        if held is None and checked.lease_id in self.consumers:
            _forbid("IntegrityError('UNIQUE constraint failed: api_consumer.consumer_uuid')")
        # A class that the lease hasn't had before is a fault of the service.
        taken = {name: (held[name] if held else 0) + hours for name, hours in delta.items()}
        for name, hours in delta.items():
            left[name] -= hours
        self.consumers[checked.lease_id] = taken


def _forbid(said: str) -> None:
    raise _Refused(403, {"error": said})


def _date(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=None)


class _Checked:
    """A body that the service's serializers accept."""

    def __init__(self, body: Any, *, needs_current: bool) -> None:
        self._errors: dict[str, Any] = {}
        context, lease = body["context"], body["lease"]
        self.project_id = self._uuid("project_id", context.get("project_id"))
        self._uuid("user_id", context.get("user_id"))
        self._check("auth_url", context.get("auth_url"), _is_url, "Enter a valid URL.")
        self.lease_id = self._uuid("id", lease["id"])
        self._lease(lease)
        if needs_current:
            self._lease(body["current_lease"])
            self._uuid("current_lease", body["current_lease"].get("id"))
        if self._errors:
            raise _Refused(400, self._errors)
        context["region_name"]
        if "current_lease" in body and body["current_lease"] is None:
            raise TypeError
        self.requests = dict(lease["resource_requests"])
        seconds = (_date(lease["end_date"]) - _date(lease["start_date"])).total_seconds()
        self.length = seconds / 3600

    def _lease(self, lease: dict[str, Any]) -> None:
        self._check("name", lease.get("name"), _is_text, "This field is required.")
        for name in ("start_date", "end_date"):
            self._check(name, lease.get(name), _is_date, "Datetime has wrong format.")
        if lease.get("before_end_date") is not None:
            self._check("before_end_date", lease["before_end_date"], _is_date, "Wrong format.")
        if not isinstance(lease.get("resource_requests"), dict):
            self._errors["resource_requests"] = ["This field is required."]
        for each in lease["reservations"]:
            self._reservation(each)

    def _reservation(self, values: dict[str, Any]) -> None:
        needed = {
            "flavor:instance": ("amount",),
            "virtual:instance": ("amount", "vcpus", "memory_mb", "disk_gb"),
            "physical:host": ("min", "max"),
        }.get(values["resource_type"])
        if needed is None:
            # The service means to say that the type is unknown, and fails.
            raise AttributeError
        for name in needed:
            self._check(name, values.get(name), _is_integer, "A valid integer is required.")
        if values["resource_type"] == "flavor:instance":
            self._check("flavor_id", values.get("flavor_id"), _is_text, "This is required.")
            if values.get("affinity") is not None:
                self._check("affinity", values["affinity"], _is_text, "Not a valid string.")
        if values["resource_type"] == "virtual:instance":
            # The service fills in null if the key is missing, and then refuses it.
            self._check("affinity", values.get("affinity"), _is_text_or_empty, "Not a text.")
        for host in values.get("allocations", []):
            for name in ("id", "hypervisor_hostname"):
                self._check(name, host.get(name), _is_text, "This field is required.")

    def _uuid(self, name: str, value: Any) -> uuid.UUID:
        try:
            return uuid.UUID(value)
        except (AttributeError, TypeError, ValueError):
            self._errors[name] = ["Must be a valid UUID."]
            return uuid.UUID(int=0)

    def _check(self, name: str, value: Any, is_valid: Callable[[Any], bool], said: str) -> None:
        if not is_valid(value):
            self._errors[name] = [said]


def _is_text(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _is_text_or_empty(value: Any) -> bool:
    return value == "" or _is_text(value)


def _is_integer(value: Any) -> bool:
    return not isinstance(value, bool) and re.fullmatch(r"-?\d+", str(value)) is not None


def _is_date(value: Any) -> bool:
    try:
        datetime.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return True


def _is_url(value: Any) -> bool:
    host = urlsplit(str(value)).hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "." in host
    return True
