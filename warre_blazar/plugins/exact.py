"""Blazar's own resource types with exact admission.

Blazar's plugins look for room and write the reservation in separate transactions. So simultaneous
requests can get the same room. The plugins of this module are Blazar's, but they choose the hosts
from what this package has read, and claim them by their generations in the transaction that writes
the reservation. All three must be named in ``[manager] plugins`` in place of Blazar's.
"""

import contextlib
import contextvars
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, ParamSpec, TypeVar

from blazar import context
from blazar.db import api as db_api
from blazar.manager import exceptions as manager_exc
from blazar.plugins import base
from blazar.plugins.flavor import flavor_plugin
from blazar.plugins.instances import instance_plugin
from blazar.plugins.oshosts import host_plugin
from blazar.utils import plugins as blazar_plugins
from blazar.utils.openstack import nova, placement
from keystoneauth1 import exceptions as ks_exc
from novaclient import exceptions as nova_exc
from oslo_config import cfg
from oslo_log import log as logging
from oslo_utils import strutils, timeutils
from sqlalchemy.orm import Session

from warre_blazar import texts
from warre_blazar.db import migration, session
from warre_blazar.db.hosts import allocations, readings
from warre_blazar.db.running import backings, lease_writes
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.errors.blazar_errors import as_blazar
from warre_blazar.openstack import placement as our_placement
from warre_blazar.plugins import (
    blazar_changes,
    error_translation,
    lease_guard,
    starts_and_ends,
)
from warre_blazar.plugins.joint_bookings import Claim
from warre_blazar.services.booking import stock_types
from warre_blazar.services.booking.quotas import Quota
from warre_blazar.services.booking.stock_types import HostNeed
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.running import backing
from warre_blazar.site_rules import conditions

LOG = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

#: Whether the hosts that are chosen are claimed, because the transaction writes a reservation.
_claiming = contextvars.ContextVar("claiming", default=False)


#: Whether the dates that are written now have been checked.
_is_admitted = contextvars.ContextVar("is_admitted", default=False)


@contextlib.contextmanager
def _set(variable: contextvars.ContextVar[bool]) -> Iterator[None]:
    token = variable.set(True)
    try:
        yield
    finally:
        variable.reset(token)


@session.retried
def _booked(function: Callable[[], R]) -> R:
    """Call a function that chooses hosts and writes a reservation, in one transaction."""
    with session.claiming(), _set(_claiming):
        return function()


