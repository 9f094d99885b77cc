"""The errors that this package raises on purpose.

Every error is made of an entry on the page of texts (``texts``) and its data. So it has a stable
``code`` for programs, and a sentence for people that says what to do. Its ``detail`` has all data
of the sentence, as a dict that can be written as JSON. This module contains nothing about HTTP or
RPC. ``statuses`` maps codes to statuses, and ``blazar_errors`` maps errors to Blazar exceptions.
"""

import datetime
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from warre_blazar.texts import expected, permissions, refusals, services
from warre_blazar.texts.entries import Entry, Said


class WarreError(Exception):
    """The base class of all errors that this package raises on purpose.

    :param said: the entry and its data.
    :param about: further data: what the frame of the entry's sentence is about.
    :ivar message: the English sentence, with times in UTC.
    :ivar detail: all data, and the entry's ``reason`` if its code has several entries.
    """

    code = "error"

    def __init__(self, said: Said, **about: Any) -> None:
        self.code = said.entry.code
        self.message = said.entry.sentence({**about, **said.data})
        self.detail = {**about, **said.detail}
        super().__init__(self.message)

    @property
    def document(self) -> dict[str, Any]:
        """The error as an object that can be written as JSON."""
        return {"code": self.code, "message": self.message, "detail": self.detail}


class InvalidField(WarreError):
    """A client sent a value that isn't valid; ``detail["field"]`` names the field.

    :param said: what would be valid.
    """

    code = "invalid_field"

    def __init__(self, field: str, said: Said) -> None:
        super().__init__(said, field=field, expected=str(said))


class UncarriedText(InvalidField):
    """A text contains characters that the connection to the database can't encode."""

    def __init__(self, field: str) -> None:
        super().__init__(field, expected.BASIC_PLANE())


class DeviceNotCountable(WarreError):
    """The extra specs of a flavor ask for devices that can't be counted.

    :param key: the extra spec.
    :param name: the alias or the device profile.
    :param why: why the devices can't be counted, and what to configure.
    """

    code = "device_not_countable"

    def __init__(self, key: str, name: str, why: Said) -> None:
        super().__init__(why, field="extra_specs", key=key, name=name)


class InvalidPeriod(WarreError):
    """No booking or maintenance window can have this start and end."""

    code = "invalid_period"


class FlavorNotFound(WarreError):
    """The flavor doesn't exist, or the caller may not see it.

    :param of_several: whether the request names several flavors.
    """

    code = "flavor_not_found"

    def __init__(self, ref: str, *, of_several: bool = False) -> None:
        entry = refusals.SOME_FLAVOR_NOT_FOUND if of_several else refusals.FLAVOR_NOT_FOUND
        super().__init__(entry(flavor=ref))


class FlavorAmbiguous(WarreError):
    """A request names a flavor by a name that several flavors have.

    ``detail["flavors"]`` lists the flavors with this name that the caller may see. It has the id,
    the sizes, the category and the zone of each flavor.
    """

    code = "flavor_ambiguous"

    def __init__(self, name: str, flavors: Sequence[dict[str, Any]]) -> None:
        super().__init__(
            refusals.FLAVOR_AMBIGUOUS(flavor=name, flavors=list(flavors), count=len(flavors))
        )


class FlavorNotAccessible(WarreError):
    """The flavor is private, and the project has no access to it.

    Except on Warre's path, the answer is the same as for a flavor that doesn't exist.
    """

    code = "flavor_not_accessible"

    def __init__(self, ref: str) -> None:
        super().__init__(refusals.FLAVOR_HIDDEN(flavor=ref))


class FlavorInUse(WarreError):
    """The flavor can't be deleted, because it has reservations that aren't complete.

    :param reservations: the number of these reservations.
    """

    code = "flavor_in_use"

    def __init__(self, flavor_id: str, reservations: int) -> None:
        super().__init__(refusals.FLAVOR_IN_USE(flavor=flavor_id, count=reservations))


class FlavorNotBookable(WarreError):
    """The flavor's terms refuse the booking.

    These are the possible reasons:

    - The flavor is inactive.
    - The project has no access to the flavor.
    - The booking is too long.
    - The booking isn't between the flavor's start and end.
    - The booking ends too far ahead, or is extended too early.
    - The project's other reservations of the flavor are too many, or too near.

    The error's code is that of the term that refuses the booking, such as ``flavor_inactive``.
    """


