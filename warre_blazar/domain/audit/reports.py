"""What an audit has found, as it is kept and shown."""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class KeptDifference:
    """A difference that an audit has found."""

    kind: str
    subject: str
    text: str
    meaning: str
    remedy: str
    #: What is needed to mend it: options of the command, or a person.
    needs: str
    #: Why it couldn't be mended. None: nobody has tried.
    failure: str | None
    #: Whether the audit has mended it, or has asked a manager to.
    mended: bool


@dataclasses.dataclass(frozen=True)
class LastAudit:
    """The report of an audit."""

    finished_at: datetime.datetime
    #: Those that remain come first. Of very many, only the first are here.
    findings: Sequence[KeptDifference]
    #: How many differences were found.
    total: int
    #: Why a service couldn't be read, by the service's name.
    away: Mapping[str, str]
