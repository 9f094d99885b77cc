"""Creates, changes, lists and deletes maintenance windows."""

import dataclasses
import datetime
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils
from sqlalchemy.orm import Session

from warre_blazar import texts
from warre_blazar.db import flavors, generations, maintenance, session
from warre_blazar.db.booking import claims, reservations
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.etags import NOT_SAID, Shown, of_window
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.maintenance import MaintenanceWindow
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
    host_refs: Iterable[str] = (),
    over_bookings: bool = False,
) -> MaintenanceWindow:
    """Create a maintenance window.

    If somebody books one of the flavors, or on one of the hosts, at the same moment, either the
    booking or the window is refused.

    :param window_id: the id for the new window. None: any new id.
    :param host_refs: the ids or hypervisor hostnames of the hosts to close.
    :param over_bookings: whether the window is made although it meets bookings.
    :raises InvalidPeriod: the window starts in the past, or doesn't end after its start.
    :raises FlavorNotFound: one of the flavors doesn't exist.
    :raises InvalidField: one of the hosts doesn't exist, or several hosts have its name.
    :raises WindowConflict: one of the flavors or hosts is booked during the window.
    """
    _check_start(span, now)
    with session.writer() as db:
        window_id = window_id or uuidutils.generate_uuid()
        wanted = MaintenanceWindow(window_id, span, note, (), _closed_hosts(db, host_refs))
        window = _checked(db, wanted, flavor_ids, over_bookings=over_bookings)
        maintenance.insert(db, window, now)
        return window


@session.retried
def update(
    window_id: str,
    changes: Mapping[str, Any],
    now: datetime.datetime,
    shown: Shown = NOT_SAID,
    *,
    over_bookings: bool = False,
    must_close: bool = False,
) -> MaintenanceWindow:
    """Change a maintenance window.

    :param changes: the new values of ``start``, ``end``, ``note``, ``flavor_ids`` or ``host_ids``.
    :param shown: what the caller was shown of the window.
    :param over_bookings: the same as for ``create``.
    :param must_close: whether a change is refused that leaves the window neither flavors nor hosts.
    :raises WindowNotFound: there is no such window.
    :raises ChangedSinceShown:
    :raises InvalidPeriod, FlavorNotFound, InvalidField, WindowConflict: the same as for ``create``.
    """
    with session.writer() as db:
        maintenance.lock(db, window_id)
        present = _find(db, window_id)
        shown.check(window_id, of_window(present))
        span = Span(changes.get("start", present.span.start), changes.get("end", present.span.end))
        if span.start != present.span.start:
            _check_start(span, now)
        flavor_ids = changes.get("flavor_ids", [flavor_id for flavor_id, _ in present.flavors])
        closed = _closed_hosts(db, changes["host_ids"]) if "host_ids" in changes else present.hosts
        wanted = MaintenanceWindow(window_id, span, changes.get("note", present.note), (), closed)
        if must_close and {"flavor_ids", "host_ids"} & changes.keys():
            check_closes(flavor_ids, closed)
        window = _checked(db, wanted, flavor_ids, present, over_bookings=over_bookings)
        maintenance.update(db, window)
        return window


def _check_start(span: Span, now: datetime.datetime) -> None:
    if span.start < now.replace(second=0, microsecond=0):
        raise exceptions.InvalidPeriod(texts.refusals.WINDOW_PAST())


def check_closes(flavor_ids: Collection[str], hosts: Collection[Any]) -> None:
    """Refuse a window with neither flavors nor hosts. Warre accepts it, so not every caller checks.

    :raises InvalidField:
    """
    if not (flavor_ids or hosts):
        raise exceptions.InvalidField("flavor_ids", texts.expected.CLOSED_ITEM())


