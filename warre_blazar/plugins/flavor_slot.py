"""The Blazar resource plugin ``flavor.slot.plugin``.

It translates between Blazar's interface for plugins and the functions of ``services``.
"""

import dataclasses
import datetime
import functools
from collections.abc import Mapping
from typing import Any

from blazar import context
from blazar.db import api as db_api
from blazar.db import utils as db_utils
from blazar.plugins import base
from oslo_utils import strutils, uuidutils

from warre_blazar import texts
from warre_blazar.db import clock, session
from warre_blazar.db.hosts import allocations
from warre_blazar.db.running.leases import Timing
from warre_blazar.domain.booking import labels
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.etags import NOT_SAID, Shown
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.domain.running import handles, snapshots
from warre_blazar.domain.series.series import SeriesWork
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.fields import reservations as reservation_fields
from warre_blazar.plugins import (
    blazar_changes,
    carried_decisions,
    error_translation,
    lease_requests,
    monitor,
    starts_and_ends,
)
from warre_blazar.plugins.flavor_instances import SENT
from warre_blazar.plugins.host_failures import HostFailures
from warre_blazar.plugins.joint_bookings import Claim
from warre_blazar.services.booking import admission, changing, lookup
from warre_blazar.site_rules import conditions, contacts, enabling

_FAR = datetime.datetime(9999, 12, 31)
_MAX_AMOUNT = 2**31 - 1
# The fields of a reservation that Blazar adds to the fields that the client sent.
_BLAZARS_OWN = {"resource_type", "lease_id", "start_date", "end_date"}
# The fields that a client may send in an update. Only the amount may differ from the present value.
_UPDATE_FIELDS = {"flavor_id", "amount", "affinity"}
# The fields that a client may send in a creation, and the one that a manager sends for a wait.
_OPTIONAL = (*labels.NAMES, "before_end", "movable_hours", *handles.NAMES)
_CREATION_FIELDS = _UPDATE_FIELDS | {*_OPTIONAL, "wait_id"}
# The fields by which the API says for which series it books. Other clients don't know what to send.
_SERIES_FIELDS = {"series_id", "series_work"}
# The field by which the API says what its client was shown. v1 refuses it.
_SHOWN = "shown"


