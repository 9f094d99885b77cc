"""Adds the table of idempotency keys."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_NAME = "warre_idempotency_keys"


def upgrade() -> None:
    # MariaDB can't roll back a CREATE. So an upgrade that was interrupted goes on where it stopped.
    op.create_table(
        _NAME,
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("request", sa.String(64), nullable=False),
        sa.Column("item_id", sa.String(36), nullable=False),
        sa.Column("created_at", sa.DateTime, nullable=False),
        if_not_exists=True,
    )
    op.create_index(f"ix_{_NAME}_created", _NAME, ["created_at"], if_not_exists=True)


def downgrade() -> None:
    op.drop_table(_NAME, if_exists=True)
