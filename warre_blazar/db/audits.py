"""Reads and writes the report of the last audit."""

import dataclasses
import json

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar.db import session
from warre_blazar.db.tables import audits
from warre_blazar.domain.audit.reports import KeptDifference, LastAudit

#: The id of the only row.
_ONLY = 1


def write(db: Session, report: LastAudit) -> None:
    """Write the report of an audit in place of the one before.

    :raises session.LostRace: another audit writes the first report at this moment.
    """
    document = {
        "findings": [dataclasses.asdict(each) for each in report.findings],
        "total": report.total,
        "away": dict(report.away),
    }
    values = {"finished_at": report.finished_at, "report": json.dumps(document)}
    if session.changed(db, audits.update().where(audits.c.id == _ONLY).values(**values)):
        return
    session.insert_or_lose(db, audits.insert().values(id=_ONLY, **values))


def last(db: Session) -> LastAudit | None:
    """The report of the last audit. None: no audit has been kept yet."""
    row = db.execute(sa.select(audits)).mappings().one_or_none()
    if row is None:
        return None
    document = json.loads(row["report"])
    findings = [KeptDifference(**each) for each in document["findings"]]
    return LastAudit(row["finished_at"], findings, document["total"], document["away"])
