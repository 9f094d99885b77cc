"""Translates the names that people use into ids."""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from warre_blazar.client import errors, transport
from warre_blazar.client.types import Reservation, Window

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


def reservation(reservations: Any, ref: str, *, past: bool = False) -> str:
    """Return a reservation's id.

    :param ref: the id, the start of the id, the reservation's name, or the name of the flavor. A
        name works only if exactly one of the project's reservations has it, not counting COMPLETE
        reservations. The start of an id also finds reservations of other projects if the user may
        list them.
    :param past: whether a name may mean a COMPLETE reservation if nothing else matches.
    :raises errors.NotFound: no reservation matches. If deleted ones do, it is a
        ``DeletedReservation``.
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
        raise _missing(reservations, ref)
    return _sole_id("reservation", ref, [r.id for r in matches], matches)


def _past(own: Sequence[Reservation], ref: str) -> Sequence[Reservation]:
    """The project's COMPLETE reservations with a name, or else of a flavor."""
    over = [r for r in own if r.status == "COMPLETE"]
    return [r for r in over if r.name == ref] or [r for r in over if r.flavor.name == ref]


def _started_elsewhere(
    reservations: Any, ref: str, *, deleted: bool = False
) -> Sequence[Reservation]:
    """The reservations of all projects whose ids start with ``ref``, if the user may list them.

    :param deleted: whether to look among deleted reservations.
    """
    if not _ID_PREFIX.fullmatch(ref):
        return []
    try:
        everywhere = reservations.list(all_projects=True, deleted=deleted)
    except errors.ApiError as error:
        if error.code != "forbidden":
            raise
        return []
    return [r for r in everywhere if _is_start_of_id(ref, r.id)]


def _missing(reservations: Any, ref: str) -> errors.NotFound:
    """The error for a text that no reservation matches. It says if deleted reservations do."""
    if not _ID_PREFIX.fullmatch(ref):
        return errors.NoSuchReservation(ref)
    try:
        own = reservations.list(deleted=True)
        deleted: Sequence[Reservation] = [r for r in own if _is_start_of_id(ref, r.id)]
        deleted = deleted or _started_elsewhere(reservations, ref, deleted=True)
    except errors.ApiError:  # Only the text of the error depends on the answer.
        deleted = []
    if deleted:
        return errors.DeletedReservation(ref, [r.id for r in deleted])
    return errors.NoSuchReservation(ref)


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
    return _sole_id("maintenance window", ref, [w.id for w in matches], matches)


def series(all_series: Any, ref: str, *, past: bool = False) -> str:
    """Return the id of a series.

    :param ref: the id, the start of the id, or the name. The name works only if exactly one of
        the project's series has it, not counting those that were ended.
    :param past: whether a name may mean a series that was ended if no other has it.
    :raises errors.NotFound: no series matches.
    :raises errors.Ambiguous: several series match.
    """
    if is_id(ref):
        return ref
    own = all_series.list()
    ids = [s.id for s in own if _is_start_of_id(ref, s.id)]
    named = [s for s in own if s.name == ref]
    live = [s.id for s in named if s.status != "ended"]
    over = [s.id for s in named] if past else []
    return _sole_id("series", ref, ids or live or over, [])


def wait(waits: Any, ref: str) -> str:
    """Return a wait's id.

    :param ref: the id, the start of the id, or the name of the reservation that is waited for. The
        name means the wait that is WAITING, or if none is, the only one that is over.
    :raises errors.NotFound: no wait matches.
    :raises errors.Ambiguous: several waits match.
    """
    if is_id(ref):
        return ref
    own = waits.list()
    ids = [w.id for w in own if _is_start_of_id(ref, w.id)]
    named = [w for w in own if w.name == ref]
    waiting = [w.id for w in named if w.status == "WAITING"]
    return _sole_id("wait", ref, ids or waiting or [w.id for w in named], [])


def _is_start_of_id(ref: str, object_id: str) -> bool:
    return bool(_ID_PREFIX.fullmatch(ref)) and object_id.startswith(ref.lower())


def _sole_id(
    kind: str, ref: str, ids: list[str], things: Sequence[Reservation] | Sequence[Window]
) -> str:
    if len(ids) == 1:
        return ids[0]
    if not ids:
        raise errors.NotFound(f"There is no {kind} {ref!r} that you may see", 404)
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
