"""What reading claims costs on MariaDB: reservations that are over aren't read.

MariaDB counts the rows that a session reads. These tests run on MariaDB only.
"""

import datetime
import uuid

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.db import session, tables
from warre_blazar.db.hosts import allocations

pytestmark = pytest.mark.parametrize("kind", ["mariadb"], indirect=True, scope="session")

SPAN = world.hours(1, 3)


def add_past(database: sa.Engine, flavor_id: str, count: int) -> None:
    """Add reservations that ended long ago."""
    day = datetime.timedelta(days=1)
    with database.begin() as db:
        for number in range(count):
            ids = {name: uuid.uuid4().hex for name in ("lease", "reservation")}
            start = world.LONG_AGO + number * day
            lease = {"name": ids["lease"], "user_id": "user", "project_id": world.PROJECT}
            db.execute(
                tables.leases.insert().values(
                    id=ids["lease"],
                    start_date=start,
                    end_date=start + day,
                    status="TERMINATED",
                    **lease,
                )
            )
            db.execute(
                tables.reservations.insert().values(
                    id=ids["reservation"],
                    lease_id=ids["lease"],
                    resource_type="flavor:slot",
                    status="deleted",
                )
            )
            db.execute(
                tables.bookings.insert().values(
                    id=ids["reservation"],
                    reservation_id=ids["reservation"],
                    flavor_id=flavor_id,
                    instance_count=1,
                    shape="{}",
                    created_at=start,
                )
            )
    with database.connect() as db:
        names = ", ".join(t.name for t in (tables.leases, tables.reservations, tables.bookings))
        db.execute(sa.text(f"ANALYZE TABLE {names}")).all()


def rows_read(flavor) -> int:
    """The number of rows, of tables and of indexes, that a look at all hosts reads."""
    with session.reader() as db:
        before = _counted(db)
        allocations.booked_hosts(db, flavor.id, flavor.shape, SPAN)
        return _counted(db) - before


def _counted(db: sa.orm.Session) -> int:
    found = db.execute(sa.text("SHOW SESSION STATUS LIKE 'Handler_read%'"))
    return sum(int(value) for _, value in found)


def test_look_at_hosts_reads_no_reservation_that_is_over(database: sa.Engine, cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=9)
    world.book(world.request(flavor, SPAN))
    add_past(database, flavor.id, 300)
    few = rows_read(flavor)
    add_past(database, flavor.id, 300)
    assert rows_read(flavor) - few < 30
