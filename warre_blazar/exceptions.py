"""What can go wrong, as data.

Every error has a stable ``code``, a text for a person that says what to do, and ``detail``, a
JSON-able dict. Nothing here knows HTTP or RPC: the edges map codes to their own terms.
"""

from typing import Any


class WarreError(Exception):
    """Base of all errors this package raises on purpose."""

    code = "error"

    def __init__(self, message: str, **detail: Any) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail


class InvalidField(WarreError):
    """A value that a client sent isn't what was expected; ``detail["field"]`` names it."""

    code = "invalid_field"

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"{field}: {expected}", field=field, expected=expected)


class UncarriedText(InvalidField):
    """A value has characters that the connection to the database has no room for."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            "expected no characters beyond U+FFFF, such as emoji, which this Blazar's connection "
            "to its database doesn't carry; with charset=utf8mb4 it would",
        )


class InvalidPeriod(WarreError):
    """Start and end don't make a bookable period."""

    code = "invalid_period"


class FlavorNotFound(WarreError):
    """No such flavor, or none that the caller may see."""

    code = "flavor_not_found"

    def __init__(self, ref: str, message: str = "Flavor does not exist") -> None:
        super().__init__(message, flavor=ref)


class FlavorExists(WarreError):
    """Flavor names are unique among the flavors that aren't deleted."""

    code = "flavor_exists"

    def __init__(self, name: str) -> None:
        super().__init__(f"A flavor named {name!r} already exists; choose another name", name=name)


class FlavorInUse(WarreError):
    """A flavor with reservations that aren't complete can't be deleted."""

    code = "flavor_in_use"

    def __init__(self, flavor_id: str, reservations: int) -> None:
        super().__init__(f"Flavor {flavor_id} is in use", flavor=flavor_id, count=reservations)


class FlavorNotBookable(WarreError):
    """The flavor's own terms refuse the booking: inactive, not accessible, outside its period."""

    def __init__(self, code: str, message: str, **detail: Any) -> None:
        super().__init__(message, **detail)
        self.code = code


class SlotsExhausted(WarreError):
    """Fewer slots are free during the asked period than were asked for."""

    code = "slots_exhausted"

    def __init__(self, asked: int, free: int, slots: int) -> None:
        super().__init__(
            f"No capacity: {asked} asked, at most {free} of {slots} slots are free throughout",
            asked=asked,
            free=free,
            slots=slots,
        )


class HostsExhausted(WarreError):
    """The matching hosts have no room for the booking during the asked period."""

    code = "hosts_exhausted"

    def __init__(self, asked: int, free: int, matching: int, affinity: bool | None = None) -> None:
        where = {None: "", True: " on one host", False: " on hosts of their own"}[affinity]
        super().__init__(
            f"No capacity: {asked} asked{where}, the {matching} matching hosts have room for "
            f"{free}",
            asked=asked,
            free=free,
            matching=matching,
        )


class TryAgain(WarreError):
    """Others booked the same things at the same moment, time after time."""

    code = "try_again"

    def __init__(self) -> None:
        super().__init__("Too many bookings at the same time; nothing was booked, try again")


class ReservationNotFound(WarreError):
    """No such reservation, or none that the caller may see."""

    code = "reservation_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(f"Reservation {ref} doesn't exist", reservation=ref)


class LeaseShared(WarreError):
    """The reservation's lease holds others, which would be moved or deleted with it."""

    code = "lease_shared"

    def __init__(self, lease_id: str) -> None:
        super().__init__(
            f"Lease {lease_id} holds other reservations too; change or delete the lease instead",
            lease=lease_id,
        )


class FixedValue(WarreError):
    """A value of a reservation that can't be changed once it is booked."""

    code = "fixed_value"

    def __init__(self, field: str) -> None:
        super().__init__(f"{field} can't be changed; make another reservation", field=field)


class InvalidState(WarreError):
    """What was asked for can't be done in the reservation's present state."""

    code = "invalid_state"


class Forbidden(WarreError):
    """A policy doesn't allow it."""

    code = "forbidden"

    def __init__(self, action: str) -> None:
        super().__init__(f"Policy doesn't allow {action} to be performed", action=action)


class ServiceUnavailable(WarreError):
    """Nova, Placement, Keystone or the manager doesn't answer."""

    code = "service_unavailable"

    def __init__(self, service: str, reason: str) -> None:
        super().__init__(f"{service} is not available ({reason}); try again later", service=service)


class NoAnswer(WarreError):
    """The manager took too long: what was asked for may or may not be done yet."""

    code = "no_answer"

    def __init__(self, lease_name: str, what_to_see: str) -> None:
        super().__init__(
            "The reservation manager didn't answer in time; before you try again, see whether "
            f"{what_to_see}",
            lease_name=lease_name,
        )


class ServiceRefused(WarreError):
    """Nova, Placement or Keystone answered, but refused."""

    code = "service_refused"

    def __init__(self, service: str, reason: str) -> None:
        super().__init__(f"{service} refused: {reason}", service=service)


class Refused(WarreError):
    """Refused elsewhere, by a manager or by Pecan: code and text as they came."""

    def __init__(self, code: str, message: str, **detail: Any) -> None:
        super().__init__(message, **detail)
        self.code = code


class WindowNotFound(WarreError):
    """No such maintenance window."""

    code = "window_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(f"MaintenanceWindow {ref} doesn't exist", window=ref)


class WindowConflict(WarreError):
    """A flavor of the window is booked at that time."""

    code = "window_conflict"

    def __init__(self, flavor_id: str) -> None:
        super().__init__(
            "Maintenance window conflicts with existing reservations", flavor=flavor_id
        )


class AccessExists(WarreError):
    """The project may book the flavor already."""

    code = "access_exists"

    def __init__(self, flavor: str, project_id: str) -> None:
        super().__init__("Already exists", flavor=flavor, project=project_id)


class AccessNotFound(WarreError):
    """No such right of a project to a flavor."""

    code = "access_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(f"FlavorProject {ref} doesn't exist", flavorproject=ref)


class InMaintenance(WarreError):
    """A maintenance window closes the flavor at that time."""

    code = "maintenance"

    def __init__(self) -> None:
        super().__init__("Reservation conflicts with a maintenance window")


class OwnerGone(WarreError):
    """Who booked is gone, and Keystone doesn't let the caller take their place."""

    code = "owner_gone"

    def __init__(self) -> None:
        super().__init__(
            "The user who booked this is disabled, deleted or no longer in the project, and you "
            "can't take their place, since Keystone gives you no role in the project: let a member "
            "of the project change it, or delete it"
        )


class QuotaExceeded(WarreError):
    """A booking or an extension would take a project over its quota.

    ``detail["exceeded"]`` has ``resource``, ``limit``, ``used`` and ``asked`` of each.
    """

    code = "quota_exceeded"

    def __init__(self, exceeded: list[dict[str, Any]]) -> None:
        each = "; ".join(
            "{resource}: {asked} asked, {used} of {limit} used".format(**e) for e in exceeded
        )
        super().__init__(f"Quota exceeded for {each}", exceeded=exceeded)


class LimitsNotRegistered(WarreError):
    """The operator hasn't registered the limits in Keystone."""

    code = "limits_not_registered"

    def __init__(self, resources: str) -> None:
        super().__init__(
            f"The operator has not registered limits for {resources} in Keystone",
            resources=resources,
        )
