"""Adds the table by which managers find out that the database is older than Placement."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    # MariaDB can't roll back a CREATE, so the table may be there from an interrupted upgrade.
    if not sa.inspect(op.get_bind()).has_table("warre_marks"):
        op.create_table(
            "warre_marks",
            sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("number", sa.BigInteger, nullable=False),
            sa.Column("seen", sa.BigInteger),
            sa.Column("lineage", sa.String(36), nullable=False),
        )


def downgrade() -> None:
    op.execute("DROP TABLE IF EXISTS warre_marks")
