"""Writes reservations as events for calendar programs, in the format of RFC 5545."""

from collections.abc import Iterable

import icalendar

from warre_blazar.client import Reservation, times
from warre_blazar.fields.reservations import DELETED


def calendar(reservations: Iterable[tuple[str, Reservation]], name: str | None = None) -> str:
    """Return a calendar with an event for each reservation.

    The id of an event is made from the reservation's id, and its sequence number from the number of
    the reservation's changes. So if a user opens a newer file in a calendar program, the program
    replaces the event and doesn't add a second one. The event of a deleted reservation is
    cancelled, and the program removes it.

    :param reservations: each with the title of its event. They were asked for with ``changes``.
    :param name: what calendar programs call the calendar.
    """
    document = icalendar.Calendar()
    document.add("prodid", "-//warre-blazar//flavor-calendar//EN")
    document.add("version", "2.0")
    if name:
        document.add("x-wr-calname", name)
    for title, reservation in reservations:
        document.add_component(_event(title, reservation))
    return document.to_ical().decode()


def title(reservation: Reservation, owner: str | None = None) -> str:
    """Return what a calendar shows: what is reserved, by which name, and for whom.

    :param owner: the name of the project, if reservations of several projects are shown.
    """
    named = [name for name in (owner, reservation.name) if name]
    what = f"{reservation.instance_count} x {reservation.flavor.name}"
    return ": ".join([*named, f"{what} (shared)" if reservation.shared else what])


def _event(title: str, reservation: Reservation) -> icalendar.Event:
    event = icalendar.Event()
    is_deleted = reservation.status == DELETED
    changed_at = reservation.changed_at or reservation.created_at
    event.add("uid", f"{reservation.id}@warre-blazar")
    # In a calendar without a METHOD, the time stamp is that of the last change (RFC 5545, 3.8.7.2).
    event.add("dtstamp", changed_at)
    event.add("last-modified", changed_at)
    event.add("sequence", reservation.change_count or 0)
    event.add("status", "CANCELLED" if is_deleted else "CONFIRMED")
    event.add("dtstart", reservation.start)
    event.add("dtend", reservation.end)
    event.add("summary", title)
    lines = [
        f"Reservation {reservation.id}, {reservation.status}.",
        f"Nova flavor: {reservation.compute_flavor}",
        "At the end, all servers with this flavor are deleted.",
    ]
    event.add("description", "\n".join([*([reservation.note] if reservation.note else []), *lines]))
    if not is_deleted and reservation.status != "COMPLETE":
        alarm = icalendar.Alarm()
        alarm.add("action", "DISPLAY")
        alarm.add("description", f"{title} ends, and its servers are deleted")
        alarm.add("trigger", -times.ALARM_BEFORE_END, parameters={"RELATED": "END"})
        event.add_component(alarm)
    return event
