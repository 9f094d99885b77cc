"""The mark: a number that only grows, by which managers notice that the database is an older one.

The database and Placement each have a number. About once a minute, one manager increases the number
in the database, and writes into Placement the number that was in the database before. So Placement
never has the higher number, whatever fails in between, and even if the last transactions before a
crash of the database are lost. If Placement has the higher number, the database is a restored one.
"""

import dataclasses
import enum

from oslo_utils import uuidutils


@dataclasses.dataclass(frozen=True)
class Mark:
    """What the database has."""

    number: int
    #: The number in Placement that was higher. None: it never was.
    seen: int | None
    #: Changes when an operator accepts that the database is an older one. Empty: the database has
    #: no mark yet.
    lineage: str

    @property
    def is_older(self) -> bool:
        """Whether the database is known to be older than Placement."""
        return self.seen is not None and self.seen > self.number

    def seen_beside(self, present: int) -> "Mark":
        """The mark after a look at Placement, without the next number.

        :param present: the number that Placement has; 0 if it has none.
        """
        if present <= max(self.number, self.seen or 0):
            return self
        return Mark(self.number, present, self.lineage or _new_lineage())

    def next(self) -> "Mark":
        """The mark with the next number."""
        return Mark(self.number + 1, self.seen, self.lineage or _new_lineage())

    def accepted(self) -> "Mark":
        """The mark after an operator has accepted that the database is an older one."""
        return Mark(max(self.number, self.seen or 0) + 1, self.seen, _new_lineage())


def _new_lineage() -> str:
    return str(uuidutils.generate_uuid())


#: A database without a mark.
NO_MARK = Mark(0, None, "")


def is_replaced(known: Mark, read: Mark) -> bool:
    """Whether the database was replaced since a process has read its mark.

    A replica may be behind by one number, and may not have the first mark yet.
    """
    is_other = bool(known.lineage and read.lineage) and known.lineage != read.lineage
    return is_other or read.number < known.number - 1


class Standing(enum.Enum):
    """What a manager knows of its database."""

    CURRENT = "current"
    #: Placement hasn't been asked yet since the manager has started.
    UNKNOWN = "unknown"
    #: Placement has the higher number.
    OLDER = "older"
    #: The database was replaced while the manager was running.
    REPLACED = "replaced"
