"""Judges what was told about reservations: each change once, in order, and nothing else.

Like ``judge``, it shares no code with the package. It compares notices with each other and with the
tables: each notice has the reservation as it was then, so a notice that is missing, is told twice
or comes too early leaves a gap between its neighbors.
"""

import contextlib
import dataclasses
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

#: Two channels, and whether they get the notices that bills are made from. Notices of the first one
#: are delivered; those of the second one stay in the outbox.
DELIVERED, KEPT = "bills", "mail"
CHANNELS = {DELIVERED: True, KEPT: False}

#: What is told regularly, and isn't a change.
_REGULAR = ("exists", "in_use")
#: What a notice of a kind may change of a reservation. All others change nothing of these fields.
_CHANGED = {
    "rescheduled": {"start", "end"},
    "idle_end": {"end"},
    "maintenance": {"start", "end"},
    "resized": {"instance_count"},
    "renamed": {"name"},
}
_FIELDS = ("start", "end", "instance_count", "name")
#: Kinds that happen once in a life.
_ONCE = ("created", "started", "ended", "deleted")
#: What must and what must not have been told, by the status of the lease.
_TOLD = {
    "PENDING": ({"created"}, {"started", "ended", "deleted"}),
    "ACTIVE": ({"created", "started"}, {"ended", "deleted"}),
    "TERMINATED": ({"created", "started", "ended"}, {"deleted"}),
}

Values = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Note:
    """A notice as a channel has got it, or would get it from the outbox."""

    channel: str
    #: The id of Blazar's reservation.
    subject: str
    kind: str
    content: Values
    #: The id of the notice.
    id: int = 0

    @classmethod
    def of_row(cls, row: Values) -> "Note":
        """The notice in a row of the outbox."""
        stored = json.loads(row["content"])
        return cls(row["channel"], row["subject"], row["kind"], stored["content"], row["id"])

    def fields(self) -> dict[str, Any]:
        """The fields that only changes may change."""
        return {name: self.content[name] for name in _FIELDS}


@dataclasses.dataclass(frozen=True)
class Kept:
    """A reservation as the tables have it in the end."""

    lease_status: str
    fields: Values
    #: Whether it was taken over from a Warre, of which nothing was told before.
    is_imported: bool = False


class Recorder:
    """A channel that remembers what it is given, and never fails."""

    name = DELIVERED
    billing = CHANNELS[DELIVERED]
    in_groups = False

    def __init__(self) -> None:
        self.notes: list[Note] = []

    @contextlib.contextmanager
    def opened(self, notices: Any) -> Iterator["Recorder"]:
        yield self

    def send(self, notices: Any) -> None:
        """Remember notices."""
        self.notes += [
            Note(self.name, each.subject, each.news.kind.value, each.content, each.id)
            for each in notices
        ]

    def note(self, db: Any) -> None:
        """Note nothing in the database."""


def wrong(notes: Iterable[Note], there: Mapping[str, Kept], *, may_repeat: bool) -> list[str]:
    """What was told wrongly.

    :param notes: the notices of all channels; those of a channel in the order of its telling.
    :param there: the reservations that exist, by their id in Blazar's table.
    :param may_repeat: whether a manager may have died between sending a notice and noting this.
    """
    told: dict[tuple[str, str], list[Note]] = {
        (channel, subject): [] for channel in CHANNELS for subject in there
    }
    for note in notes:
        if note.channel in CHANNELS and note.kind not in _REGULAR:
            told.setdefault((note.channel, note.subject), []).append(note)
    found = []
    for (channel, subject), mine in told.items():
        once = _without_repeats(mine) if may_repeat and channel == DELIVERED else mine
        found += [
            f"{channel} told of {subject}: {text}" for text in _of_one(once, there.get(subject))
        ]
    return found


def _without_repeats(notes: Sequence[Note]) -> list[Note]:
    """Notices without those that were sent again, as a manager's are that has died."""
    return [note for number, note in enumerate(notes) if note not in notes[:number]]


def _of_one(notes: Sequence[Note], kept: Kept | None) -> list[str]:
    """What is wrong with what one channel was told of one reservation."""
    kinds = [note.kind for note in notes]
    found = [f"{kind} {kinds.count(kind)} times" for kind in _ONCE if kinds.count(kind) > 1]
    is_imported = kept is not None and kept.is_imported
    if kinds and kinds[0] != "created" and not is_imported:
        found.append(f"{kinds[0]} before created")
    order = [_ONCE.index(kind) for kind in kinds if kind in _ONCE]
    if order != sorted(order) or "deleted" in kinds[:-1]:
        found.append(f"not in order: {', '.join(kinds)}")
    found += _gaps(notes)
    if kept is None:
        if kinds and not {"ended", "deleted"} & set(kinds):
            found.append("not that it is gone")
        return found
    needed, excluded = _TOLD.get(kept.lease_status, (set(), set()))
    if not is_imported:
        found += [f"not that it was {kind}" for kind in sorted(needed - set(kinds))]
    found += [f"{kind}, which it wasn't" for kind in sorted(excluded & set(kinds))]
    if notes and notes[-1].fields() != kept.fields:
        found.append(f"at last {notes[-1].fields()}, and it is {dict(kept.fields)}")
    return found


def _gaps(notes: Sequence[Note]) -> list[str]:
    """What has changed without having been told, or was told and hasn't changed."""
    found = []
    for before, note in itertools.pairwise(notes):
        old, new = before.fields(), note.fields()
        changed = {name for name in _FIELDS if old[name] != new[name]}
        allowed = _CHANGED.get(note.kind, set())
        if changed - allowed:
            found.append(f"{note.kind}, and another {', '.join(sorted(changed - allowed))}")
        if allowed and not changed:
            found.append(f"{note.kind}, and nothing has changed")
    return found
