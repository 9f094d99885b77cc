"""Decides what happens to reservations that run without any server."""

import dataclasses
import datetime
import enum

from warre_blazar import times


class IdleStep(enum.Enum):
    """What is due for an idle reservation."""

    NOTHING = enum.auto()
    #: Its user gets a message.
    WARN = enum.auto()
    #: It ends early.
    END = enum.auto()


@dataclasses.dataclass(frozen=True)
class IdleReservation:
    """A running reservation that had no server at the last sample. Its flavor limits that."""

    #: The id in Blazar's table.
    reservation_id: str
    lease_id: str
    #: The first of the samples without a server, of which none is missing since then.
    idle_from: datetime.datetime
    #: When its user was last warned.
    warned_at: datetime.datetime | None
    #: When its time was last changed.
    changed_at: datetime.datetime | None
    warn_hours: int | None
    end_hours: int | None
    #: Its end, as long as it isn't ended early.
    end: datetime.datetime

    @property
    def since(self) -> datetime.datetime:
        """Since when it is idle. A change of its time says that somebody still wants it."""
        return max(self.idle_from, self.changed_at or self.idle_from)

    @property
    def is_warned(self) -> bool:
        """Whether its user was warned since it is idle."""
        return self.warned_at is not None and self.warned_at >= self.since

    def ends_at(self, now: datetime.datetime) -> datetime.datetime | None:
        """When it would end early, if its user is warned at the latest now. None: it wouldn't."""
        if self.end_hours is None:
            return None
        due = self.since + self.end_hours * times.HOUR
        if self.warn_hours is not None:
            # There is always the whole time between the message and the end, also if the flavor has
            # got its terms when the reservation was idle already.
            warned = self.warned_at if self.is_warned and self.warned_at else now
            due = max(due, warned + (self.end_hours - self.warn_hours) * times.HOUR)
        return due if due < self.end else None

    def step(self, now: datetime.datetime) -> IdleStep:
        """What is due now."""
        if self.warn_hours is not None and not self.is_warned:
            is_due = now >= self.since + self.warn_hours * times.HOUR
            return IdleStep.WARN if is_due else IdleStep.NOTHING
        due = self.ends_at(now)
        return IdleStep.END if due is not None and now >= due else IdleStep.NOTHING
