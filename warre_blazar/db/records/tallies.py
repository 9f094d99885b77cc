"""The table ``warre_tallies``: how often things have happened that metrics count.

A metric that counts must never fall, and what is counted must not wait for the count. So whoever
counts adds a row, in the transaction in which the thing happens, and writes no row that anybody
else writes. ``merge`` keeps the table small.
"""

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import tallies
from warre_blazar.domain.records.tallies import Name, Tally

#: The largest number of rows that ``merge`` replaces in one transaction.
_BATCH = 1000


def add(db: Session, name: Name, label: str, value: float = 0.0) -> None:
    """Count something once.

    :param value: what was measured.
    """
    db.execute(tallies.insert().values(name=name.value, label=label, count=1, total=value))


def read(db: Session) -> dict[tuple[str, str], Tally]:
    """All tallies, by name and label."""
    query = sa.select(
        tallies.c.name,
        tallies.c.label,
        sa.func.sum(tallies.c.count),
        sa.func.sum(tallies.c.total),
    ).group_by(tallies.c.name, tallies.c.label)
    return {
        (name, label): Tally(int(count), float(total))
        for name, label, count, total in db.execute(query)
    }


def merge(db: Session) -> bool:
    """Replace rows of the same name and label by their sum, the oldest rows first.

    :returns: whether there may be more to replace.
    :raises session.LostRace: another manager has replaced the rows.
    """
    # The rows are deleted by their ids, so that this doesn't lock the place of new rows.
    query = sa.select(tallies).order_by(tallies.c.id).limit(_BATCH)
    rows = db.execute(query).mappings().all()
    sums: dict[tuple[str, str], Tally] = {}
    for row in rows:
        key = (row["name"], row["label"])
        before = sums.get(key, Tally(0, 0.0))
        sums[key] = Tally(before.count + row["count"], before.total + row["total"])
    if len(sums) == len(rows):
        return False
    ids = [row["id"] for row in rows]
    session.write_or_lose(db, tallies.delete().where(tallies.c.id.in_(ids)), len(ids))
    merged = [
        {"name": name, "label": label, "count": tally.count, "total": tally.total}
        for (name, label), tally in sums.items()
    ]
    db.execute(tallies.insert(), merged)
    return len(rows) == _BATCH
