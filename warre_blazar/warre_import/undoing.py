"""Undoes imports, unless an imported thing has been booked, started, ended or changed since."""

import json
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.warre_import import blazar_rows, seals

#: At most this many things are listed in the text of ``ChangedSinceImport``.
_NAMED = 20


class ChangedSinceImport(Exception):
    """Imported rows have changed since the import, so the import can't be undone.

    :param things: the words for the kinds of the changed things, and the things' ids.
    """

    #: Why nothing was restored. The names of the things follow.
    _reason = "this was booked, started, ended or changed since it was imported"

    def __init__(self, things: Sequence[tuple[str, str]]) -> None:
        named = [f"{kind} {thing_id}" for kind, thing_id in things[:_NAMED]]
        more = f" and {len(things) - _NAMED} more" if len(things) > _NAMED else ""
        super().__init__(f"Nothing was put back, because {self._reason}: {', '.join(named)}{more}")


class BeingExecuted(ChangedSinceImport):
    """A manager is starting, ending or deleting imported reservations at this moment."""

    _reason = "a manager is starting, ending or deleting this at the moment"


@session.retried
def undo() -> dict[str, int]:
    """Restore every row that imports have changed, and remove every row that they have added.

    :returns: the number of rows of each kind that were restored or removed.
    :raises ChangedSinceImport: imported rows have changed since the import. In that case nothing is
        restored.
    :raises BeingExecuted: a manager is at work on imported reservations. Nothing is restored.
    :raises TryAgain: others have changed the same rows at each attempt. Nothing is restored.
    """
    with session.writer() as db:
        # An executor that claims a lease locks it first too. So it either has claimed the lease by
        # now, or finds that the lease isn't a flavor:slot lease any more.
        blazar_rows.lock_leases(db)
        if executed := blazar_rows.executed(db):
            raise BeingExecuted([(_WORDS["reservation"], i) for i in executed])
        if changed := _changed(db):
            raise ChangedSinceImport(changed)
        counts = blazar_rows.counts(db)
        _release(db)
        blazar_rows.remove(db)
        return {_WORDS[kind]: count for kind, count in counts.items()}


def can_be_undone(db: Session) -> bool:
    """Whether there are imports, and nothing of them has changed since."""
    return bool(blazar_rows.counts(db)) and not _changed(db)


def leases_to_give_back(db: Session) -> sa.Select[tuple[str]] | None:
    """A query of the ids of the leases that an undo would give back to Warre.

    :returns: None if there is nothing to undo, or it can't be undone any more.
    """
    return blazar_rows.adopted_leases() if can_be_undone(db) else None


def _changed(db: Session) -> list[tuple[str, str]]:
    """The imported things that have changed since the import: words for their kinds, and ids."""
    changed = [
        (_WORDS[kind], thing_id)
        for kind in seals.SEALED
        for thing_id in seals.broken_seals(db, kind)
    ]
    others = blazar_rows.booked_since(db) + blazar_rows.deleted_records(db)
    # An adopted reservation that has ended or was deleted may be in both lists.
    return list(dict.fromkeys(changed + [(_WORDS["reservation"], i) for i in others]))


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
    for part in blazar_rows.befores(db):
        blazar_rows.release(db, [json.loads(before) for before in part])
