"""Reservations for calendar programs (RFC 5545)."""

import datetime
from collections.abc import Iterable

import icalendar

from warre_blazar.client import Reservation


def calendar(reservations: Iterable[Reservation], now: datetime.datetime) -> str:
    """An event for each, with the reservation's id: imported again, it replaces itself."""
    whole = icalendar.Calendar()
    whole.add("prodid", "-//warre-blazar//flavor-calendar//EN")
    whole.add("version", "2.0")
    for reservation in reservations:
        whole.add_component(_event(reservation, now))
    return whole.to_ical().decode()


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
