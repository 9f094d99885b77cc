"""Adds the contact of flavors."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("warre_flavors", sa.Column("contact", sa.String(255)))


def downgrade() -> None:
    op.drop_column("warre_flavors", "contact")
