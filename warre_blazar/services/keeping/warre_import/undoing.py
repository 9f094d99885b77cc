"""Undoes imports, unless an imported thing has been booked, started, ended or changed since."""

import json
from collections.abc import Sequence

from sqlalchemy.orm import Session

from warre_blazar.db import import_rows, import_seals, session

#: At most this many things are listed in the text of ``Changed``.
_NAMED = 20


class Changed(Exception):
    """Imported rows have changed since the import, so the import can't be undone.

    :param things: the words for the kinds of the changed things, and the things' ids.
    """

    #: Why nothing was restored. The names of the things follow.
    _reason = "this was booked, started, ended or changed since it was imported"

    def __init__(self, things: Sequence[tuple[str, str]]) -> None:
        named = [f"{kind} {thing_id}" for kind, thing_id in things[:_NAMED]]
        more = f" and {len(things) - _NAMED} more" if len(things) > _NAMED else ""
        super().__init__(f"Nothing was put back, because {self._reason}: {', '.join(named)}{more}")


class BeingExecuted(Changed):
    """A manager is starting, ending or deleting imported reservations at this moment."""

    _reason = "a manager is starting, ending or deleting this at the moment"


@session.retried
def undo() -> dict[str, int]:
    """Restore every row that imports have changed, and remove every row that they have added.

    :returns: the number of rows of each kind that were restored or removed.
    :raises Changed: imported rows have changed since the import. In that case nothing is restored.
    :raises BeingExecuted: a manager is at work on imported reservations. Nothing is restored.
    :raises TryAgain: others have changed the same rows at each attempt. Nothing is restored.
    """
    with session.writer() as db:
        # An executor that claims a lease locks it first too. So it either has claimed the lease by
        # now, or finds that the lease isn't a flavor:slot lease any more.
        import_rows.lock_leases(db)
        if executed := import_rows.executed(db):
            raise BeingExecuted([(_WORDS["reservation"], i) for i in executed])
        if changed := _changed(db):
            raise Changed(changed)
        counts = import_rows.counts(db)
        _release(db)
        import_rows.remove(db)
        return {_WORDS[kind]: count for kind, count in counts.items()}


def can_be_undone(db: Session) -> bool:
    """Whether there are imports, and nothing of them has changed since."""
    return bool(import_rows.counts(db)) and not _changed(db)


def _changed(db: Session) -> list[tuple[str, str]]:
    """The imported things that have changed since the import: words for their kinds, and ids."""
    changed = [
        (_WORDS[kind], thing_id)
        for kind in import_seals.SEALED
        for thing_id in import_seals.broken_seals(db, kind)
    ]
    return changed + [("reservation", record_id) for record_id in import_rows.deleted_records(db)]


#: The words that operators read for the kinds in the table ``warre_imported``.
_WORDS = {
    "flavor": "flavor",
    "access": "access",
    "window": "window",
    "reservation": "reservation",
    "past": "record",
}


def _release(db: Session) -> None:
    """Return all adopted leases to Blazar's instance plugin."""
    for part in import_rows.befores(db):
        import_rows.release(db, [json.loads(before) for before in part])
