"""Says that a lease is gone, where Blazar fails because another request has deleted it.

Blazar's manager reads a lease several times while it works on it, and doesn't expect that the lease
is missing. Then it fails with a TypeError or an AttributeError.
"""

from collections.abc import Callable
from typing import Any

from blazar import exceptions as blazar_exc
from blazar.db.sqlalchemy import models
from blazar.manager import service
from oslo_db import exception as db_exc

from warre_blazar.db import session
from warre_blazar.plugins.wrapping import wrap


def register() -> None:
    """Let the manager of this process say which lease is gone."""
    # The methods that clients call for a lease, whose id is the argument ``lease_id``.
    wrap(__name__, service.ManagerService, update_lease=_saying, delete_lease=_saying)


def is_lost(lease_id: str) -> bool:
    """Whether a lease is certainly gone.

    Blazar's function isn't asked, because Blazar's own tests count its calls.
    """
    try:
        with session.reader() as db:
            return db.get(models.Lease, lease_id) is None
    except (*session.FAILURES, db_exc.CantStartEngineError):
        return False


def _saying(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of the manager. Blazar passes all arguments by name."""

    def work(self: Any, **arguments: Any) -> Any:
        try:
            return method(self, **arguments)
        except Exception as error:
            if is_lost(lease_id := arguments["lease_id"]):
                raise blazar_exc.NotFound(object=f"lease id {lease_id}") from error
            raise

    return work
