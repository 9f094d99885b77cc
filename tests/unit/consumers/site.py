"""A site with the exact plugins, and what programs send to it and read from it over v1."""

import datetime
from typing import Any

import webob

from tests.unit.api.site import NOW
from tests.unit.wsgi import sending
from tests.unit.wsgi.whole import WholeSite

START = datetime.datetime(2100, 1, 3, 9)
END = datetime.datetime(2100, 1, 3, 17)
#: A time of which SQLite and PostgreSQL keep the microseconds.
ODD = NOW.replace(microsecond=166530)


class ExactSite(WholeSite):
    """The site, with what its users do over v1."""

    plugins = (
        "exact.physical.host.plugin,exact.virtual.instance.plugin,exact.flavor.instance.plugin,"
        "flavor.slot.plugin"
    )

    def send(self, method: str, path: str = "", body: Any = b"", **more: Any) -> webob.Response:
        """Send a request about leases as a user does."""
        return sending.send(self.app, method, f"/v1/leases{path}", body, **more)

    def book(self, *reservations: dict[str, Any], **changes: Any) -> dict[str, Any]:
        """Book a lease, and return it."""
        answer = self.send("POST", body=body(*reservations, **changes))
        assert answer.status_int == 201, answer
        return dict(answer.json["lease"])

    def lease(self, lease_id: str) -> dict[str, Any]:
        """A lease as v1 shows it."""
        return dict(self.send("GET", f"/{lease_id}").json["lease"])

    def go_to(self, now: datetime.datetime) -> None:
        """Let a time come, and do what the manager does then."""
        self.set_time(now)
        self.execute()
        self.run_events()


def body(*reservations: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The body of a booking as python-blazarclient and Azimuth's operator send it."""
    dates = {"start_date": f"{START:%Y-%m-%d %H:%M}", "end_date": f"{END:%Y-%m-%d %H:%M}"}
    return sending.lease(*reservations, **{**dates, **changes})


def instance(flavor_id: Any, amount: Any = 1, affinity: Any = "None") -> dict[str, Any]:
    """A reservation of ``flavor:instance`` in such a body."""
    return {
        "amount": amount,
        "flavor_id": flavor_id,
        "resource_type": "flavor:instance",
        "affinity": affinity,
    }


__all__ = ["END", "NOW", "ODD", "START", "ExactSite", "body", "instance"]
