"""The errors that this package raises on purpose.

Every error has a stable ``code`` for programs, and a text for people that says what to do. Its
``detail`` is a dict that can be written as JSON. This module contains nothing about HTTP or RPC.
``statuses`` maps codes to statuses, and ``blazar_errors`` maps errors to Blazar exceptions.
"""

import re
from collections.abc import Sequence
from typing import Any


class WarreError(Exception):
    """The base class of all errors that this package raises on purpose.

    :param message: the text for people.
    :param detail: data for programs.
    """

    code = "error"

    def __init__(self, message: str, **detail: Any) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail


class InvalidField(WarreError):
    """A client sent a value that isn't valid; ``detail["field"]`` names the field.

    :param expected: a text that says what would be valid. It usually begins with "expected".
    :param at_most: the largest valid number, if the number is too large for a reason that depends
        on more than the field. Programs read it from ``detail``.
    """

    code = "invalid_field"

    def __init__(self, field: str, expected: str, at_most: int | None = None) -> None:
        more = {} if at_most is None else {"at_most": at_most}
        super().__init__(f"{field}: {expected}", field=field, expected=expected, **more)


class UncarriedText(InvalidField):
    """A text contains characters that the connection to the database can't encode."""

    def __init__(self, field: str) -> None:
        super().__init__(
            field,
            "expected no characters beyond U+FFFF, such as emoji: Blazar's connection to its "
            "database can't carry them unless the operator sets charset=utf8mb4 in its URL",
        )


class DeviceNotCountable(WarreError):
    """The extra specs of a flavor ask for devices that can't be counted.

    :param key: the extra spec.
    :param name: the alias or the device profile.
    :param reason: why the devices can't be counted, and what to configure.
    """

    code = "device_not_countable"

    def __init__(self, key: str, name: str, reason: str) -> None:
        super().__init__(
            f"extra_specs: the devices of {key} {name} can't be counted: {reason}",
            field="extra_specs",
            key=key,
            name=name,
        )


class InvalidPeriod(WarreError):
    """No booking or maintenance window can have this start and end."""

    code = "invalid_period"


class FlavorNotFound(WarreError):
    """The flavor doesn't exist, or the caller may not see it."""

    code = "flavor_not_found"

    def __init__(self, ref: str, message: str = "Flavor does not exist") -> None:
        super().__init__(message, flavor=ref)


class FlavorAmbiguous(WarreError):
    """A request names a flavor by a name that several flavors have.

    ``detail["flavors"]`` lists the flavors with this name that the caller may see. It has the id,
    the sizes, the category and the zone of each flavor.
    """

    code = "flavor_ambiguous"

    def __init__(self, name: str, flavors: Sequence[dict[str, Any]]) -> None:
        ids = ", ".join(each["id"] for each in flavors)
        super().__init__(
            f"{len(flavors)} flavors are named {name!r}; give the id of one: {ids}",
            flavor=name,
            flavors=list(flavors),
        )


class FlavorNotAccessible(WarreError):
    """The flavor is private, and the project has no access to it.

    Except on Warre's path, the answer is the same as for a flavor that doesn't exist.
    """

    code = "flavor_not_accessible"

    def __init__(self, ref: str) -> None:
        super().__init__("Flavor does not exist", flavor=ref)


class FlavorInUse(WarreError):
    """The flavor can't be deleted, because it has reservations that aren't complete.

    :param reservations: the number of these reservations.
    """

    code = "flavor_in_use"

    def __init__(self, flavor_id: str, reservations: int) -> None:
        super().__init__(f"Flavor {flavor_id} is in use", flavor=flavor_id, count=reservations)


class FlavorNotBookable(WarreError):
    """The flavor's terms refuse the booking.

    These are the possible reasons:

    - The flavor is inactive.
    - The project has no access to the flavor.
    - The booking is too long.
    - The booking isn't between the flavor's start and end.
    - The booking ends too far ahead, or is extended too early.
    - The project's other reservations of the flavor are too many, or too near.

    :param code: the code of the term that refuses the booking, such as ``flavor_inactive``.
    """

    def __init__(self, code: str, message: str, **detail: Any) -> None:
        super().__init__(message, **detail)
        self.code = code


