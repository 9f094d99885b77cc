"""Blazar's resource plugin ``flavor.slot.plugin``: translation between Blazar and our services."""

import datetime
from collections.abc import Mapping
from typing import Any

from blazar import context
from blazar.db import api as db_api
from blazar.db import utils as db_utils
from blazar.plugins import base
from oslo_config import cfg
from oslo_utils import strutils, timeutils

from warre_blazar import conf, enforcement, exceptions, terms
from warre_blazar.db import hosts, leases, session
from warre_blazar.domain import lease_states
from warre_blazar.domain.timeline import Span
from warre_blazar.plugins import errors, monitor
from warre_blazar.services import backing, reservations

# Blazar looks filters up by name once its plugins are loaded; v1 looks exceptions up likewise.
conf.register(cfg.CONF)
enforcement.register()
errors.expose_to_v1()

_FAR = datetime.datetime(9999, 12, 31)
_MAX_AMOUNT = 2**31 - 1
# What Blazar itself puts beside what the client sent.
_BLAZARS_OWN = {"resource_type", "lease_id", "start_date", "end_date"}
_ASKED = {"flavor_id", "amount", "affinity"}


class FlavorSlotPlugin(base.BasePlugin):
    """Reserves instances of our flavors, slot by slot and host by host."""

    resource_type = reservations.RESOURCE_TYPE
    title = "Flavor slots"
    description = "Reserves instances of a flavor with a number of slots on hosts that match it."
    query_options = {"allocation": ["lease_id", "reservation_id"]}  # noqa: RUF012

    def __init__(self) -> None:
        self.monitor = monitor.SlotMonitor(self._hosts_of)

    def get(self, resource_id: str) -> dict[str, Any] | None:
        """A host of Blazar's, its extra capabilities among its values."""
        with errors.translated(updating=True):  # asked on updates too
            host = db_api.host_get(resource_id)
            if host is None:
                return None
            capabilities = db_api.host_extra_capability_get_all_per_host(resource_id)
            return {**host, **{name: c.capability_value for c, name in capabilities}}

    def _hosts_of(self, reservation_id: str) -> list[dict[str, Any]]:
        with session.reader() as db:
            host_ids = list(hosts.allocated(db, reservation_id))
        return [host for host_id in host_ids if (host := self.get(host_id))]

    def allocation_candidates(self, lease_values: Mapping[str, Any]) -> list[str]:
        """The hosts that a new reservation would be on, or that an existing one is on."""
        # When a lease is updated Blazar asks for its reservations as they are.
        if reservation_id := lease_values.get("id"):
            with errors.translated(updating=True), session.reader() as db:
                return list(hosts.allocated(db, str(reservation_id)))
        with errors.translated():
            return reservations.check(_request(lease_values, context.current().project_id))

    def reserve_resource(self, reservation_id: str, values: Mapping[str, Any]) -> str:
        """Book, exactly; the id returned is that of the ``instance_reservations`` row."""
        with errors.translated():
            project_id = db_api.lease_get(values["lease_id"])["project_id"]
            return reservations.book(reservation_id, _request(values, project_id))

    def update_reservation(self, reservation_id: str, values: Mapping[str, Any]) -> None:
        """Promise the lease's new time; flavor and amount stay as they are."""
        with errors.translated(updating=True):
            _check_unchanged(reservation_id, values)
            span = Span(values["start_date"], values["end_date"])
            reservations.move(reservation_id, span, _terms(), timeutils.utcnow())

    def on_start(self, resource_id: str) -> None:
        """Let the project boot on its reservation.

        :raises errors.TooEarly: before the lease's start.
        """
        with errors.translated():
            asked = _asked(resource_id)
            errors.check_time(asked.span.start, f"reservation {asked.reservation_id} starts")
            reservations.start(asked.reservation_id)

    def before_end(self, resource_id: str) -> None:
        """Nothing has to be done ahead of an end."""

    def on_end(self, resource_id: str) -> None:
        """Remove servers and all else, and give up the slots.

        :raises errors.TooEarly: before the lease's end, unless it is being deleted.
        """
        with errors.translated():
            asked = _asked(resource_id)
            if asked.lease_status != lease_states.DELETING:
                errors.check_time(asked.span.end, f"reservation {asked.reservation_id} ends")
            patience = cfg.CONF.warre.server_deletion_timeout
            reservations.end(asked.reservation_id, patience)

    def list_allocations(
        self, query: Mapping[str, Any] | None, detail: bool = False
    ) -> list[dict[str, Any]]:
        """Every host with the reservations on it: ``[{"resource_id", "reservations"}]``."""
        options = self.get_query_options(query or {}, "allocation")
        with errors.translated(updating=True):  # asked on updates too
            found = self.query_allocations([h["id"] for h in db_api.host_list()], **options)
        return [{"resource_id": h, "reservations": found[h]} for h in found]

    def query_allocations(
        self,
        resource_id_list: list[str],
        lease_id: str | None = None,
        reservation_id: str | None = None,
    ) -> dict[str, list[dict[str, Any]]]:
        """By host, its reservations from now on: id, lease_id, start_date, end_date."""
        found = db_utils.get_reservation_allocations_by_host_ids(
            resource_id_list, timeutils.utcnow(), _FAR, lease_id, reservation_id
        )
        allocations: dict[str, list[dict[str, Any]]] = {h: [] for h in resource_id_list}
        for reservation in found:
            shown = {k: reservation[k] for k in ("id", "lease_id", "start_date", "end_date")}
            for host_id in reservation["host_ids"]:
                allocations[host_id].append(shown)
        return allocations


