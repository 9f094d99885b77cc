"""The phases of a reservation's backing in Nova and Placement."""

import enum


class Phase(enum.StrEnum):
    """How far a backing is. Each phase may be the last one, because a reservation can be deleted."""

    #: Requests to make the backing may have been sent, or all of it exists.
    MADE = "made"
    #: Opening the reservation has begun. From then on, the project may have access and servers.
    OPENING = "opening"
    #: Every step of opening has succeeded.
    OPEN = "open"

    @property
    def is_opened(self) -> bool:
        """Whether the reservation's hosts may be in Nova's aggregate and offer instances."""
        return self in (Phase.OPENING, Phase.OPEN)
