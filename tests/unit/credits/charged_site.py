"""A site whose leases are charged: how they are booked on each path, and what managers do then."""

import contextlib
import datetime
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db.sqlalchemy import api
from blazar.enforcement import UsageEnforcement
from blazar.manager import service
from oslo_config import cfg
from oslo_utils import timeutils

from tests.functional.db import managers, notices
from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.api.site import SlowExecutor
from tests.unit.wsgi import sending
from tests.unit.wsgi.whole import WholeSite
from warre_blazar.db import credits as accounts
from warre_blazar.db import session
from warre_blazar.db.messages import deliveries
from warre_blazar.db.messages.outbox import Telling
from warre_blazar.db.tables import log_entries
from warre_blazar.domain.messages.notices import Notice
from warre_blazar.plugins import monitor
from warre_blazar.plugins.notifications import BlazarsOutside
from warre_blazar.services.credits.looking import CreditsChannel
from warre_blazar.services.messages.delivery import Delivery
from warre_blazar.services.running.executor import Pools
from warre_blazar.site_rules import credits

#: The ways in to a booking of two hours.
PATHS = ("/v2", "/v2/warre/v1", "/v1")
#: The identity service in the catalog, as the credits services know it.
AUTH_URL = "https://keystone.example.org:5000/v3"


def prepare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give people UUIDs as ids, and restore after the test what the filter changes in Blazar."""
    monkeypatch.setattr(identity, "project_id", lambda person: _uuid(f"project {person}"))
    monkeypatch.setattr(identity, "user_id", lambda person: _uuid(f"user {person}"))
    # The API remembers whose a token is.
    monkeypatch.setattr(identity, "token", lambda person: f"token-with-uuid-{person}")
    for owner, name in (
        (service.ManagerService, "create_lease"),
        (service.ManagerService, "update_lease"),
        (api, "reservation_create"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))


def _uuid(name: str) -> str:
    return uuid.uuid5(uuid.NAMESPACE_DNS, name).hex


@contextlib.contextmanager
def filtering(blazar: WholeSite) -> Iterator[Callable[..., None]]:
    """A context with a function that enables the filter with options."""
    named: set[str] = {"enabled_filters"}
    before = list(cfg.CONF.enforcement.enabled_filters)
    enforcement = blazar._manager.enforcement

    def configure(**options: object) -> None:
        options = {"credits_auth_url": AUTH_URL, **options}
        named.update(options)
        filters = [*before, "CreditsFilter"]
        for name, value in {**options, "enabled_filters": filters}.items():
            cfg.CONF.set_override(name, value, "enforcement")
        blazar._manager.enforcement = UsageEnforcement()

    yield configure
    for name in named:
        cfg.CONF.clear_override(name, "enforcement")
    cfg.CONF.set_override("enabled_filters", before, "enforcement")
    blazar._manager.enforcement = enforcement


class ChargedSite:
    """The site, with the channel of the credits service."""

    def __init__(self, blazar: WholeSite) -> None:
        self.blazar = blazar
        inline = managers.Inline()
        outside = BlazarsOutside(lambda _: ())
        pools = Pools(inline, inline, inline)
        blazar.executor = SlowExecutor("host", outside, monitor.opener(), lambda: 5.0, pools)
        session.change(deliveries.set_channels, {accounts.LOOKS: False})

    def look(self) -> None:
        """Do what the channel's thread does, until nothing is due."""
        self.blazar.settle()
        delivery = Delivery(CreditsChannel(credits.charging()), "manager")
        while delivery.run():
            pass

    def pass_time(self, **length: float) -> None:
        """Let time pass, without starts and ends."""
        self.blazar.set_time(timeutils.utcnow() + datetime.timedelta(**length))

    @staticmethod
    def waiting() -> list[Notice]:
        """What the channel has yet to do."""
        return notices.waiting(accounts.LOOKS)

    @staticmethod
    def accounts() -> int:
        """How many leases have an account."""
        same = log_entries.c.telling == Telling.KEPT.value
        with session.reader() as db:
            return int(db.scalar(sa.select(sa.func.count()).where(same)) or 0)


def book(person: Person, flavor: dict[str, Any], path: str = "/v2", **changes: Any) -> Any:
    """The answer to a booking of two hours over one of ``PATHS``."""
    if path == "/v1":
        slot = sending.slot(flavor, affinity=None, amount=changes.get("instance_count", 1))
        return book_lease(person, slot)
    person.root = path
    return person.post("reservations", things.booking(flavor, **changes))


def book_lease(person: Person, *reservations: dict[str, Any]) -> Any:
    """The answer to a booking of a lease for two hours over v1."""
    return send(person, "POST", "/v1/leases", sending.lease(*reservations))


def send(person: Person, method: str, path: str, body: Any = b"") -> Any:
    """The answer of Blazar's v1."""
    return sending.send(person._app.app, method, path, body, who=person.name)