class SlotsExhausted(WarreError):
    """A booking asks for more slots than are free during all of its time.

    :param asked: the number of instances of the booking.
    :param free: the number of slots that are free during all of the booking's time.
    :param slots: the number of slots of the flavor.
    """

    code = "slots_exhausted"

    def __init__(self, asked: int, free: int, slots: int) -> None:
        super().__init__(refusals.SLOTS_EXHAUSTED(asked=asked, free=free, slots=slots))


class HostsExhausted(WarreError):
    """The hosts that match the flavor have no room for the booking.

    :param asked: the number of instances of the booking.
    :param free: the number of instances for which there is room during all of the booking's time.
    :param matching: the number of hosts that match the flavor.
    """

    code = "hosts_exhausted"

    def __init__(self, asked: int, free: int, matching: int, affinity: bool | None = None) -> None:
        entry = {
            None: refusals.HOSTS_EXHAUSTED,
            True: refusals.ONE_HOST_EXHAUSTED,
            False: refusals.OWN_HOSTS_EXHAUSTED,
        }[affinity]
        super().__init__(entry(asked=asked, free=free, matching=matching))


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
        entry, more = refusals.NO_HOST_MATCHES, {}
        if closed:
            entry = refusals.HOST_CLOSED if closed == 1 else refusals.HOSTS_CLOSED
            more = {"closed": closed}
        elif matching:
            entry = refusals.HOSTS_TOO_SMALL
        elif not registered:
            entry = refusals.NO_HOSTS
        super().__init__(entry(asked=asked, free=0, matching=matching, **more))


class TryAgain(WarreError):
    """At each attempt, other requests booked the same slots, hosts or quota at the same time."""

    code = "try_again"

    def __init__(self) -> None:
        super().__init__(refusals.TRY_AGAIN())


class ReservationNotFound(WarreError):
    """The reservation doesn't exist, or the caller may not see it."""

    code = "reservation_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(refusals.RESERVATION_NOT_FOUND(reservation=ref))


class ReservationDeleted(WarreError):
    """Only the record of the reservation is left.

    :param at: when it was deleted.
    :param by: the id of the user who deleted it. None: no user did.
    """

    code = "reservation_not_found"

    def __init__(self, ref: str, at: datetime.datetime, by: str | None) -> None:
        super().__init__(refusals.RESERVATION_DELETED(reservation=ref, at=at, by=by))


class SeriesNotFound(WarreError):
    """The series doesn't exist, or the caller may not see it."""

    code = "series_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(refusals.SERIES_NOT_FOUND(series=ref))


class SeriesEnded(WarreError):
    """A series was ended while its occurrences were being booked."""

    code = "series_ended"

    def __init__(self, series_id: str) -> None:
        super().__init__(refusals.SERIES_ENDED(series=series_id))


class SeriesRefused(WarreError):
    """No occurrence of a series was booked, or not all of them where all or none was asked for.

    Or no reservation of a series could be changed.

    :param refused: a document for each occurrence that couldn't be booked or changed.
    """

    code = "series_refused"

    def __init__(
        self,
        refused: Sequence[dict[str, Any]],
        asked: int,
        entry: Entry = refusals.SERIES_REFUSED,
    ) -> None:
        super().__init__(entry(count=len(refused), asked=asked, refused=list(refused)))


class MixedLease(WarreError):
    """A new lease would have flavor:slot reservations and reservations of other types.

    :param others: the other resource types.
    """

    code = "mixed_lease"

    def __init__(self, others: Sequence[str]) -> None:
        super().__init__(refusals.MIXED_LEASE(types=list(others)))


class LeaseShared(WarreError):
    """The reservation's lease holds other reservations, which would be changed or deleted too.

    :param changing: the name of a field that can't be changed in a lease of several reservations.
        If ``changing`` is empty, the error's text advises the user to change or delete the lease
        instead.
    """

    code = "lease_shared"

    def __init__(self, lease_id: str, changing: str = "") -> None:
        if changing:
            super().__init__(refusals.SHARED_FIELD(lease=lease_id, field=changing))
        else:
            super().__init__(refusals.LEASE_SHARED(lease=lease_id))


class FixedValue(WarreError):
    """The value can't be changed once the reservation is booked."""

    code = "fixed_value"

    def __init__(self, field: str) -> None:
        super().__init__(refusals.FIXED_VALUE(field=field))


