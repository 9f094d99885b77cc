"""Adds the table of tallies."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_NAME = "warre_tallies"


def upgrade() -> None:
    # MariaDB can't roll back a CREATE. So an upgrade that was interrupted goes on where it stopped.
    op.create_table(
        _NAME,
        sa.Column("id", sa.BigInteger(), primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("label", sa.String(64), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.Double(), nullable=False),
        if_not_exists=True,
    )


def downgrade() -> None:
    op.drop_table(_NAME, if_exists=True)
