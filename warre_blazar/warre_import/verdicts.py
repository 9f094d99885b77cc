"""The verdicts of an import on the rows of Warre's database, for the report."""

import dataclasses
import enum


class Fate(enum.StrEnum):
    """What an import does with a flavor, access, maintenance window or reservation of Warre's."""

    #: The row is imported.
    TAKEN = "taken"
    #: The reservation has ended, and goes to the history.
    PAST = "history"
    #: The row already exists in this package's tables, for instance from an earlier import.
    KNOWN = "known"
    #: The reservation ended too long ago for the history.
    OLD = "old"
    #: The row can't be imported.
    LEFT = "left"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What an import does with a row, and remarks about the row for the operator."""

    #: "flavor", "access", "window" or "reservation".
    kind: str
    id: str
    fate: Fate
    #: If the fate is LEFT, the reason. Otherwise remarks for the operator.
    remarks: tuple[str, ...] = ()
    #: The name of the flavor. None for other kinds, which have no name.
    name: str | None = None
