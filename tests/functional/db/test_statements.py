"""How many SQL statements things take: a number that doesn't grow with the hosts."""

import contextlib
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from blazar.db.sqlalchemy import models as blazar

from tests.functional.db import world
from warre_blazar import exceptions
from warre_blazar.db import hosts, session
from warre_blazar.services import reservations

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)


@contextlib.contextmanager
def counted(engine: sa.Engine) -> Iterator[list[str]]:
    """The statements of a block."""
    found: list[str] = []

    def note(connection, cursor, statement, *rest) -> None:
        found.append(statement)

    sa.event.listen(engine, "before_cursor_execute", note)
    yield found
    sa.event.remove(engine, "before_cursor_execute", note)


def fill(engine: sa.Engine, host_count: int, reservation_count: int) -> None:
    """Hosts with a property each, and reservations of another type on every one of them."""
    host_ids = [
        world.add_host(None, f"host-{n}", properties={"gpu": "a100"}) for n in range(host_count)
    ]
    leases = [
        world.add_lease(SPAN, resource_type="virtual:instance") for _ in range(reservation_count)
    ]
    usage = {"vcpus": 1, "memory_mb": 1, "disk_gb": 1, "amount": 1}
    with engine.begin() as connection:
        for lease in leases:
            ours = {"reservation_id": lease.reservation_id}
            connection.execute(
                blazar.InstanceReservations.__table__.insert().values(
                    id=lease.reservation_id, **ours, **usage
                )
            )
            connection.execute(
                blazar.ComputeHostAllocation.__table__.insert(),
                [{"id": f"{h}-{lease.id}"[:36], "compute_host_id": h, **ours} for h in host_ids],
            )


def statements(engine: sa.Engine, flavor) -> tuple[int, int]:
    """Of one look at all hosts, and of one admission."""
    with counted(engine) as looking, session.reader() as db:
        hosts.snapshot(db, flavor.shape, SPAN)
    with counted(engine) as checking, contextlib.suppress(exceptions.WarreError):
        reservations.check(world.request(flavor, SPAN))
    return len(looking), len(checking)


def test_one_or_many_hosts_and_reservations(database: sa.Engine):
    flavor = world.add_flavor(properties='["==", "$gpu", "a100"]')
    fill(database, 1, 1)
    few = statements(database, flavor)
    fill(database, 49, 19)
    assert statements(database, flavor) == few
    assert max(few) < 20