def _closed_hosts(db: Session, refs: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The ids and names of hosts, sorted by name."""
    return tuple(sorted({_host(db, ref) for ref in refs}, key=lambda host: (host[1], host[0])))


def _host(db: Session, ref: str) -> tuple[str, str]:
    named = maintenance.hosts_named(db, ref)
    for host in named:
        if host[0] == ref:
            return host
    if len(named) != 1:
        entry = texts.expected.SEVERAL_HOSTS if named else texts.expected.NO_HOST
        raise exceptions.InvalidField("host_ids", entry(host=ref))
    return named[0]


def _checked(
    db: Session,
    window: MaintenanceWindow,
    flavor_ids: Iterable[str],
    before: MaintenanceWindow | None = None,
    *,
    over_bookings: bool,
) -> MaintenanceWindow:
    """Check a window, close its flavors and hosts, and return the window with these flavors.

    :param before: the window as it was before the change. None for a new window. If the window
        already closed a flavor or a host for all of the new time, this isn't checked again, because
        any bookings in this time were made by users who may book inside windows, or were left.
    """
    if window.span.end <= window.span.start:
        raise exceptions.InvalidPeriod(texts.refusals.WINDOW_PERIOD())
    wanted = set(flavor_ids)
    living_flavors = maintenance.living_flavors(db, wanted)
    if len(living_flavors) != len(wanted):
        unknown = min(wanted - {flavor_id for flavor_id, _ in living_flavors})
        raise exceptions.FlavorNotFound(unknown, of_several=True)
    is_within = before is not None and before.span.contains(window.span)
    kept_flavors = before.flavors if before and is_within else ()
    kept_hosts = before.hosts if before and is_within else ()
    _close(
        db,
        [
            flavor_id
            for flavor_id, name in sorted(living_flavors)
            if (flavor_id, name) not in kept_flavors
        ],
        [host_id for host_id, name in sorted(window.hosts) if (host_id, name) not in kept_hosts],
        window.span,
        over_bookings=over_bookings,
    )
    return dataclasses.replace(window, flavors=tuple(living_flavors))


def _close(
    db: Session,
    flavor_ids: list[str],
    host_ids: list[str],
    span: Span,
    *,
    over_bookings: bool,
) -> None:
    """Check that none of the flavors and hosts is booked during the span.

    The generations of the flavors and hosts are increased. So if somebody books one of them at the
    same moment, either the booking or the window loses the race. The loser is tried again, and then
    reads what the winner has written.

    :param over_bookings: whether bookings don't matter.
    :raises WindowConflict:
    :raises session.LostRace: a flavor was claimed or changed since it was read.
    """
    flavors_by_id = flavors.get_many(db, set(flavor_ids))
    for flavor_id in flavor_ids:
        generations.increase_flavor(db, flavors_by_id[flavor_id])
    for host_id in host_ids:
        generations.outdate_host(db, host_id)
    if over_bookings:
        return
    if booked := [f for f in flavor_ids if claims.slot_claims(db, f, span)]:
        conflicting, total = reservations.holding_slots(db, booked, span, _MOST_CONFLICTS)
        conflicts = [conflict(item, flavors_by_id[item.flavor_id]) for item in conflicting]
        raise exceptions.WindowConflict(booked[0], conflicts, total)
    if host_ids and (found := maintenance.met(db, [], host_ids, span)):
        by_id = flavors.get_many(db, {item.flavor_id for item in found})
        conflicts = [conflict(item, by_id[item.flavor_id]) for item in found[:_MOST_CONFLICTS]]
        raise exceptions.WindowConflict(None, conflicts, len(found))


def conflict(reservation: Reservation, flavor: Flavor) -> dict[str, Any]:
    """What a ``WindowConflict`` says about a reservation that conflicts with the window."""
    return {
        "id": reservation.id,
        "project_id": reservation.project_id,
        "flavor": {"id": flavor.id, "name": flavor.name},
        "instance_count": reservation.instance_count,
        "start": f"{reservation.span.start.isoformat()}+00:00",
        "end": f"{reservation.span.end.isoformat()}+00:00",
    }


def get(window_id: str, *, project_id: str | None, everything: bool) -> MaintenanceWindow:
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
    visible: sa.ColumnElement[bool] = maintenance.ALL_FLAVORS,
) -> MaintenanceWindow:
    window = maintenance.find(db, window_id, visible)
    if window is None:
        raise exceptions.WindowNotFound(window_id)
    return window


def listing(
    limit: int | None, offset: int, *, project_id: str | None, everything: bool
) -> tuple[list[MaintenanceWindow], int]:
    """A page of windows sorted by start, and the number of windows on all pages.

    Windows that close only flavors that the caller may not see are left out.

    :param project_id: the caller's project.
    :param everything: whether the caller may also see private flavors to which the project has no
        access.
    """
    with session.reader() as db:
        visible = _visible(project_id, everything)
        return maintenance.listing(db, limit, offset, visible)


def _visible(project_id: str | None, everything: bool) -> sa.ColumnElement[bool]:
    return maintenance.ALL_FLAVORS if everything else flavors.accessible_to(project_id)


@session.retried
def delete(window_id: str) -> None:
    """Delete a window.

    :raises WindowNotFound:
    """
    with session.writer() as db:
        if not maintenance.delete(db, window_id):
            raise exceptions.WindowNotFound(window_id)
