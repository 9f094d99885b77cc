"""What Nova and Placement hold for reservations."""

import datetime
import re
from collections.abc import Iterable

from tests.functional.cloud import world
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import until

_ID = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_FLAVOR, _CLASS = "reservation:", "CUSTOM_RESERVATION_"


def _held(admin: Person) -> set[tuple[str, str]]:
    """The kind and the reservation id of all flavors, aggregates and classes of reservations."""
    compute, placement = admin.cloud.compute, admin.cloud.placement
    held = {
        ("flavor", f.name.removeprefix(_FLAVOR))
        for f in compute.flavors(is_public=None)
        if f.name.startswith(_FLAVOR)
    }
    held |= {("aggregate", a.name) for a in compute.aggregates() if _ID.match(a.name)}
    for cls in placement.resource_classes():
        if cls.name.startswith(_CLASS):
            held.add(("class", cls.name.removeprefix(_CLASS).lower().replace("_", "-")))
    return held


def leftovers(admin: Person, reservation_id: str, servers: Iterable[str] = ()) -> list[str]:
    """What Nova and Placement still hold for a reservation, and those of the servers that exist."""
    existing = {s.id for s in admin.cloud.compute.servers(details=False, all_projects=True)}
    held = [kind for kind, owner in _held(admin) if owner == reservation_id]
    return sorted(held + [f"server {server}" for server in servers if server in existing])


def orphans(admin: Person, records: Records) -> set[tuple[str, str]]:
    """What Nova and Placement hold for reservations that are over or don't exist in Blazar."""
    held = _held(admin)
    return {(kind, owner) for kind, owner in held if owner not in records.live()}


def computes_report(admin: Person, since: datetime.datetime) -> None:
    """Wait until all compute services have reported to Nova after a time.

    After an outage of the message bus or the database, Nova takes them for dead until then, and
    boots no servers there.
    """

    def have_reported() -> bool:
        services = [s for s in admin.cloud.compute.services() if s.host in world.HOSTS]
        reports = [datetime.datetime.fromisoformat(s.updated_at) for s in services]
        return len(services) == len(world.HOSTS) and min(reports) > since

    until("the computes to report again", have_reported)
