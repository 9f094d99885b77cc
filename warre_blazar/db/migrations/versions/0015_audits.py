"""Adds the report of the last audit, which the API shows."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    exact = mysql.MEDIUMTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    op.create_table(
        "warre_audits",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("finished_at", sa.DateTime, nullable=False),
        sa.Column("report", sa.Text().with_variant(exact, "mysql", "mariadb"), nullable=False),
        if_not_exists=True,
    )


def downgrade() -> None:
    op.drop_table("warre_audits", if_exists=True)