class FlavorSlotPlugin(base.BasePlugin):
    """Reserves instances of a flavor. Each instance takes a slot, and room on a host."""

    resource_type = RESOURCE_TYPE
    title = "Flavor slots"
    description = "Reserves instances of a flavor with a number of slots on hosts that match it."
    query_options = {"allocation": ["lease_id", "reservation_id"]}  # noqa: RUF012

    def __init__(self) -> None:
        """
        :raises MigrationError: this package's tables are missing.
        :raises Misconfigured: Blazar's v1 API isn't enabled.

        After these errors, Blazar works without this plugin.
        """
        blazar_changes.make()
        enabling.check_v1()
        blazar_changes.make_for_slots()
        self._failures = HostFailures()
        self.monitor = monitor.SlotMonitor(self._hosts_of, self._failures.look_again)

    def get(self, resource_id: str) -> dict[str, Any] | None:
        """The values of a host in Blazar, including its extra capabilities."""
        if host := carried_decisions.host(resource_id):
            return {name: _plain(value) for name, value in host.properties.items()}
        with (
            error_translation.translated(updating=True),  # Blazar calls this for updates too.
            session.reader(),  # One transaction for both statements.
        ):
            values = db_api.host_get(resource_id)
            if values is None:
                return None
            capabilities = db_api.host_extra_capability_get_all_per_host(resource_id)
            return {**values, **{name: c.capability_value for c, name in capabilities}}

    def _hosts_of(self, reservation_id: str) -> list[dict[str, Any]]:
        with session.reader() as db:
            host_ids = list(allocations.allocated(db, reservation_id))
        return [host for host_id in host_ids if (host := self.get(host_id))]

    def allocation_candidates(self, lease_values: Mapping[str, Any]) -> list[str]:
        """The ids of a reservation's hosts, or of the hosts that could take a new reservation."""
        # If a lease is updated, Blazar passes each existing reservation of the lease with its id.
        if reservation_id := lease_values.get("id"):
            with error_translation.translated(updating=True), session.reader() as db:
                return list(allocations.allocated(db, str(reservation_id)))
        with error_translation.translated():
            request = _request(lease_values, context.current().project_id)
            decision = admission.check(request, lease_requests.turn())
            carried_decisions.keep(decision)
            return list(decision.require().chosen)

    def reserve_resource(self, reservation_id: str, values: Mapping[str, Any]) -> str:
        """Book the request.

        Blazar calls ``allocation_candidates`` first. That method decides about the request, but
        books nothing. The decision is written if it still holds.

        :returns: the id of the reservation's row in ``instance_reservations``.
        """
        with error_translation.translated():
            request = _request(values, context.current().project_id)
            if request.wait_id not in (None, values["lease_id"]):
                # The lease has the wait's id, so that a wait can't get two leases.
                raise exceptions.InvalidField("wait_id", texts.expected.NO_VALUE())
            decision = carried_decisions.take(request)
            if decision is None:
                project_id = db_api.lease_get(values["lease_id"])["project_id"]
                request = dataclasses.replace(request, project_id=project_id)

        def book(rows: admission.LeaseRows) -> str:
            with error_translation.translated():
                return admission.book(reservation_id, request, decision, rows)

        return lease_requests.reserve(book)

    def claim(self, values: Mapping[str, Any]) -> Claim:
        """What books one of several reservations of a lease, in one transaction with the others."""
        request = _request(values, context.current().project_id)
        return functools.partial(admission.claim, request)

    def update_reservation(self, reservation_id: str, values: Mapping[str, Any]) -> None:
        """Promise the lease's new time, and write a new number of instances.

        The flavor can't change.
        """
        with error_translation.translated(updating=True):
            count = _changed_count(reservation_id, values)
            span = Span(values["start_date"], values["end_date"])
            now = clock.utcnow()
            shown = _shown(values)
            changing.move(reservation_id, span, _conditions(), now, count, shown)

    def on_start(self, resource_id: str) -> None:
        """Let the project boot servers on its reservation.

        :raises TooEarly: the lease's start is in the future.
        """
        starts_and_ends.start(_timing(resource_id))

    def before_end(self, resource_id: str) -> None:
        """Do nothing: an end needs no preparation."""

    def on_end(self, resource_id: str) -> None:
        """Remove the servers and the backing, and release the slots and hosts.

        :raises TooEarly: the lease's end is in the future, and the lease isn't being deleted.
        """
        if not lease_requests.is_deleted():
            starts_and_ends.end(_timing(resource_id))

    def list_allocations(
        self, query: Mapping[str, Any] | None, detail: bool = False
    ) -> list[dict[str, Any]]:
        """Hosts with the reservations on them: ``[{"resource_id", "reservations"}]``.

        If the query names a reservation, only its hosts are there, otherwise all hosts.
        """
        options = self.get_query_options(query or {}, "allocation")
        with (
            error_translation.translated(updating=True),  # Blazar calls this for updates too.
            session.reader() as db,
        ):
            if reservation_id := options.get("reservation_id"):
                host_ids = list(allocations.allocated(db, str(reservation_id)))
            else:
                host_ids = [h["id"] for h in db_api.host_list()]
            found = self.query_allocations(host_ids, **options)
        return [{"resource_id": h, "reservations": found[h]} for h in found]

    def query_allocations(
        self,
        resource_id_list: list[str],
        lease_id: str | None = None,
        reservation_id: str | None = None,
    ) -> dict[str, list[dict[str, Any]]]:
        """The present and future reservations on each host, by the host's id.

        Each reservation has the keys ``id``, ``lease_id``, ``start_date`` and ``end_date``.
        """
        reservations = db_utils.get_reservation_allocations_by_host_ids(
            resource_id_list, clock.utcnow(), _FAR, lease_id, reservation_id
        )
        allocations: dict[str, list[dict[str, Any]]] = {h: [] for h in resource_id_list}
        for reservation in reservations:
            shown = {k: reservation[k] for k in ("id", "lease_id", "start_date", "end_date")}
            for host_id in reservation["host_ids"]:
                allocations[host_id].append(shown)
        return allocations


def _plain(value: Any) -> Any:
    """A value of a host's row in the form in which Blazar's own functions return it."""
    return str(value) if isinstance(value, datetime.datetime) else value


def _conditions() -> BookingConditions:
    return conditions.of(conditions.caller())


def _timing(resource_id: str) -> Timing:
    with error_translation.translated():
        timing = starts_and_ends.find(resource_id)
        if timing is None:
            raise exceptions.ReservationNotFound(resource_id)
        return timing


def _request(values: Mapping[str, Any], project_id: str) -> admission.BookingRequest:
    """Make a booking request from the values of a reservation, and check them.

    :raises InvalidField: a field is unknown, or its value isn't valid.
    """
    unknown = set(values) - _BLAZARS_OWN - _CREATION_FIELDS - _SERIES_FIELDS - {SENT}
    if unknown:
        raise exceptions.InvalidField(
            min(unknown),
            texts.expected.UNKNOWN_IN_SLOT(optional=["affinity", *_OPTIONAL]),
        )
    flavor = values.get("flavor_id")
    if not isinstance(flavor, str) or not 1 <= len(flavor) <= 64:
        raise exceptions.InvalidField("flavor_id", texts.expected.FLAVOR_REF())
    return admission.BookingRequest(
        project_id=project_id,
        flavor=flavor,
        count=_amount(values.get("amount")),
        span=Span(values["start_date"], values["end_date"]),
        now=clock.utcnow(),
        conditions=_conditions(),
        affinity=_affinity(values.get("affinity")),
        labels=_labels(values),
        before_end=snapshots.checked_before_end(values.get("before_end")),
        series=_series(values),
        movable_hours=_movable_hours(values.get("movable_hours")),
        wait_id=values.get("wait_id"),
        sent_flavor=values.get(SENT),
        handle=_handle(values),
    )


