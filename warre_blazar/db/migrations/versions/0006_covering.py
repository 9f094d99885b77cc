"""Adds covering indexes for the resource types and the hosts of reservations."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

#: The table and the columns of each index, by name. The first column is a foreign key.
_INDEXES = {
    "ix_warre_reservations_lease": ("reservations", ["lease_id", "resource_type"]),
    "ix_warre_allocations_reservation": (
        "computehost_allocations",
        ["reservation_id", "compute_host_id"],
    ),
}


def upgrade() -> None:
    for name, (table, columns) in _INDEXES.items():
        op.create_index(name, table, columns)


def downgrade() -> None:
    for name, (table, columns) in _INDEXES.items():
        # When the covering index was made, InnoDB dropped the index that it had made for the
        # foreign key. But a foreign key needs an index. So InnoDB's index is made again before the
        # covering index is dropped.
        others = [i for i in sa.inspect(op.get_bind()).get_indexes(table) if i["name"] != name]
        if not any(other["column_names"][0] == columns[0] for other in others):
            op.create_index(columns[0], table, [columns[0]])
        op.drop_index(name, table)
