"""Adds the fair terms of flavors."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_COLUMNS = ("max_days_ahead", "extend_within_hours", "max_instances_per_project", "gap_hours")


def upgrade() -> None:
    # MariaDB can't roll back an ALTER. So an upgrade that was interrupted goes on where it stopped.
    present = _present()
    for name in _COLUMNS:
        if name not in present:
            op.add_column("warre_flavors", sa.Column(name, sa.Integer))


def downgrade() -> None:
    present = _present()
    for name in _COLUMNS:
        if name in present:
            op.drop_column("warre_flavors", name)


def _present() -> set[str]:
    columns = sa.inspect(op.get_bind()).get_columns("warre_flavors")
    return {column["name"] for column in columns}
