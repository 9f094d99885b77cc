"""Creates, changes, lists and deletes maintenance windows."""

import dataclasses
import datetime
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils
from sqlalchemy.orm import Session

from warre_blazar.db import claims, flavors, maintenance_windows, reservations, session
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.maintenance_window import Window
from warre_blazar.domain.reservation import Reservation
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions

#: At most this many reservations are listed in a ``WindowConflict``.
_MOST_CONFLICTS = 20


@session.retried
def create(
    span: Span,
    note: str | None,
    flavor_ids: Iterable[str],
    now: datetime.datetime,
    window_id: str | None = None,
    *,
    dry_run: bool = False,
) -> Window:
    """Create a maintenance window.

    If somebody books one of the flavors at the same moment, either the booking or the window is
    refused.

    :param window_id: the id for the new window. None: any new id.
    :param dry_run: whether to write nothing, and to return the window as it would be.
    :raises InvalidPeriod: the window starts in the past, or doesn't end after its start.
    :raises FlavorNotFound: one of the flavors doesn't exist.
    :raises WindowConflict: one of the flavors is booked during the window.
    """
    _check_start(span, now)
    with session.undone() if dry_run else session.writer() as db:
        window_id = window_id or uuidutils.generate_uuid()
        window = _checked(db, Window(window_id, span, note, ()), flavor_ids)
        maintenance_windows.insert(db, window, now)
        return window


@session.retried
def update(
    window_id: str, changes: Mapping[str, Any], now: datetime.datetime, *, dry_run: bool = False
) -> Window:
    """Change a maintenance window.

    :param changes: the new values of ``start``, ``end``, ``note`` or ``flavor_ids``.
    :param dry_run: the same as for ``create``.
    :raises WindowNotFound: there is no such window.
    :raises InvalidPeriod, FlavorNotFound, WindowConflict: the same as for ``create``.
    """
    with session.undone() if dry_run else session.writer() as db:
        present = _find(db, window_id)
        span = Span(changes.get("start", present.span.start), changes.get("end", present.span.end))
        if span.start != present.span.start:
            _check_start(span, now)
        flavor_ids = changes.get("flavor_ids", [flavor_id for flavor_id, _ in present.flavors])
        wanted = Window(window_id, span, changes.get("note", present.note), ())
        window = _checked(db, wanted, flavor_ids, present)
        maintenance_windows.update(db, window)
        return window


def _check_start(span: Span, now: datetime.datetime) -> None:
    if span.start < now.replace(second=0, microsecond=0):
        raise exceptions.InvalidPeriod("Maintenance window cannot start in the past")


def _checked(
    db: Session, window: Window, flavor_ids: Iterable[str], before: Window | None = None
) -> Window:
    """Check a window, close its flavors, and return the window with these flavors.

    :param before: the window as it was before the change. None for a new window. If the window
        already closed a flavor for all of the new time, the flavor isn't checked, because any
        bookings in this time were made by users who may book inside windows.
    """
    if window.span.end <= window.span.start:
        raise exceptions.InvalidPeriod("Maintenance window end time must be after start time")
    wanted = set(flavor_ids)
    living_flavors = maintenance_windows.living_flavors(db, wanted)
    if len(living_flavors) != len(wanted):
        unknown = min(wanted - {flavor_id for flavor_id, _ in living_flavors})
        raise exceptions.FlavorNotFound(unknown, "One or more flavors not found")
    _close(
        db,
        [
            flavor_id
            for flavor_id, name in sorted(living_flavors)
            if not (before and (flavor_id, name) in before.flavors)
            or not before.span.contains(window.span)
        ],
        window.span,
    )
    return dataclasses.replace(window, flavors=tuple(living_flavors))


def _close(db: Session, flavor_ids: list[str], span: Span) -> None:
    """Check that none of the flavors is booked during the span.

    The flavors' generations are increased. So if somebody books a flavor at the same moment, either
    the booking or the window loses the race. The loser is tried again, and then reads what the
    winner has written.

    :raises WindowConflict:
    :raises session.LostRace: a flavor was claimed or changed since it was read.
    """
    flavors_by_id = flavors.get_many(db, set(flavor_ids))
    for flavor_id in flavor_ids:
        flavors.update(db, flavors_by_id[flavor_id], {})
    booked = [f for f in flavor_ids if claims.slot_claims(db, f, span)]
    if not booked:
        return
    conflicting, total = reservations.holding_slots(db, booked, span, _MOST_CONFLICTS)
    conflicts = [_conflict(item, flavors_by_id[item.flavor_id]) for item in conflicting]
    raise exceptions.WindowConflict(booked[0], conflicts, total)


def _conflict(reservation: Reservation, flavor: Flavor) -> dict[str, Any]:
    """What a ``WindowConflict`` says about a reservation that conflicts with the window."""
    return {
        "id": reservation.id,
        "project_id": reservation.project_id,
        "flavor": {"id": flavor.id, "name": flavor.name},
        "instance_count": reservation.instance_count,
        "start": f"{reservation.span.start.isoformat()}+00:00",
        "end": f"{reservation.span.end.isoformat()}+00:00",
    }


def get(window_id: str, *, project_id: str | None, everything: bool) -> Window:
    """The window with this id, with those of its flavors that the caller may see.

    :param project_id, everything: the same as for ``listing``.
    :raises WindowNotFound: there is no such window, or the caller may see none of the flavors that
        it closes.
    """
    with session.reader() as db:
        return _find(db, window_id, _visible(project_id, everything))


def _find(
    db: Session,
    window_id: str,
    visible: sa.ColumnElement[bool] = maintenance_windows.ALL_FLAVORS,
) -> Window:
    window = maintenance_windows.find(db, window_id, visible)
    if window is None:
        raise exceptions.WindowNotFound(window_id)
    return window


def listing(
    limit: int | None, offset: int, *, project_id: str | None, everything: bool
) -> tuple[list[Window], int]:
    """A page of windows sorted by start, and the number of windows on all pages.

    Windows that close only flavors that the caller may not see are left out.

    :param project_id: the caller's project.
    :param everything: whether the caller may also see private flavors to which the project has no
        access.
    """
    with session.reader() as db:
        visible = _visible(project_id, everything)
        return maintenance_windows.listing(db, limit, offset, visible)


def _visible(project_id: str | None, everything: bool) -> sa.ColumnElement[bool]:
    return maintenance_windows.ALL_FLAVORS if everything else flavors.accessible_to(project_id)


@session.retried
def delete(window_id: str) -> None:
    """Delete a window.

    :raises WindowNotFound:
    """
    with session.writer() as db:
        if not maintenance_windows.delete(db, window_id):
            raise exceptions.WindowNotFound(window_id)
