"""Adds tables of flavors, and of projects' access to private flavors."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0001"
down_revision = None


def _string(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def _text() -> sa.types.TypeEngine[str]:
    exact = mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "warre_flavors",
        sa.Column("id", _string(64), primary_key=True),
        sa.Column("name", _string(64), nullable=False),
        sa.Column("description", _text()),
        sa.Column("vcpu", sa.Integer, nullable=False),
        sa.Column("memory_mb", sa.Integer, nullable=False),
        sa.Column("disk_gb", sa.Integer, nullable=False),
        sa.Column("ephemeral_gb", sa.Integer, nullable=False),
        sa.Column("extra_specs", sa.JSON, nullable=False),
        sa.Column("properties", _text()),
        sa.Column("availability_zone", _string(255)),
        sa.Column("slots", sa.Integer, nullable=False),
        sa.Column("max_length_hours", sa.Integer, nullable=False),
        sa.Column("start_date", sa.DateTime),
        sa.Column("end_date", sa.DateTime),
        sa.Column("category", _string(64)),
        sa.Column("is_public", sa.Boolean, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("deleted", _string(64), nullable=False),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.UniqueConstraint("name", "deleted", name="uniq_warre_flavors0name0deleted"),
    )
    op.create_table(
        "warre_flavor_projects",
        sa.Column("id", _string(64), primary_key=True),
        sa.Column(
            "flavor_id",
            _string(64),
            sa.ForeignKey("warre_flavors.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("project_id", _string(255), nullable=False),
        sa.UniqueConstraint(
            "flavor_id", "project_id", name="uniq_warre_flavor_projects0flavor_id0project_id"
        ),
    )


def downgrade() -> None:
    op.drop_table("warre_flavor_projects")
    op.drop_table("warre_flavors")
