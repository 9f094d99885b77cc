"""Maintenance windows: times during which flavors can't be booked."""

import dataclasses
import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_utils import uuidutils
from sqlalchemy.orm import Session

from warre_blazar import exceptions
from warre_blazar.db import flavors, reservations, session, windows
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.window import Window


@session.retried
def create(
    span: Span, note: str | None, flavor_ids: Iterable[str], now: datetime.datetime
) -> Window:
    """Add a window; a flavor that somebody books at the same moment is either closed or refused.

    :raises InvalidPeriod: starts in the past, or ends before it starts.
    :raises FlavorNotFound: one of the flavors.
    :raises WindowConflict: a flavor is booked at that time.
    """
    _check_start(span, now)
    with session.writer() as db:
        window = _checked(db, Window(uuidutils.generate_uuid(), span, note, ()), flavor_ids)
        windows.insert(db, window, now)
        return window


@session.retried
def update(window_id: str, changes: Mapping[str, Any], now: datetime.datetime) -> Window:
    """Change start, end, note or flavor_ids of a window.

    :raises WindowNotFound: and what ``create`` raises.
    """
    with session.writer() as db:
        found = _find(db, window_id)
        span = Span(changes.get("start", found.span.start), changes.get("end", found.span.end))
        if span.start != found.span.start:
            _check_start(span, now)
        flavor_ids = changes.get("flavor_ids", [flavor_id for flavor_id, _ in found.flavors])
        wanted = Window(window_id, span, changes.get("note", found.note), ())
        window = _checked(db, wanted, flavor_ids, found)
        windows.update(db, window)
        return window


def _check_start(span: Span, now: datetime.datetime) -> None:
    if span.start < now.replace(second=0, microsecond=0):
        raise exceptions.InvalidPeriod("Maintenance window cannot start in the past")


def _checked(
    db: Session, window: Window, flavor_ids: Iterable[str], before: Window | None = None
) -> Window:
    """The window with its flavors; what it closed ``before`` may be booked, by who may."""
    if window.span.end <= window.span.start:
        raise exceptions.InvalidPeriod("Maintenance window end time must be after start time")
    wanted = set(flavor_ids)
    found = windows.living_flavors(db, wanted)
    if len(found) != len(wanted):
        unknown = min(wanted - {flavor_id for flavor_id, _ in found})
        raise exceptions.FlavorNotFound(unknown, "One or more flavors not found")
    for flavor in sorted(found):
        if not (before and flavor in before.flavors and before.span.contains(window.span)):
            _close(db, flavor[0], window.span)
    return dataclasses.replace(window, flavors=tuple(found))


def _close(db: Session, flavor_id: str, span: Span) -> None:
    """A claim that is made at this moment loses against the moved generation, or we do."""
    flavors.update(db, flavors.get_many(db, {flavor_id})[flavor_id], {})
    if reservations.slot_claims(db, flavor_id, span):
        raise exceptions.WindowConflict(flavor_id)


def get(window_id: str) -> Window:
    """:raises WindowNotFound:"""
    with session.reader() as db:
        return _find(db, window_id)


def _find(db: Session, window_id: str) -> Window:
    found = windows.find(db, window_id)
    if found is None:
        raise exceptions.WindowNotFound(window_id)
    return found


def listing(limit: int | None, offset: int) -> tuple[list[Window], int]:
    """A page of windows by start, and how many there are in all."""
    with session.reader() as db:
        return windows.listing(db, limit, offset)


def delete(window_id: str) -> None:
    """:raises WindowNotFound:"""
    with session.writer() as db:
        if not windows.delete(db, window_id):
            raise exceptions.WindowNotFound(window_id)
