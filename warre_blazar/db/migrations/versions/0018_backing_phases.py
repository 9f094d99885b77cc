"""Replaces two booleans about a backing by its phase, and a time with two meanings by two times."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

_TO_PHASES = """
UPDATE warre_backings SET
    late_until = CASE WHEN open_done AND NOT opened THEN created_at END,
    phase = CASE WHEN NOT opened THEN 'made' WHEN open_done THEN 'open' ELSE 'opening' END
"""
_TO_BOOLEANS = """
UPDATE warre_backings SET
    opened = phase <> 'made',
    open_done = phase = 'open' OR (phase = 'made' AND late_until IS NOT NULL),
    created_at = COALESCE(late_until, created_at)
"""


def upgrade() -> None:
    op.add_column("warre_backings", sa.Column("phase", sa.String(8), server_default="made"))
    op.add_column("warre_backings", sa.Column("late_until", sa.DateTime))
    op.execute(_TO_PHASES)
    op.alter_column(
        "warre_backings",
        "phase",
        existing_type=sa.String(8),
        nullable=False,
        server_default=None,
    )
    op.drop_column("warre_backings", "opened")
    op.drop_column("warre_backings", "open_done")


def downgrade() -> None:
    for name in ("opened", "open_done"):
        column = sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())
        op.add_column("warre_backings", column)
    op.execute(_TO_BOOLEANS)
    for name in ("opened", "open_done"):
        op.alter_column(
            "warre_backings",
            name,
            existing_type=sa.Boolean,
            existing_nullable=False,
            server_default=None,
        )
    op.drop_column("warre_backings", "phase")
    op.drop_column("warre_backings", "late_until")
