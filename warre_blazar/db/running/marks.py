"""Queries on the mark of the database (``domain.running.mark``)."""

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import marks
from warre_blazar.domain.running.mark import NO_MARK, Mark

_ROW = 1


def read(db: Session) -> Mark:
    """The mark of the database."""
    query = sa.select(marks.c.number, marks.c.seen, marks.c.lineage).where(marks.c.id == _ROW)
    row = db.execute(query).first()
    return Mark(*row) if row else NO_MARK


def write(db: Session, before: Mark, after: Mark) -> None:
    """Replace the mark.

    :raises session.LostRace: it isn't as it was read any more.
    """
    values = {"number": after.number, "seen": after.seen, "lineage": after.lineage}
    if before == NO_MARK:
        return session.insert_or_lose(db, marks.insert().values(id=_ROW, **values))
    same = (
        marks.c.id == _ROW,
        marks.c.number == before.number,
        marks.c.lineage == before.lineage,
    )
    session.write_or_lose(db, marks.update().where(*same).values(**values))
