"""Adds a table of projects' generations, for quota claims, and an index for quota checks."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0004"
down_revision = "0003"

_INDEX, _COLUMNS = "ix_warre_leases_usage", ["project_id", "status", "start_date", "end_date"]


def upgrade() -> None:
    exact = mysql.VARCHAR(255, charset="utf8mb4", collation="utf8mb4_bin")
    project_id = sa.String(255).with_variant(exact, "mysql", "mariadb")
    op.create_table(
        "warre_projects",
        sa.Column("project_id", project_id, primary_key=True),
        sa.Column("generation", sa.Integer, nullable=False),
    )
    op.create_index(_INDEX, "leases", _COLUMNS)


def downgrade() -> None:
    op.drop_index(_INDEX, "leases")
    op.drop_table("warre_projects")
