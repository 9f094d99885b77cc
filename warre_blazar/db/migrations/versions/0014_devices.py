"""Adds a column for the request groups of the devices that a flavor's extra specs ask for."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("warre_flavors", sa.Column("device_groups", sa.JSON(none_as_null=True)))


def downgrade() -> None:
    op.drop_column("warre_flavors", "device_groups")
