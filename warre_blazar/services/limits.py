"""How much of its limits a project uses."""

import dataclasses

from warre_blazar.clients import limits
from warre_blazar.db import reservations, session


@dataclasses.dataclass(frozen=True)
class Standing:
    """A project's limits (-1: unlimited) and usage."""

    max_reservations: int
    max_hours: int
    reservations: int
    hours: int


def of_project(project_id: str) -> Standing:
    """:raises LimitsNotRegistered, ServiceUnavailable:"""
    allowed = limits.of_project(project_id)
    with session.reader() as db:
        count, hours = reservations.usage(db, project_id)
    return Standing(allowed[limits.RESERVATIONS], allowed[limits.HOURS], count, hours)