def _terms() -> reservations.Terms:
    return terms.of(terms.caller())


def _asked(resource_id: str) -> leases.Asked:
    with session.reader() as db:
        found = leases.find_by_resource(db, resource_id)
    if found is None:
        raise exceptions.ReservationNotFound(resource_id)
    return found


def _request(values: Mapping[str, Any], project_id: str) -> reservations.Request:
    """What a client asked for in a lease, checked."""
    unknown = set(values) - _BLAZARS_OWN - _ASKED
    if unknown:
        raise exceptions.InvalidField(
            min(unknown), "Unknown field, expected flavor_id, amount and perhaps affinity"
        )
    flavor = values.get("flavor_id")
    if not isinstance(flavor, str) or not 1 <= len(flavor) <= 64:
        raise exceptions.InvalidField("flavor_id", "expected the id or name of a flavor")
    return reservations.Request(
        project_id=project_id,
        flavor=flavor,
        count=_amount(values.get("amount")),
        span=Span(values["start_date"], values["end_date"]),
        now=timeutils.utcnow(),
        terms=_terms(),
        affinity=_affinity(values.get("affinity")),
    )


def _amount(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MAX_AMOUNT:
        raise exceptions.InvalidField("amount", "expected a whole number of at least 1")
    return value


def _affinity(value: Any) -> bool | None:
    """As Blazar's instance plugin takes it: a boolean, or a word for one, or none."""
    if value in ("None", "none", None):
        return None
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or not strutils.is_valid_boolstr(value):
        raise exceptions.InvalidField("affinity", "expected true, false or none")
    return strutils.bool_from_string(value)


def _check_unchanged(reservation_id: str, values: Mapping[str, Any]) -> None:
    """An update may name flavor and amount as they are, so that what was shown can be sent."""
    unknown = set(values) - _BLAZARS_OWN - _ASKED - {"id"}
    if unknown:
        raise exceptions.InvalidField(min(unknown), "Unknown field")
    found, flavor = reservations.get(reservation_id, None)
    nova_flavor = backing.nova_flavor(reservation_id)
    if values.get("flavor_id") not in (None, flavor.id, flavor.name, nova_flavor):
        raise exceptions.FixedValue("flavor_id")
    if values.get("amount") not in (None, found.instance_count, str(found.instance_count)):
        raise exceptions.FixedValue("amount")
    if "affinity" in values and _affinity(values["affinity"]) != found.affinity:
        raise exceptions.FixedValue("affinity")
