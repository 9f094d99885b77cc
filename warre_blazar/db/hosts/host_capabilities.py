"""Queries on the extra capabilities that operators give to hosts in Blazar."""

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db.tables import extra_capabilities, resource_properties


def known(db: Session, names: Collection[str]) -> set[str]:
    """Which of the given capabilities at least one host has. The host needn't be reservable."""
    query = (
        sa.select(resource_properties.c.property_name)
        .join(extra_capabilities, extra_capabilities.c.property_id == resource_properties.c.id)
        .where(resource_properties.c.property_name.in_(names))
    )
    # Some databases compare names without regard to case.
    return set(db.scalars(query)) & set(names)
