"""Adds two marks of hosts: ``draining``, and ``abandoned`` (servers may be left on the host)."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

_COLUMNS = ("draining", "abandoned")


def upgrade() -> None:
    for name in _COLUMNS:
        column = sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())
        op.add_column("warre_hosts", column)


def downgrade() -> None:
    with op.batch_alter_table("warre_hosts") as table:
        for name in _COLUMNS:
            table.drop_column(name)
