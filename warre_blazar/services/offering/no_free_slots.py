"""Finds the reason why a search for free slots of a flavor has found nothing."""

import dataclasses
import datetime
from typing import Any

from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db import maintenance_windows, reservable_hosts, session
from warre_blazar.domain import capacity
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.free_time import Question
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.wording import counted
from warre_blazar.errors import exceptions
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.offering import free_slots


@dataclasses.dataclass(frozen=True)
class Reason:
    """A reason why there are no free slots.

    ``code`` is for programs, and ``message`` is for people. ``detail`` has the data that belong to
    the code. If a booking is refused for the same reason, the error has the same code.
    """

    code: str
    message: str
    detail: dict[str, Any] = dataclasses.field(default_factory=dict)


def find(question: Question) -> Reason:
    """The reason why ``free_slots.find`` has found nothing for a question.

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


def _by_terms(flavor: Flavor, question: Question) -> Reason | None:
    """The reason if the flavor's terms or the question itself rule out every booking, or None."""
    window, least = question.window, question.least
    if not flavor.active:
        return Reason("flavor_inactive", "The flavor is inactive; book another flavor")
    if window.end <= question.now:
        return Reason("invalid_period", "That time has passed; ask about a later time")
    if flavor.end is not None and flavor.end <= max(window.start, question.now):
        return Reason(
            "after_flavor_end",
            "The flavor can't be booked that late; ask about a time before its end",
            {"end": _time(flavor.end)},
        )
    latest = flavor.latest_end(question.minute)
    if latest is not None and latest <= max(window.start, question.now):
        return Reason(
            "too_far_ahead",
            f"Reservations must end within {flavor.max_days_ahead} days from now; ask about an "
            "earlier time",
            {"max_days_ahead": flavor.max_days_ahead, "latest_end": _time(latest)},
        )
    if flavor.start is not None and window.end <= flavor.start:
        return Reason(
            "before_flavor_start",
            "The flavor can't be booked that early; ask about a time after its start",
            {"start": _time(flavor.start)},
        )
    if question.is_too_long(flavor):
        return Reason(
            "too_long",
            f"The flavor can be booked for at most {flavor.max_length_hours} hours at a time",
            {"max_length_hours": flavor.max_length_hours},
        )
    if least > window.end - window.start:
        return Reason(
            "invalid_period",
            "The time that was asked about is shorter than the requested hours; ask about a longer "
            "time",
        )
    return None


def _by_amount(db: Session, flavor: Flavor, question: Question) -> Reason | None:
    """The reason if ``question.count`` instances can't be booked even on empty hosts, or None."""
    matching = [host for host in reservable_hosts.empty(db) if host.matches(flavor.shape)]
    rooms = [host.when_empty(flavor.shape.request) for host in matching]
    count = question.count
    if not any(rooms):
        closed = len(capacity.when_empty(reservable_hosts.empty(db, closed=True), flavor.shape))
        if closed:
            refusal = exceptions.NoHostMatches(count, len(matching), closed=closed)
            detail = {"matching": len(matching), "closed": closed}
            return Reason(refusal.code, refusal.message, detail)
        return Reason(
            "no_host_matches",
            "No host matches this flavor; book another flavor, or ask the operator",
            {"matching": len(matching)},
        )
    most = flavor.max_instances_per_project
    if most is not None and flavor.is_limited_by_terms and count > most:
        return Reason(
            "count_over_terms",
            f"{count} instances were asked for, and a project can hold at most "
            f"{counted(most, 'instance')} of the flavor at a time; ask for fewer instances",
            {"asked": count, "max_instances_per_project": most},
        )
    if count > flavor.slots:
        return Reason(
            "count_over_slots",
            f"{count} instances were asked for, and the flavor has "
            f"{counted(flavor.slots, 'slot')}; ask for fewer instances",
            {"asked": count, "slots": flavor.slots},
        )
    room = capacity.most_instances(rooms, question.affinity)
    if count > room:
        return Reason(
            "count_over_hosts",
            f"{count} instances were asked for, and the hosts have room for {room} when they are "
            "empty; ask for fewer instances",
            {"asked": count, "room": room},
        )
    return None


def _by_use(db: Session, flavor: Flavor, question: Question) -> Reason:
    """The reason if bookings or maintenance windows take the time that was asked about.

    The ``detail`` of the reason has the next free time.
    """
    any_length = dataclasses.replace(question, least=times.NO_TIME)
    found = free_slots.read(db, flavor, any_length)
    with free_slots.logged(flavor, question):
        free, free_without_windows = found.spans(), found.spans(with_windows=False)
        free_without_project = found.spans(with_project=False)
    detail = {"next_free": _next_free(db, flavor, question)}
    if free:
        longest = max(free, key=lambda span: span.end - span.start)
        return Reason(
            "not_that_long",
            "The flavor is free then, but not for that long at a time; ask for fewer hours or "
            "another time",
            {"longest": _span(longest), **detail},
        )
    if free_without_windows:
        closing = maintenance_windows.closing_flavor(db, flavor.id, question.window)
        windows = [{"id": w.id, "note": w.note, **_span(w.span)} for w in closing]
        return Reason(
            "maintenance",
            "Maintenance windows close the flavor then; ask for another time",
            {"windows": windows, **detail},
        )
    if free_without_project:
        return Reason(
            "project_terms",
            "Other reservations of your project leave no time for more then; ask for another time, "
            "or for fewer instances",
            {
                "max_instances_per_project": flavor.max_instances_per_project,
                "gap_hours": flavor.gap_hours,
                **detail,
            },
        )
    return Reason(
        "all_booked",
        "The flavor is fully booked then; ask for another time, or for fewer instances",
        detail,
    )


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