class SlotsExhausted(WarreError):
    """A booking asks for more slots than are free during all of its time.

    :param asked: the number of instances of the booking.
    :param free: the number of slots that are free during all of the booking's time.
    :param slots: the number of slots of the flavor.
    """

    code = "slots_exhausted"

    def __init__(self, asked: int, free: int, slots: int) -> None:
        super().__init__(
            f"No capacity: {asked} asked, at most {free} of {slots} slots are free throughout",
            asked=asked,
            free=free,
            slots=slots,
        )


class HostsExhausted(WarreError):
    """The hosts that match the flavor have no room for the booking.

    :param asked: the number of instances of the booking.
    :param free: the number of instances for which there is room during all of the booking's time.
    :param matching: the number of hosts that match the flavor.
    """

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


class NoHostMatches(WarreError):
    """No host in Blazar could hold an instance of the flavor, even if nothing else were booked.

    :param asked: the number of instances of the booking.
    :param matching: the number of hosts that match the flavor. Each of them is too small.
    :param registered: whether any host has been registered in Blazar.
    :param closed: the number of hosts that could hold an instance, but can't be booked now.
    """

    code = "no_host_matches"

    def __init__(
        self, asked: int, matching: int, *, registered: bool = True, closed: int = 0
    ) -> None:
        why = "none has the properties, the zone and the traits that the flavor asks for"
        advice = "book another flavor, or ask the operator"
        if not registered:
            why = "Blazar has no host yet"
            advice = "ask the operator to register hosts (openstack reservation host create)"
        if matching:
            hosts = "1 host has" if matching == 1 else f"{matching} hosts have"
            why = (
                f"{hosts} the properties, the zone and the traits that the flavor asks for, but "
                "too little room for one instance"
            )
        if closed:
            those = "the only host that does is"
            if closed > 1:
                those = f"the {closed} hosts that do are"
            why = f"{those} closed for bookings now, because of a failure or the operator's work"
            advice = "book another flavor, or ask the operator when this ends"
        super().__init__(
            f"No host matches this flavor: {why}; {advice}",
            asked=asked,
            free=0,
            matching=matching,
            **({"closed": closed} if closed else {}),
        )


class TryAgain(WarreError):
    """At each attempt, other requests booked the same slots, hosts or quota at the same time."""

    code = "try_again"

    def __init__(self) -> None:
        super().__init__("Too many bookings at the same time; nothing was booked, try again")


class ReservationNotFound(WarreError):
    """The reservation doesn't exist, or the caller may not see it."""

    code = "reservation_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(f"Reservation {ref} doesn't exist", reservation=ref)


class SeriesNotFound(WarreError):
    """The series doesn't exist, or the caller may not see it."""

    code = "series_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(f"Series {ref} doesn't exist", series=ref)


class SeriesEnded(WarreError):
    """A series was ended while its occurrences were being booked."""

    code = "series_ended"

    def __init__(self, series_id: str) -> None:
        super().__init__(
            f"Series {series_id} was ended while it was being booked", series=series_id
        )


class SeriesRefused(WarreError):
    """No occurrence of a series was booked, or not all of them where all or none was asked for.

    :param refused: a document for each occurrence that couldn't be booked.
    """

    code = "series_refused"

    def __init__(self, refused: Sequence[dict[str, Any]], asked: int) -> None:
        first = refused[0]
        super().__init__(
            f"Nothing was booked: {len(refused)} of {asked} occurrences can't be booked. The first "
            f"starts at {first['start']}: {first['message']}",
            asked=asked,
            refused=list(refused),
        )


class MixedLease(WarreError):
    """A new lease would have flavor:slot reservations and reservations of other types.

    :param others: the other resource types.
    """

    code = "mixed_lease"

    def __init__(self, others: Sequence[str]) -> None:
        super().__init__(
            "A lease with flavor:slot reservations can't have reservations of other types "
            f"({', '.join(others)}); make two leases",
            types=list(others),
        )


