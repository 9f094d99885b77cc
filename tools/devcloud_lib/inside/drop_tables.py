"""Drops this repository's tables in a dev cloud's database, and its leases in Blazar's tables.

Until the first release, there is no way from the tables of one commit to those of another.

Usage: drop_tables.py URL
"""

import sys

import sqlalchemy as sa

_LEASES = "SELECT lease_id FROM reservations WHERE resource_type = 'flavor:slot'"
_RESERVATIONS = "SELECT id FROM reservations WHERE resource_type = 'flavor:slot'"
#: What is deleted of Blazar's tables, in this order.
_ROWS = (
    f"DELETE FROM computehost_allocations WHERE reservation_id IN ({_RESERVATIONS})",
    f"DELETE FROM instance_reservations WHERE reservation_id IN ({_RESERVATIONS})",
    f"DELETE FROM events WHERE lease_id IN ({_LEASES})",
    f"DELETE FROM leases WHERE id IN ({_LEASES})",
    "DELETE FROM reservations WHERE resource_type = 'flavor:slot'",
)


def main(url: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    names = sa.inspect(engine).get_table_names()
    # Without its mark, the database would seem to be older than Placement.
    tables = [name for name in names if name.startswith("warre_") and name != "warre_marks"]
    with engine.begin() as db:
        # For this connection only, so that the tables' order doesn't matter.
        db.execute(sa.text("SET FOREIGN_KEY_CHECKS = 0"))
        for statement in (*_ROWS, *(f"DROP TABLE {name}" for name in tables)):
            db.execute(sa.text(statement))


main(sys.argv[1])
