"""Projects' rights to private flavors."""

from oslo_db import exception as db_exc
from oslo_utils import uuidutils

from warre_blazar import exceptions
from warre_blazar.db import access, flavors, session
from warre_blazar.db.access import Access


def grant(flavor_ref: str, project_id: str) -> Access:
    """Let a project book a private flavor.

    :param flavor_ref: id or name.
    :raises FlavorNotFound, AccessExists:
    """
    try:
        with session.writer() as db:
            flavor = flavors.find(db, flavor_ref)
            if flavor is None:
                raise exceptions.FlavorNotFound(flavor_ref)
            made = Access(uuidutils.generate_uuid(), flavor.id, project_id)
            access.insert(db, made)
            return made
    except db_exc.DBDuplicateEntry:
        raise exceptions.AccessExists(flavor_ref, project_id) from None


def get(access_id: str) -> Access:
    """:raises AccessNotFound:"""
    found, _ = listing({"id": access_id}, None, 0)
    if not found:
        raise exceptions.AccessNotFound(access_id)
    return found[0]


def listing(filters: dict[str, str], limit: int | None, offset: int) -> tuple[list[Access], int]:
    """A page of rights by flavor and project, and how many there are in all."""
    with session.reader() as db:
        return access.listing(db, filters, limit, offset)


def revoke(access_id: str) -> None:
    """Take a right back; what was booked by it stays.

    :raises AccessNotFound:
    """
    with session.writer() as db:
        if not access.delete(db, access_id):
            raise exceptions.AccessNotFound(access_id)