class LeaseShared(WarreError):
    """The reservation's lease holds other reservations, which would be changed or deleted too.

    :param changing: the name of a field that can't be changed in a lease of several reservations.
        If ``changing`` is empty, the error's text advises the user to change or delete the lease
        instead.
    """

    code = "lease_shared"

    def __init__(self, lease_id: str, changing: str = "") -> None:
        advice = "change or delete the lease instead"
        if changing:
            advice = f"{changing} can only be changed in a lease of one reservation"
        super().__init__(f"Lease {lease_id} holds other reservations too; {advice}", lease=lease_id)


class FixedValue(WarreError):
    """The value can't be changed once the reservation is booked."""

    code = "fixed_value"

    def __init__(self, field: str) -> None:
        super().__init__(f"{field} can't be changed; make another reservation", field=field)


class ChangedSinceShown(WarreError):
    """Fields that a request changes were changed since its client was shown the item.

    :param fields: by the name of each such field, the value that it has ``now`` and the ``sent``
        one.
    :param partly: whether the rest of the request is done.
    """

    code = "changed_since_shown"

    def __init__(self, fields: dict[str, Any], *, partly: bool = False) -> None:
        done = "the rest of the change is done" if partly else "nothing was written"
        super().__init__(
            f"Changed by somebody else since you have seen it: {', '.join(fields)}; {done}. Look "
            "again, and repeat what you still want",
            fields=fields,
        )


class InvalidState(WarreError):
    """The request can't be fulfilled in the present state of the reservation or lease."""

    code = "invalid_state"


class Forbidden(WarreError):
    """A policy doesn't allow the caller's request.

    :param action: the policy rule.
    :param message: a text for the user in addition to the rule, for instance about what is allowed.
    """

    code = "forbidden"

    def __init__(self, action: str, message: str = "") -> None:
        refusal = f"Policy doesn't allow {action} to be performed"
        super().__init__(f"{message} ({refusal})" if message else refusal, action=action)


class ServiceUnavailable(WarreError):
    """Nova, Placement, Keystone, the database or the manager doesn't answer."""

    code = "service_unavailable"

    def __init__(self, service: str, reason: str) -> None:
        super().__init__(f"{service} is not available ({reason}); try again later", service=service)


class DatabaseUnavailable(ServiceUnavailable):
    """The database doesn't answer, or this package's tables aren't there.

    :param error: what SQLAlchemy, oslo.db or the driver raised.
    """

    def __init__(self, error: BaseException) -> None:
        missing = "this package's tables are missing: the operator runs warre-blazar-manage setup"
        reason = missing if tables_are_missing(str(error)) else type(error).__name__
        super().__init__("The database", reason)


#: What MariaDB, PostgreSQL and SQLite say if a table of this package doesn't exist.
_TABLE_MISSING = re.compile(r"\bwarre_\w+\W+(?:doesn't|does not) exist|no such table: warre_")


def tables_are_missing(text: str) -> bool:
    """Whether the text of a database's error says that a table of this package is missing."""
    return bool(_TABLE_MISSING.search(text))


class Busy(ServiceUnavailable):
    """This process of the API already computes as much as it may at a time."""

    def __init__(self) -> None:
        super().__init__("The API", "it is busy with other series or maintenance windows")


class ServiceTimedOut(ServiceUnavailable):
    """Nova, Placement or Keystone gave no answer of its own, and may still fulfill the request."""


class IdempotencyKeyReused(WarreError):
    """A user has sent an idempotency key with two different requests."""

    code = "idempotency_key_reused"

    def __init__(self) -> None:
        super().__init__(
            "Idempotency-Key: this key was sent with another request within the last day; send a "
            "new key with each new request",
            field="Idempotency-Key",
        )


class NoAnswer(WarreError):
    """The manager took too long, and may or may not have fulfilled the request.

    :param perhaps: a clause about what may have happened, such as "reservation 7 has changed".
    """

    code = "no_answer"

    def __init__(self, lease_name: str, perhaps: str) -> None:
        super().__init__(
            f"The reservation manager didn't answer in time, but perhaps {perhaps}: look before "
            "you try again",
            lease_name=lease_name,
        )


