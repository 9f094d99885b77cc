"""What a booking costs: SQL statements and transactions of the API and the manager together."""

import contextlib
from collections.abc import Iterator

import sqlalchemy as sa

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.site import Site
from warre_blazar.db import session
from warre_blazar.db.messages import deliveries


@contextlib.contextmanager
def counted(engine: sa.Engine) -> Iterator[dict[str, int]]:
    """Count what is sent to the database: statements without the drivers' pings, transactions."""
    counts = {"statements": 0, "transactions": 0}

    def executes(connection, cursor, statement, *rest) -> None:
        counts["statements"] += statement != "BEGIN"  # Only on SQLite, this is a statement too.

    def begins(connection) -> None:
        counts["transactions"] += 1

    sa.event.listen(engine, "before_cursor_execute", executes)
    sa.event.listen(engine, "begin", begins)
    yield counts
    sa.event.remove(engine, "before_cursor_execute", executes)
    sa.event.remove(engine, "begin", begins)


def test_booking_takes_few_statements_and_transactions(site: Site, admin: Person, alpha: Person):
    """The project and the host have a booking already. Their first one adds rows for both.

    The booking is told by two channels.
    """
    session.change(deliveries.set_channels, {"bills": True, "mail": False})
    flavor = things.add_flavor(admin)
    things.book(alpha, flavor)
    with counted(site.engine) as counts:
        things.book(alpha, flavor)
    assert counts["statements"] <= 19
    assert counts["transactions"] <= 5


def test_deletion_takes_few_statements_and_transactions(site: Site, admin: Person, alpha: Person):
    """The reservation hasn't begun, and two channels tell of it."""
    session.change(deliveries.set_channels, {"bills": True, "mail": False})
    flavor = things.add_flavor(admin)
    things.book(alpha, flavor)
    booked = things.book(alpha, flavor)
    with counted(site.engine) as counts:
        assert alpha.delete(f"reservations/{booked['id']}").status_int == 204
    assert counts["statements"] <= 20
    assert counts["transactions"] <= 5
