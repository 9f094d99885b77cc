"""What reading claims and lists costs on MariaDB: reservations that are over aren't read.

MariaDB counts the rows that a session reads. These tests run on MariaDB only.
"""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.db import flavors, session, tables
from warre_blazar.db.booking import reservations
from warre_blazar.db.booking.reservations import Filter
from warre_blazar.db.hosts import allocations

pytestmark = pytest.mark.parametrize("kind", ["mariadb"], indirect=True, scope="session")

SPAN = world.hours(1, 3)
DAY = datetime.timedelta(days=1)


def add_past(database: sa.Engine, flavor_id: str, count: int) -> None:
    """Add reservations that ended long ago."""
    _add(database, flavor_id, count, deleted=False)


def add_deleted(database: sa.Engine, flavor_id: str, count: int) -> None:
    """Add reservations that ended long ago, and whose leases were deleted then."""
    _add(database, flavor_id, count, deleted=True)


def _add(database: sa.Engine, flavor_id: str, count: int, *, deleted: bool) -> None:
    rows: dict[sa.Table, list[dict[str, Any]]] = defaultdict(list)
    for number in range(count):
        start, key = world.LONG_AGO + number * DAY, uuid.uuid4().hex
        dates = {"start_date": start, "end_date": start + DAY}
        whose = {"project_id": world.PROJECT}
        if deleted:
            state = {"status": "COMPLETE", "deleted_at": start + DAY}
        else:
            lease = {"id": key, "name": key, "user_id": "user", "status": "TERMINATED"}
            rows[tables.leases].append({**lease, **whose, **dates})
            rows[tables.reservations].append(
                {"id": key, "lease_id": key, "resource_type": "flavor:slot", "status": "deleted"}
            )
            state = {"live_id": key}
        booked = {"flavor_id": flavor_id, "instance_count": 1, "shape": "{}", "created_at": start}
        rows[tables.bookings].append(
            {"id": key, "reservation_id": key, **booked, **whose, **dates, **state}
        )
    with database.begin() as db:
        for table, of_table in rows.items():
            db.execute(table.insert(), of_table)
        db.execute(sa.text(f"ANALYZE TABLE {', '.join(table.name for table in rows)}")).all()


def rows_read(look: Callable[[sa.orm.Session], Any]) -> int:
    """The number of rows, of tables and of indexes, that something reads."""
    with session.reader() as db:
        before = _counted(db)
        look(db)
        return _counted(db) - before


def _counted(db: sa.orm.Session) -> int:
    found = db.execute(sa.text("SHOW SESSION STATUS LIKE 'Handler_read%'"))
    return sum(int(value) for _, value in found)


def test_look_at_hosts_reads_no_reservation_that_is_over(database: sa.Engine, cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=9)
    world.book(world.request(flavor, SPAN))

    def look(db: sa.orm.Session) -> Any:
        return allocations.matching_hosts(db, flavor.id, lambda h: h.matches(flavor.shape, None))

    for add in (add_past, add_deleted):
        add(database, flavor.id, 300)
        few = rows_read(look)
        add(database, flavor.id, 300)
        assert rows_read(look) - few < 30


def test_questions_about_a_flavor_read_no_past_reservation(database: sa.Engine, cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=9)
    world.book(world.request(flavor, SPAN))
    add_deleted(database, flavor.id, 600)
    for look in (reservations.live_count, flavors.hosts_of_shapes, flavors.hosts_of_flavor):
        assert rows_read(lambda db, look=look: look(db, flavor.id)) < 60


@pytest.mark.parametrize("add", [add_past, add_deleted])
@pytest.mark.parametrize("project_id", [None, world.PROJECT])
def test_list_from_now_on_reads_no_reservation_that_has_ended(
    database: sa.Engine, cloud: Cloud, add: Callable[..., None], project_id: str | None
):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=9)
    booked = world.book(world.request(flavor, SPAN))
    add(database, flavor.id, 600)
    wanted = Filter(project_id=project_id, after=world.NOW)
    found: list[Any] = []
    number = rows_read(lambda db: found.append(reservations.listing(db, wanted, limit=20)))
    ((page, total),) = found
    assert ([each.id for each in page], total) == ([booked.reservation_id], 1)
    assert number < 60
