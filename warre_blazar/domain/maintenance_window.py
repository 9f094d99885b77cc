"""Maintenance windows: times during which some flavors can't be booked."""

import dataclasses

from warre_blazar.domain.timeline import Span


@dataclasses.dataclass(frozen=True)
class Window:
    """A maintenance window: its time, its note, and the flavors that it closes."""

    id: str
    span: Span
    note: str | None
    #: The id and the name of each flavor that the window closes. A window may close no flavor.
    flavors: tuple[tuple[str, str], ...]
