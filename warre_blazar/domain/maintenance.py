"""Maintenance windows: times during which some flavors or hosts can't be booked."""

import dataclasses

from warre_blazar.domain.timeline import Span


@dataclasses.dataclass(frozen=True)
class MaintenanceWindow:
    """A maintenance window: its time, its note, and the flavors and hosts that it closes."""

    id: str
    span: Span
    note: str | None
    #: The id and the name of each flavor that the window closes. A window may close no flavor.
    flavors: tuple[tuple[str, str], ...]
    #: The id and the hypervisor hostname of each host that the window closes.
    hosts: tuple[tuple[str, str], ...] = ()
