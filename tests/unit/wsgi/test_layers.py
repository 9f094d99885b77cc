"""Which layer stops which attack by itself: the table in the security page.

Without any layer every attack succeeds. That is stock Blazar 18, with our plugin's rules on hosts
and slots.
"""

import contextlib
import datetime
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from blazar import context
from blazar.db import api as db_api

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.wsgi import fuzzing, sending
from tests.unit.wsgi.whole import WholeSite
from warre_blazar.db import session
from warre_blazar.db.running import leases
from warre_blazar.domain.running import backing_names, lease_states
from warre_blazar.errors import blazar_errors
from warre_blazar.services.booking import lookup
from warre_blazar.services.running.repair import Repairer
from warre_blazar.wsgi import lease_bodies

PLUGIN, FILTER, APPLICATION = "plugin and repairs", "filter", "application"
LAYERS = (PLUGIN, FILTER, APPLICATION)
#: The layers that stop each attack by themselves.
STOPPED_BY = {
    "an update without events": {PLUGIN, FILTER, APPLICATION},
    "a start event of the client's own": {PLUGIN, APPLICATION},
    "a lease given to another project": {FILTER, APPLICATION},
    "an update that breaks the lease": {PLUGIN, APPLICATION},
    "an end event that is done already": {PLUGIN, APPLICATION},
    "more reservations than allowed": {APPLICATION},
    "a token without a project": {APPLICATION},
    "an end that was read before an extension": {PLUGIN},
}
START, END = things.moment(2, 9), things.moment(2, 11)
PAGE = pathlib.Path(__file__).parents[3] / "doc/source/security.rst"


class Layered:
    """A site on which only one layer, or none, is active."""

    def __init__(self, site: WholeSite, layer: str | None, patch: pytest.MonkeyPatch) -> None:
        self.site, self.layer = site, layer
        self.app = site.app if layer == APPLICATION else fuzzing.stock(site)
        if layer != FILTER:
            patch.setattr(site._manager.enforcement, "enabled_filters", [])
        if layer != PLUGIN:
            patch.setattr(blazar_errors, "check_time", lambda *_: None)
        self._seconds = 0.0
        self._repairer = Repairer(lambda _: 60.0, lambda: self._seconds)

    def send(self, method: str, path: str, body: Any = b"", who: str = "alpha") -> Any:
        return sending.send(self.app, method, path, body, who=who)

    def make(self, *slots: Any, **changes: Any) -> dict[str, Any]:
        answer = self.send("POST", "/v1/leases", sending.lease(*slots, **changes))
        return answer.json.get("lease", {}) if answer.status_int == 201 else {}

    def run(self, now: datetime.datetime) -> None:
        """Run Blazar's executor for two minutes, and ours with the repairs if it is active."""
        self.site.set_time(now)
        for _ in range(3):
            if self.layer == PLUGIN:
                self._seconds += 60
                self._repairer.look(now, thorough=True)
                self.site.execute()
            try:
                self.site.run_events()
            except Exception:  # what Blazar's timer logs
                continue


def state(lease: dict[str, Any]) -> str:
    return str(db_api.lease_get(lease["id"])["status"])


def is_whole(lease: dict[str, Any], now: datetime.datetime) -> bool:
    """Whether nothing is left to do for a lease, by the table of states."""
    with session.reader() as db:
        (found,) = leases.read(db, [lease["id"]])
    return lease_states.is_at_rest(found.state(now, lease_states.Age.STUCK))


def active(layered: Layered, flavor: dict[str, Any]) -> dict[str, Any]:
    made = layered.make(sending.slot(flavor))
    layered.site.set_time(START)
    layered.site.execute()
    assert state(made) == "ACTIVE"
    return made


def empty_events(layered: Layered, flavor: dict[str, Any]) -> bool:
    lease = active(layered, flavor)
    sooner = (START + datetime.timedelta(minutes=5)).strftime("%Y-%m-%d %H:%M")
    layered.send("PUT", f"/v1/leases/{lease['id']}", {"end_date": sooner, "events": []})
    layered.run(START)
    return not is_whole(lease, START) or any(e["lease_id"] is None for e in db_api.event_get_all())


def with_event(layered: Layered, flavor: dict[str, Any], **event: Any) -> dict[str, Any]:
    """A lease with an event that the client sent, unless the layer refuses it.

    SQLite takes no text for a time, as MariaDB does: there the row is what MariaDB would have.
    """
    sent = {**event, "time": event["time"].strftime("%Y-%m-%d %H:%M")}
    body = sending.lease(sending.slot(flavor), events=[sent])
    if layered.send("POST", "/v1/leases", body).status_int < 500:
        return {}
    made = layered.make(sending.slot(flavor), name="another")
    db_api.event_create({"lease_id": made["id"], **event})
    return made