@session.retried
def _changed(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function of Blazar that changes a reservation, in one transaction.

    The function may send requests to Nova meanwhile. So other bookings of this process don't wait
    for this transaction, unless they book the same hosts.
    """
    with session.writer(), _set(_claiming):
        return function(*args, **kwargs)


def _chosen(need: HostNeed) -> dict[str, int]:
    """Choose hosts for a reservation, and claim them if the transaction writes the reservation."""
    if _claiming.get():
        with session.writer() as db:
            return stock_types.choose(db, need, conditions.of_service(), claiming=True)
    new_hosts.read()
    with session.reader() as db:
        return stock_types.choose(db, need, conditions.of_service(), claiming=False)


def _allocate(reservation_id: str, host_ids: Iterable[str]) -> None:
    with session.writer() as db:
        allocations.allocate(db, reservation_id, Counter(host_ids))


@session.retried
def _note(update: Callable[[str, Mapping[str, Any]], Any], row_id: str, made: Any) -> None:
    """Write the ids of what was made in Nova for a reservation."""
    with session.writer():
        update(row_id, made)


@contextlib.contextmanager
def _making(reservation_id: str) -> Iterator[None]:
    """Make in Nova and Placement what a reservation needs, or leave nothing of it.

    :raises NovaClientError: Nova refuses.
    :raises WarreServiceUnavailable: Nova or Keystone can't be reached.
    """
    with error_translation.translated():
        try:
            with backing.made_by_others(reservation_id, context.current().project_id):
                yield
        except nova_exc.ClientException as error:
            LOG.exception("Nova refused what reservation %s needs", reservation_id)
            raise manager_exc.NovaClientError() from error
        except ks_exc.ClientException as error:
            raise exceptions.ServiceUnavailable(
                "Nova", texts.services.SAID(said=type(error).__name__)
            ) from error


def _matching(*requirements: str) -> Collection[str]:
    """The ids of the hosts that meet requirements in Blazar's notation."""
    filters = [
        part for text in requirements if text for part in blazar_plugins.convert_requirements(text)
    ]
    return {host["id"] for host in db_api.reservable_host_get_all_by_queries(filters)}


def _update(
    update: Callable[[str, Any], None],
    reservation_id: str,
    values: Mapping[str, Any],
    request_of: Callable[[Mapping[str, Any]], PlacementRequest | None],
) -> None:
    """Change a reservation as Blazar does (``update``), if it fits on its hosts."""
    with error_translation.translated(updating=True):
        _changed(_change, update, reservation_id, values, request_of)


def _change(
    update: Callable[[str, Any], None],
    reservation_id: str,
    values: Mapping[str, Any],
    request_of: Callable[[Mapping[str, Any]], PlacementRequest | None],
) -> None:
    """Let Blazar change a reservation, and check in the same transaction that it fits.

    Blazar writes the lease's new dates later. They are written here if the lease has no other
    reservation, so that other bookings see them as soon as the hosts are claimed. If it has others,
    the reservation must fit at the present time too, because Blazar may yet refuse the new dates.

    :param request_of: what one instance of the changed reservation asks for.
    :raises NotEnoughHostsAvailable: the reservation doesn't fit on its hosts.
    :raises InvalidPeriod: the lease would have no length, which Blazar lets an update ask for.
    """
    span = Span(values["start_date"], values["end_date"])
    if span.end <= span.start:
        raise exceptions.InvalidPeriod(texts.refusals.LEASE_PERIOD())
    update(reservation_id, values)
    reservation = db_api.reservation_get(reservation_id)
    lease = db_api.lease_get(reservation["lease_id"])
    request = request_of(reservation)
    is_sole = len(lease["reservations"]) == 1
    spans = {span} if is_sole else {span, Span(lease["start_date"], lease["end_date"])}
    with session.writer() as db:
        if not all(_fits(db, reservation_id, request, each) for each in spans):
            raise manager_exc.NotEnoughHostsAvailable()
        if is_sole:
            dates = {"start_date": span.start, "end_date": span.end}
            with _set(_is_admitted):
                db_api.lease_update(lease["id"], dates)


def _fits(db: Session, reservation_id: str, request: PlacementRequest | None, span: Span) -> bool:
    """Claim a reservation's present hosts for a time, if the reservation fits on them."""
    present = allocations.allocated(db, reservation_id)
    need = HostNeed(request, sum(present.values()), span, own=reservation_id)
    rooms = stock_types.fitting(db, need, conditions.of_service(), present)
    # A host that has failed isn't among the reservable ones. The monitor heals it.
    return all(rooms[i] >= n or not db_api.host_get(i)["reservable"] for i, n in present.items())


def _admits(db: Session, lease_id: str, span: Span) -> bool:
    """Whether Blazar may write new dates of a lease.

    Those of a lease with one reservation have been written by ``_change``. If they differ, another
    update has been faster. Of other leases, each reservation must fit at the new time, beside the
    others.
    """
    if _is_admitted.get():
        return True
    reservations = db_api.reservation_get_all_by_lease_id(lease_id)
    if len(reservations) == 1:
        return False
    lease_writes.set_dates(db, lease_id, span)
    return all(
        _fits(db, each["id"], _REQUESTS[each["resource_type"]](each), span)
        for each in reservations
        # A lease may have floating IPs too.
        if each["resource_type"] in _REQUESTS
    )


def _no_request(_: Mapping[str, Any]) -> None:
    """What one host of a ``physical:host`` reservation asks for: the whole host."""


def _instance_request(reservation: Mapping[str, Any]) -> PlacementRequest:
    """What one instance of a ``virtual:instance`` reservation asks for."""
    return PlacementRequest.plain(
        {
            "VCPU": int(reservation["vcpus"]),
            "MEMORY_MB": int(reservation["memory_mb"]),
            "DISK_GB": int(reservation["disk_gb"]),
        }
    )


def _source_request(source: str) -> PlacementRequest:
    """What one instance of a ``flavor:instance`` reservation asks for.

    :param source: the instance's Nova flavor as JSON.
    """
    request = readings.source_flavor_request(source, conditions.of_service().device_rules)
    if request is None:
        raise manager_exc.ReservationTypeConflict()
    return request


def _stored_source_request(reservation: Mapping[str, Any]) -> PlacementRequest:
    return _source_request(reservation["resource_properties"])


#: By resource type, what one instance of a reservation asks for.
_REQUESTS: dict[str, Callable[[Mapping[str, Any]], PlacementRequest | None]] = {
    "physical:host": _no_request,
    "virtual:instance": _instance_request,
    "flavor:instance": _stored_source_request,
}


class _PlacementClient(placement.BlazarPlacementClient):
    """Blazar's client, which makes a class even if another one is made at the same time.

    Placement then says that the class exists already (``our_placement.make_class``). Blazar's
    client takes that for a failure, so the booking would fail.
    """

    def create_resource_class(self, rc_name: str) -> None:
        with error_translation.translated():
            our_placement.make_class(rc_name)


class _Exact:
    """The base class of the plugins. It has Blazar's writes to their leases checked.

    If this package's tables are missing, Blazar's plugin is made instead. Then the leases that
    there are can start and end, and others be booked as with Blazar alone.
    """

    resource_type: str
    #: Blazar's plugin for the same type.
    stock: type[base.BasePlugin]

    def __new__(cls) -> Any:
        try:
            blazar_changes.make()
        except migration.MigrationError as error:
            resource_type = cls.stock.resource_type
            LOG.error("%s. Blazar's own plugin serves %s meanwhile", error, resource_type)
            return cls.stock()
        return super().__new__(cls)

    def __init__(self) -> None:
        super().__init__()
        self._guard()

    def _guard(self) -> None:
        lease_guard.register()
        lease_guard.guard(self.resource_type, _admits)


class ExactPhysicalHostPlugin(_Exact, host_plugin.PhysicalHostPlugin):
    """Blazar's ``physical:host`` with exact admission."""

    stock = host_plugin.PhysicalHostPlugin

    def _matching_hosts(
        self,
        hypervisor_properties: str,
        resource_properties: str,
        count_range: str,
        start_date: Any,
        end_date: Any,
    ) -> list[str]:
        least, most = map(int, count_range.split("-"))
        among = _matching(hypervisor_properties, resource_properties)
        chosen = _chosen(HostNeed(None, most, Span(start_date, end_date), among))
        return list(chosen) if len(chosen) >= least else []

    def reserve_resource(self, reservation_id: str, values: dict[str, Any]) -> str:
        """Book hosts, and make their aggregate in Nova afterwards."""
        self._check_params(values)
        new_hosts.read()
        with error_translation.translated():
            made = _booked(lambda: self._write(reservation_id, values))
        zone = cfg.CONF[self.resource_type].blazar_az_prefix + reservation_id
        with _making(reservation_id):
            aggregate = nova.ReservationPool().create(name=reservation_id, az=zone)
        _note(db_api.host_reservation_update, made, {"aggregate_id": aggregate.id})
        return made

    def _write(self, reservation_id: str, values: dict[str, Any]) -> str:
        host_ids = self.allocation_candidates(values)
        if not host_ids:
            raise manager_exc.NotEnoughHostsAvailable()
        made = db_api.host_reservation_create(
            {
                "reservation_id": reservation_id,
                "resource_properties": values["resource_properties"],
                "hypervisor_properties": values["hypervisor_properties"],
                "count_range": values["count_range"],
                "status": "pending",
                "before_end": values["before_end"],
            }
        )
        _allocate(reservation_id, host_ids)
        return str(made["id"])

    def update_reservation(self, reservation_id: str, values: dict[str, Any]) -> None:
        """Change a reservation as Blazar does, if its hosts are free at the new time."""
        _update(super().update_reservation, reservation_id, values, _no_request)

    def _reallocate(self, allocation: Mapping[str, Any]) -> bool:
        return bool(_changed(super()._reallocate, allocation))


class ExactVirtualInstancePlugin(_Exact, instance_plugin.VirtualInstancePlugin):
    """Blazar's ``virtual:instance`` with exact admission."""

    stock = instance_plugin.VirtualInstancePlugin

    def __init__(self) -> None:
        super().__init__()
        self.placement_client = _PlacementClient()

    def allocation_candidates(self, reservation: Mapping[str, Any]) -> list[str]:
        """The ids of a reservation's hosts, one for each instance."""
        chosen = self._hosts_for(reservation.get("id"), reservation)
        return list(Counter(chosen).elements())

    def pickup_hosts(
        self, reservation_id: str | None, values: Mapping[str, Any]
    ) -> dict[str, list[str]]:
        """The ids of hosts that a reservation gets, and of those that it loses."""
        chosen = Counter(self._hosts_for(reservation_id, values))
        before: Counter[str] = Counter()
        if reservation_id:
            with session.reader() as db:
                before.update(allocations.allocated(db, reservation_id))
        added, removed = chosen - before, before - chosen
        return {"added": list(added.elements()), "removed": list(removed.elements())}

    def _hosts_for(self, reservation_id: str | None, values: Mapping[str, Any]) -> dict[str, int]:
        count = int(values["amount"])
        affinity = strutils.bool_from_string(values["affinity"], default=None)
        need = HostNeed(
            _instance_request(values),
            count,
            Span(values["start_date"], values["end_date"]),
            _matching(values["resource_properties"]),
            affinity,
            reservation_id,
        )
        chosen = _chosen(need)
        if sum(chosen.values()) < count:
            raise manager_exc.NotEnoughHostsAvailable()
        return chosen

    def reserve_resource(self, reservation_id: str, values: dict[str, Any]) -> str:
        """Book instances, and make what Nova and Placement need for them afterwards."""
        self._check_missing_reservation_params(values)
        self._validate_reservation_params(values)
        new_hosts.read()
        with error_translation.translated():
            made = _booked(lambda: self._write(reservation_id, values))
        with _making(reservation_id):
            flavor, group, aggregate = self._create_resources(made)
        made_in_nova = {
            "flavor_id": flavor.id,
            "server_group_id": None if group is None else group.id,
            "aggregate_id": aggregate.id,
        }
        _note(db_api.instance_reservation_update, made["id"], made_in_nova)
        return str(made["id"])

    def _write(self, reservation_id: str, values: dict[str, Any]) -> Any:
        picked = self.pickup_hosts(reservation_id, values)["added"]
        made = db_api.instance_reservation_create(
            {
                "reservation_id": reservation_id,
                **{name: values[name] for name in ("vcpus", "memory_mb", "disk_gb", "amount")},
                "affinity": strutils.bool_from_string(values["affinity"], default=None),
                "resource_properties": values["resource_properties"],
            }
        )
        _allocate(reservation_id, picked)
        return made

    def update_reservation(self, reservation_id: str, new_values: dict[str, Any]) -> None:
        """Change a reservation as Blazar does, if there is room for it."""
        _update(super().update_reservation, reservation_id, new_values, _instance_request)

    def _heal_reservation(self, reservation: Any, host_ids: list[str]) -> bool:
        return bool(_changed(super()._heal_reservation, reservation, host_ids))


class ExactFlavorPlugin(_Exact, flavor_plugin.FlavorPlugin):
    """Blazar's ``flavor:instance`` with exact admission."""

    stock = flavor_plugin.FlavorPlugin

    def __init__(self) -> None:
        # Blazar's constructor makes Blazar's other two plugins, which would heal reservations
        # beside the exact ones.
        base.BasePlugin.__init__(self)
        self._guard()
        self._placement_client = _PlacementClient()
        self._host_plugin = ExactPhysicalHostPlugin()
        self._instance_plugin = ExactVirtualInstancePlugin()

    def _pick_hosts(self, reservation: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
        source = self._checked_source(reservation)
        return self._picked(reservation, source), source

    def _checked_source(self, values: dict[str, Any]) -> dict[str, Any]:
        """The Nova flavor of a reservation."""
        self._validate_reservation_params(values)
        if strutils.bool_from_string(values["affinity"], default=None) is not None:
            raise manager_exc.NotImplemented(error="Affinity not supported yet")
        try:
            _, _, source = self._get_flavor_details(values["flavor_id"])
        except nova_exc.NotFound as error:
            raise as_blazar(exceptions.FlavorNotFound(values["flavor_id"])) from error
        return dict(source)

    def _picked(self, values: Mapping[str, Any], source: Mapping[str, Any]) -> list[str]:
        span = Span(values["start_date"], values["end_date"])
        need = HostNeed(_source_request(json.dumps(source)), values["amount"], span)
        host_ids = list(Counter(_chosen(need)).elements())
        if len(host_ids) < values["amount"]:
            raise manager_exc.NotEnoughHostsAvailable()
        return host_ids

    def reserve_resource(self, reservation_id: str, values: dict[str, Any]) -> str:
        """Book instances, and make what Nova and Placement need for them afterwards."""
        source = self._checked_source(values)
        new_hosts.read()
        with error_translation.translated():
            made = _booked(lambda: self._write(reservation_id, values, source))
        with _making(reservation_id):
            flavor_id, aggregate_id = self._create_resources(made)
        made_in_nova = {"flavor_id": flavor_id, "aggregate_id": aggregate_id}
        _note(db_api.instance_reservation_update, made["id"], made_in_nova)
        return str(made["id"])

    def claim(self, values: dict[str, Any]) -> Claim:
        """What books a reservation beside some of this package, in one transaction with these.

        This package then starts and ends the reservation. So nothing is made in Nova now.
        """
        source = self._checked_source(values)
        project_id = context.current().project_id

        def claim(db: Session, reservation_id: str, _: Quota | None) -> str:
            with _set(_claiming):
                made = self._write(reservation_id, values, source, flavor_id=reservation_id)
            backings.insert(db, reservation_id, project_id, timeutils.utcnow(), reservation_id)
            return str(made["id"])

        return claim

    def _write(
        self,
        reservation_id: str,
        values: dict[str, Any],
        source: Mapping[str, Any],
        **made_in_nova: str,
    ) -> Any:
        picked = self._picked(values, source)
        made = db_api.instance_reservation_create(
            {
                "reservation_id": reservation_id,
                "vcpus": source["vcpus"],
                "memory_mb": source["ram"],
                "disk_gb": source["disk"],
                "amount": values["amount"],
                "affinity": None,
                "resource_properties": json.dumps(source),
                **made_in_nova,
            }
        )
        _allocate(reservation_id, picked)
        return made

    def allocation_candidates(self, reservation: dict[str, Any]) -> list[str]:
        """The ids of a reservation's hosts. If it exists, those are the hosts that it has."""
        if reservation_id := reservation.get("id"):
            with session.reader() as db:
                return list(Counter(allocations.allocated(db, reservation_id)).elements())
        return list(super().allocation_candidates(reservation))

    def update_reservation(self, reservation_id: str, values: dict[str, Any]) -> None:
        """Change a reservation's time, if there is room for it. Blazar's plugin changes no more.

        Nova isn't asked, because it may not have the reservation's Nova flavor yet.
        """
        _update(_check_fixed, reservation_id, values, _stored_source_request)

    def on_start(self, resource_id: str) -> None:
        """Start a reservation as this package does, if it is in a lease with others of ours."""
        if timing := starts_and_ends.find(resource_id):
            starts_and_ends.start(timing)
        else:
            super().on_start(resource_id)

    def on_end(self, resource_id: str) -> None:
        """End a reservation in the same way."""
        if timing := starts_and_ends.find(resource_id):
            starts_and_ends.end(timing)
        else:
            super().on_end(resource_id)


def _check_fixed(reservation_id: str, values: Mapping[str, Any]) -> None:
    """Refuse other values than those that a reservation has."""
    present = db_api.reservation_get(reservation_id)
    for name in ("flavor_id", "amount"):
        if values.get(name, present[name]) != present[name]:
            raise manager_exc.CantUpdateParameter(param=name)
