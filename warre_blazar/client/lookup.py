"""From what people call things to ids."""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from warre_blazar.client import errors, transport
from warre_blazar.client.types import Reservation, Window

_ID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
#: So much of an id may stand for it.
_PREFIX = re.compile(r"[0-9a-f][0-9a-f-]{3,}", re.IGNORECASE)


def is_id(ref: str) -> bool:
    """Whether it is a whole id."""
    return bool(_ID.fullmatch(ref))


def flavor(flavors: Any, ref: str) -> str:
    """What names a flavor in a path: the API knows names; an id where no path can have it."""
    if transport.routable(ref):
        return ref
    found = [f.id for f in flavors.list(all_projects=True) if f.name == ref]
    return _only("flavor", ref, found, [])


def similar(ref: str, names: Iterable[str]) -> list[str]:
    """Names that might be meant."""
    known = {name.casefold(): name for name in names}
    word = ref.casefold()
    within = [name for folded, name in known.items() if word and word in folded]
    near = [known[f] for f in difflib.get_close_matches(word, known, 5, 0.5)]
    return list(dict.fromkeys([*within, *near]))[:5]


def reservation(reservations: Any, ref: str) -> str:
    """A reservation's id."""
    if is_id(ref):
        return ref
    found = [r for r in reservations.list() if _stands_for(ref, r.id)]
    if not found:
        found = [r for r in reservations.list() if r.flavor.name == ref and r.status != "COMPLETE"]
    return _only("reservation", ref, [r.id for r in found], found)


def window(windows: Any, ref: str) -> str:
    """A window's id."""
    if is_id(ref):
        return ref
    known = windows.list()
    found = [w for w in known if _stands_for(ref, w.id)] or [w for w in known if w.note == ref]
    return _only("maintenance window", ref, [w.id for w in found], found)


def _stands_for(ref: str, identity: str) -> bool:
    return bool(_PREFIX.fullmatch(ref)) and identity.startswith(ref.lower())


def _only(
    what: str, ref: str, ids: list[str], things: Sequence[Reservation] | Sequence[Window]
) -> str:
    if len(ids) == 1:
        return ids[0]
    if not ids:
        raise errors.NotFound(f"There is no {what} {ref!r} that you may see", 404)
    lines = [_one(thing) for thing in things] or ids
    raise errors.Ambiguous(
        f"{ref!r} could be several {what}s; give the ID of one:\n  " + "\n  ".join(lines),
        ids,
        things,
    )


def _one(item: Reservation | Window) -> str:
    text = f"{item.id}  {item.start:%Y-%m-%d %H:%M} to {item.end:%Y-%m-%d %H:%M} UTC"
    return f"{text}  {item.status}" if isinstance(item, Reservation) else text
