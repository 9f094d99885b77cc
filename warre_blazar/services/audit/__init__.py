"""The audit: compares this package's tables, Blazar's tables, Nova, Placement and Keystone.

``looking`` reads all of them and compares them with the functions of ``domain.audit``. ``mending``
repairs the differences. An audit can run while managers are running. It looks twice, and reports
only the differences that it has found both times. It leaves out leases that a manager is working
on. Before each write, it checks that the rows that it has read haven't changed.
"""

import dataclasses
import datetime
from collections.abc import Callable, Mapping, Sequence

from warre_blazar import timer, times
from warre_blazar.db import audit, session
from warre_blazar.domain.audit.differences import (
    Difference,
    KeptDifference,
    LastAudit,
    Needs,
    in_both,
)
from warre_blazar.services.audit import looking, mending
from warre_blazar.services.audit.looking import Sight


@dataclasses.dataclass(frozen=True)
class Result:
    """What an audit has found and mended."""

    #: The differences that remain at the end.
    left: Sequence[Difference]
    #: The differences that were mended, or that a manager was asked to mend.
    mended: Sequence[Difference]
    #: Why a difference couldn't be mended, by the difference's key.
    failures: Mapping[tuple[object, str], str]
    #: Why a service couldn't be read, by the service's name.
    away: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Audit:
    """An audit with its settings and clock."""

    #: A function of the number of a lease's reservations. It returns the time, in seconds, that
    #: work on the lease usually takes at most.
    patience: Callable[[int], float]
    #: Seconds to wait until servers are deleted.
    server_patience: float
    #: A trust that is made for a booking appears in the tables within this many seconds.
    trust_grace: float
    neighbors: looking.StockTypes
    #: Lets a manager delete a lease, whose id is the argument.
    delete_lease: Callable[[str], None]
    now: Callable[[], datetime.datetime]
    sleep: Callable[[float], None] = timer.sleep

    def look(self) -> Sight:
        """Look twice, and return the differences that were found both times.

        If the first look finds no difference, there is no second look.
        """
        first = looking.look(self.now(), self.patience, self.neighbors)
        if not first.differences:
            return first
        self.sleep(times.AUDIT_PAUSE)
        second = looking.look(self.now(), self.patience, self.neighbors)
        return Sight(in_both(first.differences, second.differences), second.away)

    def run(self, allowed: frozenset[Needs] = frozenset()) -> Result:
        """Find the differences, and mend those that may be mended.

        :param allowed: the permissions that the operator gave. A difference is mended if the
            permission that it needs is among them.
        """
        seen = self.look()
        todo = [d for d in seen.differences if d.rule.needs in allowed]
        if not todo:
            return Result(seen.differences, [], {}, seen.away)
        mender = mending.Mender(
            self.now, self.server_patience, self.trust_grace, self.delete_lease, self.sleep
        )
        failures = mender.mend(todo)
        last = self.look()
        left_keys = {difference.key for difference in last.differences}
        mended = [difference for difference in todo if difference.key not in left_keys]
        return Result(last.differences, mended, failures, {**seen.away, **last.away})


#: So many differences are kept at most. A database refuses rows that are too large.
MOST_KEPT = 5_000


def keep_report(result: Result, at: datetime.datetime) -> None:
    """Keep what an audit has found, in place of the report before.

    :param at: when the audit has finished.
    :raises TryAgain: other audits are kept all the time.
    """
    found = [_finding(each, result, mended=False) for each in result.left]
    found += [_finding(each, result, mended=True) for each in result.mended]
    at = at.replace(microsecond=0)
    report = LastAudit(at, found[:MOST_KEPT], len(found), result.away)
    session.change(audit.write_report, report)


def _finding(difference: Difference, result: Result, *, mended: bool) -> KeptDifference:
    rule = difference.rule
    return KeptDifference(
        kind=difference.kind.label,
        subject=difference.subject,
        text=difference.text,
        meaning=rule.meaning,
        remedy=rule.remedy,
        needs=str(rule.needs),
        failure=None if mended else result.failures.get(difference.key),
        mended=mended,
    )


def last_report() -> LastAudit | None:
    """The report of the last audit. None: no audit has been kept yet."""
    with session.reader() as db:
        return audit.last_report(db)
