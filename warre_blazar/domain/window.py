"""A maintenance window: a time during which some flavors can't be booked."""

import dataclasses

from warre_blazar.domain.timeline import Span


@dataclasses.dataclass(frozen=True)
class Window:
    """``flavors`` are (id, name) of those it closes; none: it closes nothing yet."""

    id: str
    span: Span
    note: str | None
    flavors: tuple[tuple[str, str], ...]