class ServiceRefused(WarreError):
    """Nova, Placement or Keystone refused a request."""

    code = "service_refused"

    def __init__(self, service: str, reason: str) -> None:
        super().__init__(f"{service} refused: {reason}", service=service)


class RequestInvalid(ServiceRefused):
    """Nova or Placement says that a request can never be fulfilled, whoever sends it."""


class Refused(WarreError):
    """A refusal that has no class of its own, such as a refusal by the manager or by Pecan."""

    def __init__(self, code: str, message: str, **detail: Any) -> None:
        super().__init__(message, **detail)
        self.code = code


class WaitNotFound(WarreError):
    """The wait doesn't exist, or the caller may not see it."""

    code = "wait_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(f"Wait {ref} doesn't exist", wait=ref)


class WaitOver(WarreError):
    """The wait is booked or has ended, so it can neither be booked nor be canceled."""

    code = "wait_over"

    def __init__(self, wait_id: str, state: str | None = None) -> None:
        text = f"Wait {wait_id} is no longer waiting"
        super().__init__(f"{text}: it is {state}" if state else text, wait=wait_id, status=state)


class TooManyWaits(WarreError):
    """The project has as many waits as the site allows.

    :param limit: the number.
    """

    code = "too_many_waits"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"Your project has {limit} waits already, which is the limit; delete one of them first",
            limit=limit,
        )


class WindowNotFound(WarreError):
    """The maintenance window doesn't exist, or the caller may not change it."""

    code = "window_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(f"MaintenanceWindow {ref} doesn't exist", window=ref)


class WindowConflict(WarreError):
    """Flavors or hosts of a maintenance window are booked during the window.

    :param flavor_id: the id of one of the booked flavors. None: only hosts are booked.
    :param reservations: documents of the first few reservations during the window.
    :param total: the number of all reservations during the window.
    """

    code = "window_conflict"

    def __init__(
        self, flavor_id: str | None, reservations: Sequence[dict[str, Any]] = (), total: int = 0
    ) -> None:
        super().__init__(
            "Maintenance window conflicts with existing reservations",
            flavor=flavor_id,
            reservations=list(reservations),
            total=total,
        )


class AccessExists(WarreError):
    """The project already has access to the flavor."""

    code = "access_exists"

    def __init__(self, flavor: str, project_id: str) -> None:
        super().__init__("Already exists", flavor=flavor, project=project_id)


class AccessNotFound(WarreError):
    """The access of a project to a flavor doesn't exist, or the caller may not see it."""

    code = "access_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(f"FlavorProject {ref} doesn't exist", flavorproject=ref)


class InMaintenance(WarreError):
    """A maintenance window closes the flavor for a part of the requested time."""

    code = "maintenance"

    def __init__(self) -> None:
        super().__init__("Reservation conflicts with a maintenance window")


class QuotaExceeded(WarreError):
    """A booking or an extension would make a project exceed its quota.

    :param exceeded: a dict for each limit that would be exceeded, with ``resource``, ``limit``, and
        the amounts ``used`` and ``asked``.
    """

    code = "quota_exceeded"

    def __init__(self, exceeded: list[dict[str, Any]]) -> None:
        amounts = "; ".join(
            "{resource}: {asked} asked, {used} of {limit} used".format(**e) for e in exceeded
        )
        super().__init__(f"Quota exceeded for {amounts}", exceeded=exceeded)


class LimitsNotRegistered(WarreError):
    """The operator hasn't registered the limits in Keystone.

    :param resources: the names of the resources that have no limit.
    """

    code = "limits_not_registered"

    def __init__(self, resources: str) -> None:
        super().__init__(
            f"The operator has not registered limits for {resources} in Keystone",
            resources=resources,
        )


class Misconfigured(WarreError):
    """The request depends on a configuration option whose value can't be used.

    :param option: the option, with its group.
    :param reason: what is wrong with its value.
    """

    code = "misconfigured"

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"{option} is set to a value that can't be used: {reason}", option=option)