class ChangedSinceShown(WarreError):
    """Fields that a request changes were changed since its client was shown the item.

    :param fields: by the name of each such field, the value that it has ``now`` and the ``sent``
        one.
    :param partly: whether the rest of the request is done.
    """

    code = "changed_since_shown"

    def __init__(self, fields: dict[str, Any], *, partly: bool = False) -> None:
        entry = refusals.PARTLY_CHANGED if partly else refusals.CHANGED_SINCE_SHOWN
        super().__init__(entry(fields=fields))


class InvalidState(WarreError):
    """The request can't be fulfilled in the present state of the reservation or lease."""

    code = "invalid_state"


class Forbidden(WarreError):
    """A policy doesn't allow the caller's request.

    :param action: the policy rule.
    :param said: what the user should know in addition to the rule, for instance what is allowed.
    """

    code = "forbidden"

    def __init__(self, action: str, said: Said | None = None) -> None:
        if said is None:
            super().__init__(permissions.FORBIDDEN(action=action))
        else:
            super().__init__(said, action=action)


class ServiceUnavailable(WarreError):
    """Nova, Placement, Keystone, the database or the manager doesn't answer.

    :param service: the name of the service, or one of the nouns ``services.NOUNS``.
    """

    code = "service_unavailable"

    def __init__(self, service: str, said: Said) -> None:
        super().__init__(said, service=service)


class DatabaseUnavailable(ServiceUnavailable):
    """The database doesn't answer, or this package's tables aren't there.

    :param error: what SQLAlchemy, oslo.db or the driver raised.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(
            "The database",
            services.TABLES_MISSING()
            if tables_are_missing(str(error))
            else services.SAID(said=type(error).__name__),
        )


#: What MariaDB, PostgreSQL and SQLite say if a table of this package doesn't exist.
_TABLE_MISSING = re.compile(r"\bwarre_\w+\W+(?:doesn't|does not) exist|no such table: warre_")


def tables_are_missing(text: str) -> bool:
    """Whether the text of a database's error says that a table of this package is missing."""
    return bool(_TABLE_MISSING.search(text))


class Busy(ServiceUnavailable):
    """This process of the API already computes as much as it may at a time."""

    def __init__(self) -> None:
        super().__init__("The API", services.BUSY())


class ServiceTimedOut(ServiceUnavailable):
    """Nova, Placement or Keystone gave no answer of its own, and may still fulfill the request."""


class IdempotencyKeyReused(WarreError):
    """A user has sent an idempotency key with two different requests."""

    code = "idempotency_key_reused"

    def __init__(self) -> None:
        super().__init__(refusals.IDEMPOTENCY_KEY_REUSED(), field="Idempotency-Key")


class NoAnswer(WarreError):
    """The manager took too long, and may or may not have fulfilled the request.

    :param perhaps: what may have happened.
    """

    code = "no_answer"

    def __init__(self, lease_name: str, perhaps: Said) -> None:
        super().__init__(perhaps, lease_name=lease_name)


class ServiceRefused(WarreError):
    """Nova, Placement or Keystone refused a request."""

    code = "service_refused"

    def __init__(self, service: str, said: Said) -> None:
        super().__init__(said, service=service)


class HostsGone(ServiceRefused):
    """Nova or Placement doesn't have some hosts, so nothing can be done on them.

    :param hosts: the names by which the service doesn't know them.
    """

    def __init__(self, service: str, said: Said, hosts: Collection[str]) -> None:
        self.hosts = frozenset(hosts)
        super().__init__(service, said)


class PlacesUnusable(WarreError):
    """Servers can't use some of a reservation's places, because their hosts lack the room.

    :param unusable: how many of its places servers can't use.
    :param places: how many places it has.
    """

    code = "places_unusable"

    def __init__(self, unusable: int, places: int) -> None:
        super().__init__(refusals.PLACES_UNUSABLE(unusable=unusable, places=places))


class RequestInvalid(ServiceRefused):
    """Nova or Placement says that a request can never be fulfilled, whoever sends it."""


class Refused(WarreError):
    """A refusal that has no class of its own."""


class Relayed(Refused):
    """An error in the words of another program, such as the manager, Blazar or Pecan.

    :param document: the error's ``code``, ``message`` and ``detail``.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.code, self.message = document["code"], document["message"]
        self.detail = document["detail"]
        Exception.__init__(self, self.message)


class WaitNotFound(WarreError):
    """The wait doesn't exist, or the caller may not see it."""

    code = "wait_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(refusals.WAIT_NOT_FOUND(wait=ref))


