"""Bookings on all nodes of the cluster at once, while nodes go and join again.

The test runs for 45 seconds, or for as many as ``WARRE_GALERA_SECONDS`` says.
"""

import collections
import contextlib
import os

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import oversold, world
from tests.functional.db.managers import Manager
from tests.functional.galera import customers
from tests.functional.galera.outages import outages
from warre_blazar.domain.audit.differences import Difference, Needs
from warre_blazar.services.audit import Audit
from warre_blazar.services.audit.looking import StockTypes
from warre_blazar.services.running.repair import Repairer

pytestmark = pytest.mark.usefixtures("database")

SECONDS = float(os.environ.get("WARRE_GALERA_SECONDS", "45"))
ROOM = 3

_SPANS = """
SELECT r.id, l.start_date, l.end_date
FROM reservations r JOIN leases l ON l.id = r.lease_id JOIN warre_reservations w
  ON w.reservation_id = r.id
"""


def spans(url: str) -> dict[str, tuple]:
    """The start and end of each reservation's lease in one node's database, by reservation id."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    found: dict[str, tuple] = {}

    def read() -> bool:
        # The other nodes shut out a node that was slow. Then it answers with errors for a moment.
        with contextlib.suppress(sa.exc.OperationalError), engine.connect() as connection:
            rows = connection.execute(sa.text(_SPANS))
            found.update({key: (start, end) for key, start, end in rows})
            return True
        return False

    world.until(read, what=f"node {url}")
    return found


def differences() -> list[Difference]:
    """What an audit finds once the managers have run and an audit has mended what it can."""
    manager = Manager()
    audit = Audit(
        patience=lambda reservations: 0.0,
        server_patience=0.1,
        trust_grace=0.0,
        neighbors=StockTypes(lambda reservations: 600.0, are_exact=False),
        delete_lease=lambda lease_id: None,
        now=lambda: world.NOW,
        sleep=lambda seconds: None,
    )
    manager.run(world.NOW)
    mended = audit.run(frozenset({Needs.FIX, Needs.YES})).mended
    print(f"mended: {collections.Counter(difference.kind for difference in mended)}")
    manager.run(world.NOW)
    # Promises of updates that the audit has ended, and those that were too young for it.
    Repairer(lambda reservations: float("inf")).look(world.NOW, thorough=True)
    result = audit.run()
    assert result.away == {}
    return result.left


def test_nothing_is_oversold_and_nothing_is_lost_while_nodes_go(
    database: sa.Engine, cloud: Cloud, record_property
):
    for number in range(2):
        world.add_host(cloud, f"host-{number}", vcpus=2 * ROOM)
        inventories = {"VCPU": 2 * ROOM, "MEMORY_MB": 65536, "DISK_GB": 1000}
        cloud.placement.change(f"host-{number}", **inventories)
    flavors = [world.add_flavor(slots=ROOM), world.add_flavor(slots=100)]
    url = database.url.render_as_string(hide_password=False)
    with outages() as happened:
        told = customers.start(3, url, cloud.options(), flavors, SECONDS)
    outcomes = sum((customer.outcomes for customer in told), collections.Counter())
    print(f"\n{dict(outcomes)}; {', '.join(happened)}")
    assert outcomes["held"] > 0
    assert happened
    assert oversold.find(database) == []
    held = {key: span for customer in told for key, span in customer.held.items()}
    for node in os.environ["WARRE_TEST_GALERA_URLS"].split():
        stored = spans(sa.make_url(node).set(database=database.url.database))
        assert {key: stored.get(key) for key in held} == {
            key: (span.start, span.end) for key, span in held.items()
        }
    assert differences() == []
