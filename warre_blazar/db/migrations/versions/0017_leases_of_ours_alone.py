"""Checks that no lease that hasn't ended has flavor:slot reservations beside others.

The managers of this release start and end leases of flavor:slot reservations as a whole. All
deletions by users are Blazar's now, so executions don't name users any more.
"""

import sqlalchemy as sa
from alembic import op
from alembic import util as alembic_util

revision = "0017"
down_revision = "0016"

_MIXED = """
SELECT leases.id FROM leases
WHERE leases.status <> 'TERMINATED'
AND EXISTS (SELECT 1 FROM reservations
            WHERE reservations.lease_id = leases.id AND resource_type = 'flavor:slot')
AND EXISTS (SELECT 1 FROM reservations
            WHERE reservations.lease_id = leases.id AND resource_type <> 'flavor:slot')
ORDER BY leases.id
"""


def upgrade() -> None:
    """
    :raises CommandError: there are such leases.
    """
    if found := op.get_bind().scalars(sa.text(_MIXED)).all():
        raise alembic_util.CommandError(
            "These leases have flavor:slot reservations and reservations of other types, which "
            f"this release doesn't support: {', '.join(found)}. Wait until they have ended, or "
            "delete them, with the release that is installed now"
        )
    op.drop_column("warre_executions", "requested_by")


def downgrade() -> None:
    op.add_column("warre_executions", sa.Column("requested_by", sa.String(255)))
