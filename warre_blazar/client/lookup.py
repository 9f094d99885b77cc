"""Translates the names that people use into ids, and says what is over."""

import datetime
import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from warre_blazar.client import errors, transport
from warre_blazar.client.types import Flavor, Reservation, Series, Wait, Window
from warre_blazar.fields.reservations import DELETED
from warre_blazar.texts import Said, refusals

_ID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
#: The start of an id. It has at least four characters, so that no short name is taken for the start
#: of an id.
_ID_PREFIX = re.compile(r"[0-9a-f][0-9a-f-]{3,}", re.IGNORECASE)


def is_id(ref: str) -> bool:
    """Whether ``ref`` is a whole id."""
    return bool(_ID.fullmatch(ref))


def flavor(flavors: Any, ref: str) -> str:
    """Return the name or id by which the path of a URL can refer to a flavor.

    The API accepts a flavor's name in a path. But a path can't contain some names, for instance a
    name with a slash. Only for these names, this function asks the API for the flavor's id.

    :raises errors.NotFound: no flavor has the name.
    """
    if transport.is_routable(ref):
        return ref
    ids = [f.id for f in flavors.visible() if f.name == ref]
    return _sole_id("flavor", ref, ids, [])


def similar(ref: str, names: Iterable[str]) -> list[str]:
    """Return up to 5 names that contain ``ref``, or else that are spelled almost like ``ref``."""
    by_folded_name = {name.casefold(): name for name in names}
    word = ref.casefold()
    containing = [name for folded, name in by_folded_name.items() if word and word in folded]
    if containing:
        return containing[:5]
    return [by_folded_name[f] for f in difflib.get_close_matches(word, by_folded_name, 5, 0.5)]


def titles(flavors: Sequence[Flavor]) -> dict[str, str]:
    """Return a title for each flavor, by its id: its name, with the id if others have that too."""
    names = Counter(flavor.name for flavor in flavors)
    return {
        flavor.id: flavor.name if names[flavor.name] == 1 else f"{flavor.name} ({flavor.id})"
        for flavor in flavors
    }


def reservation(reservations: Any, ref: str, *, past: bool = False) -> str:
    """Return a reservation's id.

    :param ref: the id, the start of the id, the reservation's name, or the name of the flavor. A
        name works only if exactly one of the project's reservations has it, not counting COMPLETE
        reservations. The start of an id also finds reservations of other projects if the user may
        list them.
    :param past: whether a name may mean a COMPLETE reservation if nothing else matches, or a name
        or the start of an id a deleted one.
    :raises errors.NotFound: no reservation matches. If those that are over do, it is an ``Over``.
    :raises errors.Ambiguous: several reservations match.
    """
    if is_id(ref):
        return ref
    own = reservations.list()
    live = [r for r in own if r.status != "COMPLETE"]
    matches = (
        [r for r in own if _is_start_of_id(ref, r.id)]
        or [r for r in live if r.name == ref]
        or [r for r in live if r.flavor.name == ref]
        or _started_elsewhere(reservations, ref)
        or (_past(own, ref) if past else [])
    )
    if not matches:
        deleted = _deleted(reservations, ref)
        matches = deleted if past else []
        over: list[Reservation] = [
            *(r for r in own if r.status == "COMPLETE" and r.name == ref),
            *deleted,
        ]
        if over and not past:
            over.sort(key=_end, reverse=True)
            raise over_error(reservations, ref, over)
    if not matches:
        nearest = similar(ref, filter(None, (r.name for r in live)))
        hint = f" (did you mean {' or '.join(map(repr, nearest))}?)" if nearest else ""
        raise errors.NoSuchReservation(ref, hint)
    return _sole_id("reservation", ref, [r.id for r in matches], matches)


def _past(own: Sequence[Reservation], ref: str) -> Sequence[Reservation]:
    """The project's COMPLETE reservations with a name, or else of a flavor."""
    over = [r for r in own if r.status == "COMPLETE"]
    return [r for r in over if r.name == ref] or [r for r in over if r.flavor.name == ref]


def _started_elsewhere(collection: Any, ref: str, **filters: bool) -> Sequence[Any]:
    """The objects of all projects whose ids start with ``ref``, if the user may list them.

    :param filters: further filters of the list.
    """
    if not _ID_PREFIX.fullmatch(ref):
        return []
    try:
        everywhere = collection.list(all_projects=True, **filters)
    except errors.ApiError as error:
        if error.code != "forbidden":
            raise
        return []
    return [r for r in everywhere if _is_start_of_id(ref, r.id)]


def _deleted(reservations: Any, ref: str) -> Sequence[Reservation]:
    """The deleted reservations with a name, or with ids that start with ``ref``."""
    name = None if _ID_PREFIX.fullmatch(ref) else ref
    try:
        own = reservations.list(deleted=True, name=name)
        found = [r for r in own if r.name == ref or _is_start_of_id(ref, r.id)]
        return found or _started_elsewhere(reservations, ref, deleted=True)
    except errors.ApiError:  # An older server has no list of them.
        return []


def _end(reservation: Reservation) -> datetime.datetime:
    return reservation.deleted_at or reservation.end


def over_error(
    collection: Any, ref: str, items: Sequence[Reservation | Series | Wait]
) -> errors.Over:
    """Return the error that says when things have ended, and by whom.

    :param collection: the client's collection of them.
    :param ref: how a user has named them.
    :param items: the things, the latest first.
    """
    said = [collection._transport.worded(_end_of(item, ref).document) for item in items]
    return errors.Over(said, [item.id for item in items])


