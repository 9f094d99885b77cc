"""Adds a table of the managers that create, update or delete leases by Blazar's own code."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def _referring(table: str, column: str) -> sa.types.TypeEngine[str]:
    """The type of a column in Blazar's tables, including the column's character set.

    A foreign key must have the same type as the column to which it refers.
    """
    found = sa.inspect(op.get_bind()).get_columns(table)
    return next(c["type"] for c in found if c["name"] == column)


def upgrade() -> None:
    op.create_table(
        "warre_lease_workers",
        sa.Column(
            "lease_id",
            _referring("leases", "id"),
            sa.ForeignKey("leases.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("manager_id", sa.String(36)),
        sa.Column("work_id", sa.String(36), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("warre_lease_workers")
