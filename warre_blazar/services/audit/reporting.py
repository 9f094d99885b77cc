"""Keeps the report of the last audit for the API."""

import datetime

from warre_blazar.db import audits, session
from warre_blazar.domain.audit.differences import Difference
from warre_blazar.domain.audit.reports import KeptDifference, LastAudit
from warre_blazar.services.audit import Result

#: So many differences are kept at most. A database refuses rows that are too large.
MOST_KEPT = 5_000


def keep(result: Result, at: datetime.datetime) -> None:
    """Keep what an audit has found, in place of the report before.

    :param at: when the audit has finished.
    :raises TryAgain: other audits are kept all the time.
    """
    found = [_finding(each, result, mended=False) for each in result.left]
    found += [_finding(each, result, mended=True) for each in result.mended]
    at = at.replace(microsecond=0)
    report = LastAudit(at, found[:MOST_KEPT], len(found), result.away)
    session.change(audits.write, report)


def _finding(difference: Difference, result: Result, *, mended: bool) -> KeptDifference:
    rule = difference.rule
    return KeptDifference(
        kind=difference.kind.value,
        subject=difference.subject,
        text=difference.text,
        meaning=rule.meaning,
        remedy=rule.remedy,
        needs=str(rule.needs),
        failure=None if mended else result.failures.get(difference.key),
        mended=mended,
    )


def last() -> LastAudit | None:
    """The report of the last audit. None: no audit has been kept yet."""
    with session.reader() as db:
        return audits.last(db)