class WaitOver(WarreError):
    """The wait is booked or has ended, so it can neither be booked nor be canceled."""

    code = "wait_over"

    def __init__(
        self,
        wait_id: str,
        state: str | None = None,
        at: datetime.datetime | None = None,
        by: str | None = None,
    ) -> None:
        entry, more = refusals.WAIT_JUST_OVER, {}
        if at is not None:
            entry, more = refusals.WAIT_OVER, {"at": at, "by": by}
        super().__init__(entry(wait=wait_id, status=state, **more))


class TooManyWaits(WarreError):
    """The project has as many waits as the site allows.

    :param limit: the number.
    """

    code = "too_many_waits"

    def __init__(self, limit: int) -> None:
        super().__init__(refusals.TOO_MANY_WAITS(limit=limit))


class WindowNotFound(WarreError):
    """The maintenance window doesn't exist, or the caller may not change it."""

    code = "window_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(refusals.WINDOW_NOT_FOUND(window=ref))


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
            refusals.WINDOW_CONFLICT(flavor=flavor_id, reservations=list(reservations), total=total)
        )


class AccessExists(WarreError):
    """The project already has access to the flavor."""

    code = "access_exists"

    def __init__(self, flavor: str, project_id: str) -> None:
        super().__init__(refusals.ACCESS_EXISTS(flavor=flavor, project=project_id))


class AccessNotFound(WarreError):
    """The access of a project to a flavor doesn't exist, or the caller may not see it."""

    code = "access_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(refusals.ACCESS_NOT_FOUND(flavorproject=ref))


class CalendarExists(WarreError):
    """The user has an address for the project's calendar already."""

    code = "calendar_exists"

    def __init__(self, project_id: str) -> None:
        super().__init__(refusals.CALENDAR_EXISTS(project=project_id))


class CalendarNotFound(WarreError):
    """The calendar doesn't exist, or the caller may not see it."""

    code = "calendar_not_found"

    def __init__(self, ref: str | None = None) -> None:
        """
        :param ref: its id. None: it was asked for by an address.
        """
        super().__init__(
            refusals.CALENDAR_WITHDRAWN()
            if ref is None
            else refusals.CALENDAR_NOT_FOUND(calendar=ref)
        )


class ShareExists(WarreError):
    """The reservation is shared with the project already."""

    code = "share_exists"

    def __init__(self, ref: str, project_id: str) -> None:
        super().__init__(refusals.SHARE_EXISTS(reservation=ref, project=project_id))


class ShareNotFound(WarreError):
    """The share doesn't exist, or the caller may not see it."""

    code = "share_not_found"

    def __init__(self, ref: str) -> None:
        super().__init__(refusals.SHARE_NOT_FOUND(share=ref))


class InMaintenance(WarreError):
    """A maintenance window closes the flavor for a part of the requested time."""

    code = "maintenance"

    def __init__(self) -> None:
        super().__init__(refusals.IN_MAINTENANCE())


class QuotaExceeded(WarreError):
    """A booking or an extension would make a project exceed its quota.

    :param exceeded: a dict for each limit that would be exceeded, with ``resource``, ``limit``, and
        the amounts ``used`` and ``asked``.
    """

    code = "quota_exceeded"

    def __init__(self, exceeded: list[dict[str, Any]]) -> None:
        super().__init__(refusals.QUOTA_EXCEEDED(exceeded=exceeded))


class CreditsRefused(WarreError):
    """The credits service refuses to charge the project.

    :param said: the service's own words.
    """

    code = "credits_refused"

    def __init__(self, said: str) -> None:
        super().__init__(refusals.CREDITS(said=said))


class LimitsNotRegistered(WarreError):
    """The operator hasn't registered the limits in Keystone.

    :param resources: the names of the resources that have no limit.
    """

    code = "limits_not_registered"

    def __init__(self, resources: str) -> None:
        super().__init__(services.LIMITS_NOT_REGISTERED(resources=resources))


class Misconfigured(WarreError):
    """The request depends on a configuration option whose value can't be used.

    :param option: the option, with its group.
    :param said: what is wrong with its value.
    """

    code = "misconfigured"

    def __init__(self, option: str, said: Said) -> None:
        super().__init__(said, option=option)
