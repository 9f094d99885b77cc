"""Allows several flavors to have the same name."""

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision = "0010"
down_revision = "0009"

_UNIQUE, _COLUMNS = "uniq_warre_flavors0name0deleted", ["name", "deleted"]
_INDEX = "ix_warre_flavors_name"


def upgrade() -> None:
    op.create_index(_INDEX, "warre_flavors", ["name"])
    op.drop_constraint(_UNIQUE, "warre_flavors", type_="unique")


def downgrade() -> None:
    flavors = sa.table("warre_flavors", sa.column("name"), sa.column("deleted"))
    shared = (
        sa.select(flavors.c.name)
        .where(flavors.c.deleted == "")
        .group_by(flavors.c.name)
        .having(sa.func.count() > 1)
    )
    names = sorted(op.get_bind().scalars(shared))
    if names:
        raise CommandError(
            f"Several flavors have one name: {', '.join(names)}. Revision 0009 doesn't allow that: "
            "give them names of their own, then run this command again."
        )
    op.create_unique_constraint(_UNIQUE, "warre_flavors", _COLUMNS)
    op.drop_index(_INDEX, "warre_flavors")