EARLY = datetime.datetime(2100, 1, 2)


def early_start(layered: Layered, flavor: dict[str, Any]) -> bool:
    lease = with_event(layered, flavor, event_type="start_lease", time=EARLY, status="UNDONE")
    if not lease:
        return False
    # The database decides which of two start events Blazar finds. Here it finds the client's.
    for event in db_api.event_get_all():
        if event["event_type"] == "start_lease" and event["time"] != EARLY:
            db_api.event_destroy(event["id"])
    layered.run(EARLY)
    flavor_id = backing_names.nova_flavor_id(lease["reservations"][0]["id"])
    made = layered.site.cloud.nova.flavors.get(flavor_id)
    return made is not None and bool(made["access"])


def given_away(layered: Layered, flavor: dict[str, Any]) -> bool:
    lease = layered.make(sending.slot(flavor))
    body = {"name": "mine", "project_id": "nobody"}
    layered.send("PUT", f"/v1/leases/{lease['id']}", body)
    layered.run(things.moment(2, 8))
    return db_api.lease_get(lease["id"])["project_id"] == "nobody"


def broken(layered: Layered, flavor: dict[str, Any]) -> bool:
    lease = layered.make(sending.slot(flavor))
    layered.send("PUT", f"/v1/leases/{lease['id']}", {"reservations": None})
    now = things.moment(2, 8)
    layered.run(now)
    return not is_whole(lease, now)


def decoy(layered: Layered, flavor: dict[str, Any]) -> bool:
    lease = with_event(layered, flavor, event_type="end_lease", time=EARLY, status="DONE")
    if not lease:
        return False
    for event in db_api.event_get_all():
        if event["event_type"] == "end_lease" and event["time"] != EARLY:
            db_api.event_destroy(event["id"])
    layered.run(START)
    return state(lease) != "ACTIVE"


def many(layered: Layered, flavor: dict[str, Any]) -> bool:
    asked: list[Any] = []
    manager = layered.site._manager
    create = manager.create_lease
    manager.create_lease = lambda lease_values: asked.append(lease_values) or create(lease_values)
    try:
        layered.make(*[sending.slot(flavor)] * (lease_bodies.MOST_RESERVATIONS + 1))
    finally:
        del manager.create_lease
    return bool(asked)


def unscoped(layered: Layered, flavor: dict[str, Any]) -> bool:
    return bool(layered.send("GET", "/v1/leases", who="unscoped").status_int >= 500)


def outdated_end(layered: Layered, flavor: dict[str, Any]) -> bool:
    lease = active(layered, flavor)
    longer = {"end_date": "2100-01-03 12:00"}
    assert layered.send("PUT", f"/v1/leases/{lease['id']}", longer).status_int == 200
    layered.site.set_time(END)
    found = {e["event_type"]: e for e in db_api.event_get_all()}
    with context.BlazarContext():
        db_api.event_update(found["end_lease"]["id"], {"status": "IN_PROGRESS"})
        with contextlib.suppress(blazar_errors.TooEarly):
            layered.site._manager.end_lease(lease_id=lease["id"], event_id=found["end_lease"]["id"])
    layered.run(END)
    reservation, _ = lookup.get(lease["reservations"][0]["id"], None)
    return reservation.state != "ACTIVE"


HOLES: dict[str, Callable[[Layered, dict[str, Any]], bool]] = dict(
    zip(
        STOPPED_BY,
        (empty_events, early_start, given_away, broken, decoy, many, unscoped, outdated_end),
        strict=True,
    )
)


@pytest.mark.parametrize("layer", [None, *LAYERS], ids=["none", *LAYERS])
@pytest.mark.parametrize("hole", HOLES)
def test_attack_is_stopped_by_its_layers_only(
    site: WholeSite, admin: Person, monkeypatch: pytest.MonkeyPatch, hole: str, layer: str | None
):
    flavor = things.add_flavor(admin, slots=8)
    is_open = HOLES[hole](Layered(site, layer, monkeypatch), flavor)
    assert is_open == (layer not in STOPPED_BY[hole])


def test_security_page_has_the_table():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith(tuple(HOLES))]
    found = {}
    for line in rows:
        hole = next(hole for hole in HOLES if line.startswith(hole))
        marks = line[len(hole) :].split()
        found[hole] = {layer for layer, mark in zip(LAYERS, marks, strict=True) if mark == "yes"}
    assert found == STOPPED_BY