def _labels(values: Mapping[str, Any]) -> labels.Labels:
    """The labels of a new reservation. A wait or a series may keep those that it has."""
    given = labels.checked(values)
    kept = contacts.kept_by(values) if given.contact or given.webhook else labels.NO_LABELS
    return contacts.checked(given, conditions.caller_id(), kept)


def _handle(values: Mapping[str, Any]) -> handles.Handle | None:
    """The handle of a new reservation. Clients of Blazar's flavor:instance expect another id."""
    handle = handles.checked(values)
    if handle and values.get(SENT):
        raise exceptions.InvalidField("handle", texts.expected.NO_HANDLE())
    return handle


def _series(values: Mapping[str, Any]) -> SeriesWork | None:
    """For which series a reservation is booked. Whether the series expects it, is seen later.

    :raises InvalidField: a field isn't a short text.
    """
    given = [values.get(name) for name in ("series_id", "series_work")]
    if given == [None, None]:
        return None
    for name, value in zip(("series_id", "series_work"), given, strict=True):
        if not isinstance(value, str) or not uuidutils.is_uuid_like(value):
            raise exceptions.InvalidField(name, texts.expected.NO_SUCH_FIELD())
    return SeriesWork(*map(str, given))


def _amount(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MAX_AMOUNT:
        raise exceptions.InvalidField("amount", texts.expected.WHOLE_NUMBER(least=1))
    return value


def _movable_hours(value: Any) -> int:
    if value is None:
        return 0
    try:
        return reservation_fields.ReservationFields.movable_hours.kind.validate(value)
    except texts.NotValid as error:
        raise exceptions.InvalidField("movable_hours", error.expected) from error


def _shown(values: Mapping[str, Any]) -> Shown:
    """What the client of a change was shown of the reservation.

    :raises InvalidField: the field isn't what the API sends.
    """
    given = values.get(_SHOWN)
    if given is None:
        return NOT_SAID
    try:
        tags = (None if tag is None else dict(tag) for tag in given["tags"])
        return Shown(tuple(tags), dict(given["sent"]))
    except (KeyError, TypeError, ValueError):
        raise exceptions.InvalidField(_SHOWN, texts.expected.NO_SUCH_FIELD()) from None


def _affinity(value: Any) -> bool | None:
    """Parse an affinity in any form that Blazar's instance plugin accepts.

    The forms are a boolean, a text such as "true", None and the text "none".
    """
    if value in ("None", "none", None):
        return None
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or not strutils.is_valid_boolstr(value):
        raise exceptions.InvalidField("affinity", texts.expected.BOOLEAN_OR_NONE())
    return strutils.bool_from_string(value)


def _changed_count(reservation_id: str, values: Mapping[str, Any]) -> int | None:
    """The new amount that an update asks for, or None if the amount stays as it is.

    An update may contain the present flavor and affinity, so that a client can send a reservation
    back as the API has shown it. The amount can change only if the lease has no other reservation.
    The reason is that this plugin writes the new amount at once. If Blazar then refused the update
    of another reservation in the lease, nothing would restore the old amount.

    :raises InvalidField: a field is unknown, or its value isn't valid.
    :raises FixedValue: the update would change the flavor or the affinity.
    :raises LeaseShared: the update would change the amount, and the lease has other reservations.
    """
    unknown = set(values) - _BLAZARS_OWN - _UPDATE_FIELDS - {"id", _SHOWN}
    if unknown:
        raise exceptions.InvalidField(min(unknown), texts.expected.UNKNOWN_IN_CHANGE())
    reservation, flavor = lookup.get(reservation_id, None)
    if values.get("flavor_id") not in (None, flavor.id, flavor.name, reservation.nova_flavor):
        raise exceptions.FixedValue("flavor_id")
    if "affinity" in values and _affinity(values["affinity"]) != reservation.affinity:
        raise exceptions.FixedValue("affinity")
    if values.get("amount") is None:
        return None
    count = _amount(values["amount"])
    if count == reservation.instance_count:
        return None
    lookup.check_sole(reservation, changing="amount")
    return count
