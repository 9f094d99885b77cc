"""What two projects and an operator have on a site, and who may see and change which part of it."""

import collections
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from blazar.db import api as db_api

from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.api.site import NOW
from tests.unit.wsgi import hostile, sending
from tests.unit.wsgi.odd_bodies import Known
from tests.unit.wsgi.whole import WholeSite
from warre_blazar.db import tables as models

PROJECTS = ("alpha", "beta")
#: The present time of requests. Each project has a running reservation then.
PRESENT = NOW + datetime.timedelta(minutes=30)

#: The tables whose rows belong to projects, each with the column that tells to which: the project
#: itself, or the lease or reservation that a row belongs to.
_OWNED = {
    "leases": "project_id",
    "warre_reservations": "project_id",
    "warre_backings": "project_id",
    "warre_series": "project_id",
    "warre_calendars": "project_id",
    "warre_flavor_projects": "project_id",
    "reservations": "lease_id",
    "events": "lease_id",
    "warre_executions": "lease_id",
    "warre_shares": "reservation_id",
    "instance_reservations": "reservation_id",
    "computehost_reservations": "reservation_id",
    "computehost_allocations": "reservation_id",
}
#: The tables that only an operator may change.
_OPERATORS = (
    *("warre_flavors", "warre_windows", "warre_window_flavors"),
    *("computehosts", "computehost_extra_capabilities", "resource_properties"),
)
#: Increases when a flavor is booked.
_CHANGED_BY_BOOKINGS = ("generation", "updated_at")

#: The rows of each owner as texts. None is the operator.
Rows = dict[str | None, collections.Counter[str]]


@dataclasses.dataclass(frozen=True)
class Things:
    """The ids of what there is, and texts that only one project and operators may see."""

    known: Known
    #: By project, what is never for others: ids and names of reservations and leases.
    secrets: dict[str, list[str]]
    #: By project, what an operator can share: private flavors, and windows over them.
    shareable: dict[str, list[str]]


def furnish(site: WholeSite) -> Things:
    """Give a site hosts, flavors and windows, and two projects with reservations and leases."""
    site.furnish()
    for host in db_api.host_list():
        values = {"property_name": "gpu_model", "capability_value": "a100"}
        db_api.host_extra_capability_create({"computehost_id": host["id"], **values})
        # As Nova tells it.
        db_api.host_update(host["id"], {"cpu_info": '{"model": "x"}'})
    admin = Person(site.app, "admin")
    public = things.add_flavor(admin, slots=20)
    window = things.add_window(admin, public, start=things.at(25), end=things.at(26))
    known: dict[str, list[tuple[str, str]]] = {
        "flavor_id": [("everybody", public["id"]), ("everybody", public["name"])],
        "window_id": [("everybody", window["id"])],
        "host_id": [("admin", host["id"]) for host in db_api.host_list()],
        "property_name": [("admin", "gpu_model")],
        "project_id": [(name, identity.project_id(name)) for name in PROJECTS],
        "floatingip_id": [("admin", "no-such-floating-ip")],
        **{name: [] for name in ("flavorproject_id", "reservation_id", "lease_id")},
        **{name: [] for name in ("series_id", "wait_id", "share_id", "calendar_id")},
    }
    added = {name: _add_project(site, name, public, known) for name in PROJECTS}
    # Blazar logs in with the trust of the admin who has created a host.
    trust = {"trustor_user_id": admin.user_id, "project_id": admin.project_id, "roles": []}
    site.cloud.keystone.trusts["trust"] = trust
    site.set_time(PRESENT)
    site.run_events()
    secrets, shareable = ({name: added[name][n] for name in PROJECTS} for n in (0, 1))
    return Things(known, secrets, shareable)


def _add_project(
    site: WholeSite, name: str, public: dict[str, Any], known: dict[str, list[tuple[str, str]]]
) -> tuple[list[str], list[str]]:
    """Add what a project has, and return its ``secrets`` and what is ``shareable``."""
    admin, member = Person(site.app, "admin"), Person(site.app, name)
    secret, note = f"secret-of-{name}", f"note-for-{name}"
    private = things.add_flavor(admin, name=f"flavor-of-{name}", is_public=False, description=note)
    grant = things.grant(admin, private, member.project_id)
    window = things.add_window(admin, private, start=things.at(27), end=things.at(28), note=note)
    soon = {"start": _text(NOW, 10), "end": _text(NOW, 300), "name": f"{secret}-running"}
    booked = [
        things.book(member, public, **soon),
        things.book(member, public, name=f"{secret}-booked", note=secret),
        things.book(member, private, start=things.at(3), end=things.at(4), note=secret),
    ]
    share = things.share(member, booked[1], admin.project_id)
    series = things.add_series(member, public, name=f"{secret}-series")
    calendar = things.made(member.post("calendars", {"name": "GPUs"}))
    instance = {"resource_type": "virtual:instance", **hostile.KINDS["virtual:instance"]}
    body = sending.lease(instance, name=f"{secret}-lease")
    lease = sending.send(site.app, "POST", "/v1/leases", body, who=name).json["lease"]
    wait = things.add_wait(member, private, name=f"{secret}-wait", note=secret)
    leases = [lease["id"], *(each["lease_id"] for each in booked)]
    reservations = [*(each["id"] for each in booked), lease["reservations"][0]["id"]]
    added = {
        "flavor_id": [private["id"], private["name"]],
        "flavorproject_id": [grant["id"]],
        "window_id": [window["id"]],
        "reservation_id": reservations,
        "wait_id": [wait["id"]],
        "lease_id": leases,
        "series_id": [series["id"]],
        "share_id": [share["id"]],
        "calendar_id": [calendar["id"]],
    }
    for kind, ids in added.items():
        known[kind] += [(name, each) for each in ids]
    names = [secret, *(each["name"] for each in booked if each["name"]), lease["name"]]
    shareable = [note, private["id"], private["name"], window["id"], grant["id"]]
    occurrences = [each["id"] for each in series["reservations"]]
    names += [series["id"], series["name"], *occurrences, wait["id"], share["id"]]
    names += [calendar["id"], calendar["url"]]
    return [*reservations, *leases, *names], shareable


def _text(time: datetime.datetime, minutes: int) -> str:
    return f"{(time + datetime.timedelta(minutes=minutes)).isoformat()}+00:00"


def rows(site: WholeSite) -> Rows:
    """The rows of each project, and those that only an operator may change."""
    owners: dict[str, str | None] = {}
    found: Rows = collections.defaultdict(collections.Counter)
    tables = models.metadata.tables
    with site.engine.connect() as connection:
        for table, column in _OWNED.items():
            for row in connection.execute(sa.select(tables[table])).mappings():
                owner = row[column] if column == "project_id" else owners.get(row[column])
                owners[row["id"] if "id" in row else row[column]] = owner
                found[owner][f"{table} {row}"] += 1
        for table in _OPERATORS:
            columns = [c for c in tables[table].c if c.name not in _CHANGED_BY_BOOKINGS]
            for row in connection.execute(sa.select(*columns)):
                found[None][f"{table} {row}"] += 1
    return found
