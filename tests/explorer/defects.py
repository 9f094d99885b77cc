"""Known defects, which are put back to see whether the explorer finds them.

Each of them was in this package, was found from outside, and was mended. The names are those of the
review in which they were described.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterator
from typing import Any
from unittest import mock

import sqlalchemy as sa
from sqlalchemy.orm import Session

from tests.explorer.exploring import Explorer
from warre_blazar.db import tables
from warre_blazar.db.running import executions, leases
from warre_blazar.domain.running.execution import Execution
from warre_blazar.plugins import lease_guard
from warre_blazar.services.booking.through_manager import reservations
from warre_blazar.warre_import import blazar_rows


@dataclasses.dataclass(frozen=True)
class Defect:
    """A defect that can be put back.

    ``explore`` runs the part of the explorer in which the defect shows.
    """

    name: str
    what: str
    put_back: Callable[[], contextlib.AbstractContextManager[None]]
    explore: Callable[[Explorer], None]
    database: str = "sqlite"


@contextlib.contextmanager
def _unguarded() -> Iterator[None]:
    """Nobody checks what Blazar writes to a lease."""
    sa.event.remove(Session, "before_flush", lease_guard._check)
    try:
        yield
    finally:
        lease_guard.register()


def _patched(*patches: tuple[Any, str, Any]) -> Callable[[], contextlib.ExitStack]:
    def put_back() -> contextlib.ExitStack:
        stack = contextlib.ExitStack()
        for target, name, value in patches:
            stack.enter_context(mock.patch.object(target, name, value))
        return stack

    return put_back


def _nothing(*_args: Any, **_values: Any) -> None:
    pass


def _is_requested(self: Execution, action: str) -> bool:
    return self.manager_id is None and self.action == action


def _requested(db: Session, action: str) -> Collection[str]:
    this = tables.executions.c
    query = sa.select(this.lease_id).where(this.action == action, this.manager_id.is_(None))
    return list(db.scalars(query))


def _pairs(*names: str) -> Callable[[Explorer], None]:
    return lambda explorer: explorer.pairs([(names[0], names[1])])


def _pair_with_fault(*names: str) -> Callable[[Explorer], None]:
    return lambda explorer: explorer.pairs_with_fault([(names[0], names[1])], 1, 4000)


DEFECTS = {
    defect.name: defect
    for defect in (
        Defect(
            "N1",
            "two updates of one lease write dates that nobody has promised",
            _unguarded,
            _pairs("remind", "shorten"),
        ),
        Defect(
            "N3",
            "an undo of an import doesn't see that a manager ends a lease of it",
            _patched(
                (blazar_rows, "lock_leases", _nothing),
                (blazar_rows, "executed", lambda _db: []),
                (leases, "lock_all", _nothing),
            ),
            _pairs("end", "undo"),
            "mariadb",
        ),
        Defect(
            "N4",
            "a booking whose commit wasn't acknowledged is reported as not booked",
            _patched((reservations, "_booked_despite", _nothing)),
            lambda explorer: explorer.singles(["book"]),
        ),
        Defect(
            "N7",
            "an end that is to be tried again counts as requested",
            _patched(
                (Execution, "is_requested", _is_requested),
                (executions, "requested", _requested),
            ),
            _pair_with_fault("end", "extend"),
        ),
        Defect(
            "13",
            "a deletion meets the status of an update",
            _unguarded,
            _pairs("delete", "extend"),
        ),
    )
}
