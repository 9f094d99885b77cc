"""Compares this package's tables and Blazar's tables with each other."""

import datetime
from collections.abc import Iterable, Iterator, Mapping

from warre_blazar import times
from warre_blazar.domain.audit.differences import Difference, DifferenceKind
from warre_blazar.domain.audit.facts import (
    Booking,
    HaltedLease,
    InstanceReservation,
    InWindow,
    LostNotices,
    Promised,
    SeenLease,
)
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.running import backing_names, lease_states
from warre_blazar.domain.running.lease_states import Action
from warre_blazar.domain.wording import counted

#: The resource types that the exact plugins have.
_EXACT = {"physical:host", "virtual:instance", "flavor:instance"}


def compare_leases(leases: Iterable[SeenLease], now: datetime.datetime) -> Iterator[Difference]:
    """Find leases that are overdue, and leases whose state must be repaired."""
    for lease in leases:
        if lease.due is not None and lease.due + times.OVERDUE_IN_AUDIT_AFTER < now:
            text = (
                f"Lease {lease.id} is {lease.state.statuses.lease}, but its next start or end was "
                f"due at {lease.due}"
            )
            yield Difference(DifferenceKind.LEASE_OVERDUE, lease.id, text)
        if lease.is_worked_on:
            continue
        decision = lease_states.decide(lease.state)
        if decision.action is Action.LEAVE:
            continue
        statuses = lease.state.statuses
        text = (
            f"Lease {lease.id} is {statuses.lease}, its start event {statuses.start}, its end "
            f"event {statuses.end}, its reservations: {lease.state.reservations}. "
            f"{decision.meaning}"
        )
        settles = decision.action is Action.SETTLE
        kind = DifferenceKind.LEASE_STATE if settles else DifferenceKind.LEASE_STATE_LOST
        yield Difference(kind, lease.id, text, (lease.read, decision))


def halted_leases(leases: Iterable[HaltedLease], is_exact: bool) -> Iterator[Difference]:
    """Report each lease of a stock resource type on which nobody works any more.

    :param is_exact: whether the exact plugins are on.
    """
    for lease in leases:
        if not is_exact or set(lease.reservations.values()) - _EXACT:
            kind = DifferenceKind.LEASE_STUCK
        elif lease.status in (lease_states.CREATING, lease_states.DELETING):
            kind = DifferenceKind.LEASE_UNFINISHED
        else:
            kind = DifferenceKind.LEASE_HALTED
        types = ", ".join(sorted(set(lease.reservations.values())))
        text = f"Lease {lease.id} ({types}) has been {lease.status} since {lease.written}"
        yield Difference(kind, lease.id, text, lease)


def compare_bookings(bookings: Iterable[Booking]) -> Iterator[Difference]:
    """Find reservations whose rows in Blazar's tables contradict the booking."""
    for booking in bookings:
        about = f"Reservation {booking.reservation_id} of lease {booking.lease_id}"
        if booking.shape is None:
            text = f"{about} has no row in warre_reservations"
            yield Difference(DifferenceKind.BOOKING_MISSING, booking.reservation_id, text)
            continue
        held = sum(place.instances for place in booking.places)
        if held and held != booking.count:
            on_hosts = counted(held, "instance")
            text = f"{about} has {on_hosts} on hosts, but was booked with {booking.count}"
            yield Difference(DifferenceKind.ALLOCATIONS_DIFFER, booking.reservation_id, text)
        if booking.places and not is_instance_row_right(booking):
            text = f"{about} has no row, or a wrong one, in Blazar's table instance_reservations"
            yield Difference(DifferenceKind.INSTANCE_ROW, booking.reservation_id, text)
        for place in booking.places:
            if not place.reservable:
                text = f"{about} is on host {place.hypervisor}, which isn't reservable"
                subject = f"{booking.reservation_id} {place.hypervisor}"
                yield Difference(DifferenceKind.HOST_NOT_RESERVABLE, subject, text)


def unlike_hosts(
    bookings: Iterable[Booking], hosts: Mapping[str, BookableHost]
) -> Iterator[Difference]:
    """Find reservations on hosts where Nova boots none of their servers any more.

    :param hosts: the hosts as they were last read, by id.
    """
    for booking in bookings:
        for place in booking.places:
            host = hosts.get(place.host_id)
            if host and booking.shape and not host.admits(booking.shape):
                text = (
                    f"Reservation {booking.reservation_id} of lease {booking.lease_id} is on host "
                    f"{place.hypervisor}, whose aggregates or traits don't fit its flavor any more"
                )
                subject = f"{booking.reservation_id} {place.hypervisor}"
                yield Difference(DifferenceKind.HOST_UNLIKE, subject, text)


def is_instance_row_right(booking: Booking) -> bool:
    """Whether a reservation's row in instance_reservations is right.

    The row must have the amounts that the reservation's instances take together on one host: the
    host with the most instances of the reservation. Blazar's own plugins count the row's amounts
    once for each host of the reservation.
    """
    row = booking.row
    assert booking.shape is not None
    if row is None:
        return False
    fullest = max(place.instances for place in booking.places)
    return (row.vcpus, row.memory_mb, row.disk_gb) == _amounts(booking.shape, fullest) and (
        _is_named(row, booking)
    )


def _amounts(shape: Shape, instances: int) -> tuple[int, int, int]:
    disk = shape.disk_gb + shape.ephemeral_gb
    return shape.vcpu * instances, shape.memory_mb * instances, disk * instances


def _is_named(row: InstanceReservation, booking: Booking) -> bool:
    """Whether the row has the right id of the Nova flavor and the right number of instances."""
    note = booking.note
    named = note.nova_flavor if note else backing_names.nova_flavor_id(booking.reservation_id)
    return row.amount == booking.count and row.flavor_id == named


def compare_promises(promises: Iterable[Promised]) -> Iterator[Difference]:
    """Find promises whose updates aren't under way any more."""
    for promise in promises:
        span = promise.span
        text = (
            f"Reservation {promise.reservation_id} still claims {span.start} to {span.end}, the "
            "time that was promised to an update which has ended"
        )
        yield Difference(DifferenceKind.STALE_PROMISE, promise.reservation_id, text, promise.read)


def booked_in_windows(found: Iterable[InWindow]) -> Iterator[Difference]:
    """Report each reservation that a maintenance window has met and that is still there."""
    for each in found:
        text = (
            f"Reservation {each.reservation_id} of lease {each.lease_id} ({each.span.start} to "
            f"{each.span.end}) overlaps maintenance window {each.window_id} ({each.window.start} "
            f"to {each.window.end})"
        )
        subject = f"{each.reservation_id} {each.window_id}"
        yield Difference(DifferenceKind.BOOKED_IN_WINDOW, subject, text)


def lost_notices(given_up: Iterable[LostNotices]) -> Iterator[Difference]:
    """Report each channel that has given up notices."""
    for lost in given_up:
        text = (
            f"The channel {lost.channel} has given up {counted(lost.count, 'notice')}, the last "
            f"one about {lost.subject} ({lost.kind}): {lost.error}"
        )
        yield Difference(DifferenceKind.NOTICES_LOST, lost.channel, text)


def orphan_events(count: int) -> Iterator[Difference]:
    """If there are events that belong to no lease, report a single difference for all of them.

    :param count: the number of events that belong to no lease.
    """
    if count:
        yield Difference(
            DifferenceKind.ORPHAN_EVENTS, "events", f"{count} events belong to no lease"
        )
