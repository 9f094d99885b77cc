"""Writes reservations as events for calendar programs, in the format of RFC 5545."""

import datetime
from collections.abc import Iterable

import icalendar

from warre_blazar.client import Reservation


def calendar(reservations: Iterable[Reservation], now: datetime.datetime) -> str:
    """Return a calendar with an event for each reservation.

    The id of an event is made from the reservation's id. So if a user opens a newer file in a
    calendar program, the program replaces the event and doesn't add a second one.
    """
    document = icalendar.Calendar()
    document.add("prodid", "-//warre-blazar//flavor-calendar//EN")
    document.add("version", "2.0")
    for reservation in reservations:
        document.add_component(_event(reservation, now))
    return document.to_ical().decode()


def _event(reservation: Reservation, now: datetime.datetime) -> icalendar.Event:
    event = icalendar.Event()
    event.add("uid", f"{reservation.id}@warre-blazar")
    event.add("dtstamp", now)
    event.add("dtstart", reservation.start)
    event.add("dtend", reservation.end)
    event.add("summary", f"{reservation.instance_count} x {reservation.flavor.name}")
    event.add(
        "description",
        f"Reservation {reservation.id}, {reservation.status}. "
        f"Nova flavor: {reservation.compute_flavor}",
    )
    return event
