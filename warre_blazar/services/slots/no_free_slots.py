"""Finds the reason why a search for free slots of a flavor has found nothing."""

import dataclasses
import datetime

from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import maintenance, session
from warre_blazar.db.hosts import reservable_hosts
from warre_blazar.domain.flavors import capacity
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots.free_time import Question
from warre_blazar.domain.timeline import Span
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.slots import free_slots
from warre_blazar.texts import Said, reasons


def find(question: Question) -> Said:
    """The reason why ``free_slots.find`` has found nothing for a question.

    If a booking is refused for the same reason, the error has the same code.

    :raises FlavorNotFound, FlavorAmbiguous:
    """
    new_hosts.read()
    with session.reader() as db:
        flavor = free_slots.visible_flavor(db, question)
        return (
            _by_terms(flavor, question)
            or _by_amount(db, flavor, question)
            or _by_use(db, flavor, question)
        )


def _by_terms(flavor: Flavor, question: Question) -> Said | None:
    """The reason if the flavor's terms or the question itself rule out every booking, or None."""
    window, least = question.window, question.least
    if not flavor.active:
        return reasons.FLAVOR_INACTIVE()
    if window.end <= question.now:
        return reasons.PASSED()
    if flavor.end is not None and flavor.end <= max(window.start, question.now):
        return reasons.AFTER_FLAVOR_END(end=flavor.end)
    latest = flavor.latest_end(question.minute)
    if latest is not None and latest <= max(window.start, question.now):
        return reasons.TOO_FAR_AHEAD(max_days_ahead=flavor.max_days_ahead, latest_end=latest)
    if flavor.start is not None and window.end <= flavor.start:
        return reasons.BEFORE_FLAVOR_START(start=flavor.start)
    if question.is_too_long(flavor):
        return reasons.TOO_LONG(max_length_hours=flavor.max_length_hours)
    if least > window.end - window.start:
        return reasons.TOO_SHORT()
    return None


def _by_amount(db: Session, flavor: Flavor, question: Question) -> Said | None:
    """The reason if ``question.count`` instances can't be booked even on empty hosts, or None."""
    shape, project_id = flavor.shape, question.project_id
    matching = [host for host in reservable_hosts.empty(db) if host.matches(shape, project_id)]
    rooms = [host.when_empty(shape.request) for host in matching]
    count = question.count
    if not any(rooms):
        others = reservable_hosts.empty(db, closed=True)
        closed = len(capacity.when_empty(others, shape, project_id))
        if closed:
            entry = reasons.HOST_CLOSED if closed == 1 else reasons.HOSTS_CLOSED
            return entry(matching=len(matching), closed=closed)
        return reasons.NO_HOST_MATCHES(matching=len(matching))
    most = flavor.max_instances_per_project
    if most is not None and flavor.is_limited_by_terms and count > most:
        return reasons.COUNT_OVER_TERMS(asked=count, max_instances_per_project=most)
    if count > flavor.slots:
        return reasons.COUNT_OVER_SLOTS(asked=count, slots=flavor.slots)
    room = capacity.most_instances(rooms, question.affinity)
    if count > room:
        return reasons.COUNT_OVER_HOSTS(asked=count, room=room)
    return None


def _by_use(db: Session, flavor: Flavor, question: Question) -> Said:
    """The reason if bookings or maintenance windows take the time that was asked about.

    The data of the reason have the next free time.
    """
    any_length = dataclasses.replace(question, least=times.NO_TIME)
    found = free_slots.read(db, flavor, any_length)
    with free_slots.logged(flavor, question):
        free, free_without_windows = found.spans(), found.spans(with_windows=False)
        free_without_project = found.spans(with_project=False)
    next_free = _next_free(db, flavor, question)
    if free:
        longest = max(free, key=lambda span: span.end - span.start)
        return reasons.NOT_THAT_LONG(longest=_span(longest), next_free=next_free)
    if free_without_windows:
        closing = maintenance.closing_flavor(db, flavor.id, question.window)
        windows = [{"id": w.id, "note": w.note, **_span(w.span)} for w in closing]
        return reasons.MAINTENANCE(windows=windows, next_free=next_free)
    if free_without_project:
        return reasons.PROJECT_TERMS(
            max_instances_per_project=flavor.max_instances_per_project,
            gap_hours=flavor.gap_hours,
            next_free=next_free,
        )
    return reasons.ALL_BOOKED(next_free=next_free)


def _next_free(db: Session, flavor: Flavor, question: Question) -> dict[str, str] | None:
    """The first free time that is long enough. None if the search finds no such time.

    The search looks up to a year beyond the end of ``question.window``.
    """
    until = question.window.end + times.LOOK_AHEAD
    later = dataclasses.replace(question, window=dataclasses.replace(question.window, end=until))
    first = min(free_slots.spans(db, flavor, later), key=lambda span: span.start, default=None)
    return _span(first) if first else None


def _span(span: Span) -> dict[str, str]:
    return {"start": _time(span.start), "end": _time(span.end)}


def _time(moment: datetime.datetime) -> str:
    return f"{moment.isoformat()}+00:00"
