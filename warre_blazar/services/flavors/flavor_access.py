"""Projects' access to private flavors."""

from oslo_db import exception as db_exc
from oslo_utils import uuidutils

from warre_blazar.db import flavor_access, flavors, session
from warre_blazar.domain.flavors.flavor import ProjectAccess
from warre_blazar.errors import exceptions


@session.retried
def grant(flavor_ref: str, project_id: str, access_id: str | None = None) -> ProjectAccess:
    """Give a project access to a private flavor.

    :param flavor_ref: the flavor's id or name.
    :param access_id: the id for the new access. None: any new id.
    :raises FlavorNotFound, FlavorAmbiguous, AccessExists:
    """
    try:
        with session.writer() as db:
            flavor = flavors.require(db, flavor_ref)
            access = ProjectAccess(access_id or uuidutils.generate_uuid(), flavor.id, project_id)
            flavor_access.insert(db, access)
            return access
    except db_exc.DBDuplicateEntry:
        raise exceptions.AccessExists(flavor_ref, project_id) from None


def get(access_id: str) -> ProjectAccess:
    """The access with this id.

    :raises AccessNotFound:
    """
    matches, _ = listing({"id": access_id}, None, 0)
    if not matches:
        raise exceptions.AccessNotFound(access_id)
    return matches[0]


def listing(
    filters: dict[str, str], limit: int | None, offset: int
) -> tuple[list[ProjectAccess], int]:
    """A page of accesses sorted by flavor and project, and the number of accesses on all pages.

    :param filters: the names and values of attributes that the returned accesses must have.
    """
    with session.reader() as db:
        return flavor_access.listing(db, filters, limit, offset)


@session.retried
def revoke(access_id: str) -> None:
    """Delete a project's access. The project keeps its reservations of the flavor.

    :raises AccessNotFound:
    """
    with session.writer() as db:
        if not flavor_access.delete(db, access_id):
            raise exceptions.AccessNotFound(access_id)
