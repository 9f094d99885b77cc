"""Random lives of reservations, and what each quantity is second by second.

The simulation goes through the seconds one after the other and keeps what it sees. It shares no
code with ``domain.records.usage``.
"""

import dataclasses
import datetime
import random

from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.records.changes import MISSING_INSTANCES, Change, ChangeKind
from warre_blazar.domain.records.usage import Amounts
from warre_blazar.domain.timeline import Span

ORIGIN = datetime.datetime(2100, 1, 1, 23, 59)
SHAPE = Shape(2, 2048, 20, 5, {}, None, None)


def at(second: int) -> datetime.datetime:
    return ORIGIN + datetime.timedelta(seconds=second)


def text(second: int) -> str:
    return f"{at(second).isoformat()}+00:00"


@dataclasses.dataclass
class Simulated:
    """A reservation that lives through ``seconds``, as random events have it."""

    chance: random.Random
    seconds: int

    def __post_init__(self) -> None:
        self.start = self.chance.randint(0, self.seconds)
        self.end = self.start + self.chance.randint(1, self.seconds // 2)
        self.count = self.chance.randint(1, 4)
        self.log: list[Change] = []
        self.running = self.shut = self.over = False
        self.ended_once = False
        self.missing = 0
        self.deleted: int | None = None
        #: By second: the start, end and count that were asked for; None once it is over.
        self.asked: list[tuple[int, int, int] | None] = []
        #: By second: how many instances ran, and how many of them couldn't be used.
        self.ran: list[tuple[int, int]] = []
        for second in range(self.seconds):
            self._happen(second)
            self.asked.append(None if self.over else (self.start, self.end, self.count))
            held = self.count if self.running else 0
            self.ran.append((held, held if self.shut else min(held, self.missing)))

    def _happen(self, now: int) -> None:
        if self.deleted is not None:
            return
        if self.running and now >= self.end and self.chance.random() < 0.7:
            self._end(now)
        due = not self.over and not self.running and self.start <= now < self.end
        if due and self.chance.random() < 0.5:
            self._start(now)
        if self.chance.random() < 0.04:
            self.chance.choice([self._move, self._resize, self._lose, self._open, self._delete])(
                now
            )

    def _start(self, now: int) -> None:
        self.running = True
        self.log.append(Change(at(now), ChangeKind.STARTED))
        if self.chance.random() < 0.2:
            self.shut = True
            self.log.append(Change(at(now), ChangeKind.REFUSED))

    def _end(self, now: int) -> None:
        self.running, self.over, self.ended_once = False, True, True
        self.log.append(Change(at(now), ChangeKind.ENDED))

    def _move(self, now: int) -> None:
        """Move what hasn't begun; extend, or shorten to the present or a later moment."""
        if self.over:
            return
        before = {"start": text(self.start), "end": text(self.end)}
        if now < self.start:
            self.start = now + self.chance.randint(0, self.seconds)
        first = max(now, self.start + 1)
        self.end = first + self.chance.randint(0, self.seconds // 2)
        after = {"start": text(self.start), "end": text(self.end)}
        self.log.append(Change(at(now), ChangeKind.RESCHEDULED, "user", before, after))

    def _resize(self, now: int) -> None:
        if self.over:
            return
        most = self.count if now >= self.start else 6
        count = self.chance.randint(1, most)
        values = ({"instance_count": number} for number in (self.count, count))
        self.count = count
        self.log.append(Change(at(now), ChangeKind.RESIZED, "user", *values))

    def _lose(self, now: int) -> None:
        self.missing = self.chance.randint(0, self.count)
        after = {MISSING_INSTANCES: self.missing}
        self.log.append(Change(at(now), ChangeKind.MISSING, after=after))

    def _open(self, now: int) -> None:
        if self.shut:
            self.shut = False
            self.log.append(Change(at(now), ChangeKind.OPENED))

    def _delete(self, now: int) -> None:
        if self.running and self.chance.random() < 0.5:
            self._end(now)
        self.deleted, self.running, self.over = now, False, True

    @property
    def reservation(self) -> Reservation:
        """What the tables have of it."""
        state = "ACTIVE" if self.running else "COMPLETE" if self.ended_once else "ALLOCATED"
        return Reservation(
            id="r",
            reservation_id="r",
            lease_id="l",
            lease_name="",
            flavor_id="f",
            instance_count=self.count,
            shape=SHAPE,
            span=Span(at(self.start), at(self.end)),
            project_id="p",
            user_id="u",
            state=state,
            status_reason=None,
            created_at=at(0),
            deleted_at=None if self.deleted is None else at(self.deleted),
        )

    def amounts(self, second: int) -> Amounts:
        """The quantities at a second, by the definitions on the page about usage."""
        begun = next(
            (now for now, asked in enumerate(self.asked) if asked and asked[0] <= now), None
        )
        asked = [each for each in self.asked if each]
        booked = asked[-1:] if begun is None else [a for a in self.asked[begun:] if a]
        booked = booked or [(self.start, self.end, self.count)]
        most = max(n if start <= second < end else 0 for start, end, n in booked)
        if begun is None and self.over:
            return Amounts(booked=most, cancelled=most)
        is_past = second < self.seconds
        present = self.asked[second] if is_past else self.asked[-1]
        start, end, count = present or (0, 0, 0)
        planned = count if start <= second < end else 0
        held, unusable = self.ran[second] if is_past else (0, 0)
        return Amounts(
            booked=most,
            held=held,
            given_back=max(0, most - max(planned, held)),
            lost=(max(0, planned - held) if is_past else 0) + unusable,
        )