def _end_of(item: Reservation | Series | Wait, ref: str) -> Said:
    """What the API says of something that is over."""
    of_id = item.id.startswith(ref.lower())
    name = item.id if of_id else f"{ref} ({item.id})"
    if isinstance(item, Wait):
        status, at, by = item.status, item.ended_at, item.ended_by
        return refusals.WAIT_OVER(wait=name, status=status, at=at, by=by)
    if isinstance(item, Series):
        return refusals.SERIES_OVER(series=name, at=item.ended_at, by=item.ended_by)
    if item.status != DELETED:
        return refusals.RESERVATION_OVER(reservation=name, at=item.end)
    at, by = item.deleted_at, item.deleted_by
    return refusals.RESERVATION_DELETED(reservation=name, at=at, by=by)


def window(windows: Any, ref: str) -> str:
    """Return a maintenance window's id.

    :param ref: the id, the start of the id, or the note. The note works only if no other window has
        the same note.
    :raises errors.NotFound: no window matches.
    :raises errors.Ambiguous: several windows match.
    """
    if is_id(ref):
        return ref
    all_windows = windows.list()
    matches = [w for w in all_windows if _is_start_of_id(ref, w.id)]
    matches = matches or [w for w in all_windows if w.note == ref]
    notes = [w.note for w in all_windows]
    return _sole_id("maintenance window", ref, [w.id for w in matches], matches, notes)


def series(all_series: Any, ref: str, *, past: bool = False) -> str:
    """Return the id of a series.

    :param ref: the id, the start of the id, or the name. The name works only if exactly one of
        the project's series has it, not counting those that were ended. The start of an id also
        finds series of other projects if the user may list them.
    :param past: whether a name may mean a series that was ended if no other has it.
    :raises errors.NotFound: no series matches. If the name is of those that were ended, it is an
        ``Over``.
    :raises errors.Ambiguous: several series match.
    """
    if is_id(ref):
        return ref
    own = all_series.list()
    ids = _started(own, ref)
    named = [s for s in own if s.name == ref]
    live = [s.id for s in named if s.status != "ended"]
    if named and not past and not ids and not live:
        raise over_error(all_series, ref, named)
    ids = (
        ids or live or [s.id for s in named] or [s.id for s in _started_elsewhere(all_series, ref)]
    )
    return _sole_id("series", ref, ids, [], [s.name for s in own])


def wait(waits: Any, ref: str) -> str:
    """Return a wait's id.

    :param ref: the id, the start of the id, or the name of the reservation that is waited for. The
        name means the wait that is WAITING, or if none is, the latest one. The start of an id also
        finds waits of other projects if the user may list them.
    :raises errors.NotFound: no wait matches.
    :raises errors.Ambiguous: several waits match.
    """
    if is_id(ref):
        return ref
    own = waits.list()
    ids = _started(own, ref)
    named = [w for w in own if w.name == ref]
    waiting = [w.id for w in named if w.status == "WAITING"]
    ids = ids or waiting or [w.id for w in named[-1:] or _started_elsewhere(waits, ref)]
    return _sole_id("wait", ref, ids, [], [w.name for w in own])


def owned(collection: Any, kind: str, ref: str) -> str:
    """Return the id of an object of a collection that can be listed as a whole.

    :param kind: what one of the objects is called.
    :param ref: the id, the start of the id, or the name if the objects have names.
    :raises errors.NotFound: no object matches.
    :raises errors.Ambiguous: several objects match.
    """
    if is_id(ref):
        return ref
    own = collection.list()
    ids = _started(own, ref)
    return _sole_id(kind, ref, ids or [e.id for e in own if getattr(e, "name", None) == ref], [])


def _started(own: Iterable[Any], ref: str) -> list[str]:
    """The ids that start with ``ref``."""
    return [each.id for each in own if _is_start_of_id(ref, each.id)]


def _is_start_of_id(ref: str, object_id: str) -> bool:
    return bool(_ID_PREFIX.fullmatch(ref)) and object_id.startswith(ref.lower())


def _sole_id(
    kind: str,
    ref: str,
    ids: list[str],
    things: Sequence[Reservation] | Sequence[Window],
    names: Iterable[str | None] = (),
) -> str:
    """Return the only one of some ids.

    :param names: the names of all objects, of which similar ones are proposed.
    """
    if len(ids) == 1:
        return ids[0]
    if not ids:
        nearest = ", ".join(map(repr, similar(ref, filter(None, names))))
        hint = f". Did you mean {nearest}?" if nearest else ""
        raise errors.NoSuchName(kind, ref, f"There is no {kind} {ref!r} that you may see{hint}")
    lines = [_description(thing) for thing in things] or ids
    several = kind if kind.endswith("s") else f"{kind}s"
    raise errors.Ambiguous(
        f"{ref!r} could be several {several}; give the ID of one:\n  " + "\n  ".join(lines),
        ids,
        things,
    )


def _description(item: Reservation | Window) -> str:
    text = f"{item.id}  {item.start:%Y-%m-%d %H:%M} to {item.end:%Y-%m-%d %H:%M} UTC"
    return f"{text}  {item.status}" if isinstance(item, Reservation) else text
