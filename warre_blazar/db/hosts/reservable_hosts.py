"""Reads the reservable hosts, from Blazar's tables and from the stored resource providers."""

import dataclasses
import datetime
import functools
from collections import defaultdict
from collections.abc import Collection
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_log import log as logging
from oslo_utils import timeutils
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db.hosts import host_providers as stored_facts
from warre_blazar.db.sql_functions import seconds_between
from warre_blazar.db.tables import (
    compute_hosts,
    extra_capabilities,
    host_generations,
    host_inventories,
    host_providers,
    host_traits,
    maintenance_windows,
    resource_properties,
    window_hosts,
)
from warre_blazar.domain.hosts import provider_trees
from warre_blazar.domain.hosts.aggregates import NO_AGGREGATES
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.provider_trees import ProviderTree
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.timeline import Span

LOG = logging.getLogger(__name__)


def empty(db: Session, *, closed: bool | None = False) -> list[BookableHost]:
    """Every host that can be booked, with its maintenance windows and without what is booked on it.

    A host can be booked if all of this is true:

    - It is ``reservable`` in Blazar's table.
    - No operator drains it.
    - It isn't marked as abandoned (``host_marks.abandon``).
    - It isn't marked as gone (``host_marks.lose``).

    :param closed: whether to return the hosts that can't be booked instead. None: all hosts.
    """
    of = {None: sa.true(), True: sa.not_(_IS_OPEN), False: _IS_OPEN}
    return _read(db, of[closed], None)


def of_ids(db: Session, ids: Collection[str]) -> list[BookableHost]:
    """The hosts with these ids, whether or not they can be booked, as ``empty`` returns them."""
    return _read(db, compute_hosts.c.id.in_(ids), ids)


class Version(NamedTuple):
    """Which reading of a host is the present one."""

    generation: int
    #: Whether the host can be booked.
    is_open: bool


def versions(db: Session) -> dict[str, Version]:
    """The versions of all hosts, by host id."""
    rows = db.execute(_VERSIONS)
    return {i: Version(generation, bool(is_open)) for i, generation, is_open in rows}


def _read(
    db: Session, of: sa.ColumnElement[bool], ids: Collection[str] | None
) -> list[BookableHost]:
    """Read hosts, with their maintenance windows and without what is booked on them.

    This takes a constant number of SQL statements. If a host's resource providers are stored, they
    say what the host has. Otherwise Blazar's own tables say what the host had when it was
    registered.

    :param of: the condition that a host is read.
    :param ids: the ids of the hosts. None: facts of all hosts are read.
    """
    # The generations are read first. Where each statement sees what was committed before it, what
    # follows may be newer than its generation. Then the host can't be claimed, which does no harm.
    rows = db.execute(_hosts(of)).mappings().all()
    capabilities: dict[str, dict[str, Any]] = defaultdict(dict)
    inventories: dict[str, dict[str, Inventory]] = defaultdict(dict)
    traits: dict[str, set[str]] = defaultdict(set)
    windows: dict[str, list[Holding]] = defaultdict(list)
    for kind, host_id, name, value, *amounts in db.execute(_facts(ids)):
        if kind == "inventory":
            inventories[host_id][name] = Inventory(*amounts)
        elif kind == "capability":
            capabilities[host_id][name] = value
        elif kind == "window":
            start, end = (_EPOCH + each * times.SECOND for each in amounts[:2])
            windows[host_id].append(Holding(_WINDOW, Span(start, end), None))
        else:
            traits[host_id].add(name)
    digests = {row["id"]: row["digest"] for row in rows if row["digest"] is not None}
    facts = stored_facts.facts(db, digests)
    hosts = []
    for row in rows:
        host_id = row["id"]
        known = facts.get(host_id)
        tree = (known and known.tree) or (
            Provider(
                id=host_id,
                name=row["hypervisor_hostname"] or host_id,
                parent_id=None,
                inventories=inventories[host_id] or _hypervisor_inventories(row),
                traits=frozenset(traits[host_id]),
            ),
        )
        host = _host(row, capabilities[host_id], tree, is_read=known is not None)
        aggregates = known.aggregates if known else NO_AGGREGATES
        closed_at = windows[host_id]
        hosts.append(dataclasses.replace(host, closed=closed_at, aggregates=aggregates))
    return hosts


def services(db: Session) -> dict[str, str]:
    """The host names of the compute services of all hosts, by their hypervisor hostnames."""
    query = sa.select(compute_hosts.c.hypervisor_hostname, compute_hosts.c.service_name)
    return {hypervisor: service for hypervisor, service in db.execute(query) if hypervisor}


def is_any_registered(db: Session) -> bool:
    """Whether Blazar has any host, be it reservable or not."""
    return db.execute(sa.select(compute_hosts.c.id).limit(1)).first() is not None


def _host(
    row: sa.RowMapping, capabilities: dict[str, Any], tree: ProviderTree, is_read: bool
) -> BookableHost:
    zone = row["availability_zone"] if row["zone"] is None else row["zone"]
    root = tree[0]
    devices, unclear = provider_trees.devices(capabilities, root)
    for name in unclear:
        _warn(root.name, name, str(capabilities[name]))
    return BookableHost(
        id=row["id"],
        name=row["hypervisor_hostname"] or row["id"],
        availability_zone=zone,
        properties={
            **{name: row[name] for name in _COLUMNS},
            "availability_zone": zone,
            **capabilities,
        },
        inventories=root.inventories,
        traits=root.traits,
        holdings=(),
        generation=row["generation"],
        providers=(*tree, *devices) if is_read or devices else (),
        is_read=is_read,
    )


@functools.cache
def _warn(host: str, capability: str, value: str) -> None:
    """Log once in each process that a capability can't be counted."""
    LOG.warning(
        "Host %s: capability %s is %r and not a whole number, so it counts 0",
        host,
        capability,
        value,
    )


_COLUMNS = tuple(column.name for column in compute_hosts.c)


_IS_OPEN = sa.and_(
    compute_hosts.c.reservable,
    sa.func.coalesce(host_generations.c.draining, sa.false()).is_(sa.false()),
    sa.func.coalesce(host_generations.c.abandoned, sa.false()).is_(sa.false()),
    sa.func.coalesce(host_generations.c.gone, sa.false()).is_(sa.false()),
)

#: A host that was never claimed has no row.
_GENERATION = sa.func.coalesce(host_generations.c.generation, 0).label("generation")

_VERSIONS = sa.select(compute_hosts.c.id, _GENERATION, sa.case((_IS_OPEN, 1), else_=0)).select_from(
    compute_hosts.outerjoin(host_generations, host_generations.c.host_id == compute_hosts.c.id)
)


def _hosts(of: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return (
        sa.select(compute_hosts, _GENERATION, host_providers.c.digest, host_providers.c.zone)
        .select_from(
            compute_hosts.outerjoin(
                host_generations, host_generations.c.host_id == compute_hosts.c.id
            ).outerjoin(host_providers, host_providers.c.host_id == compute_hosts.c.id)
        )
        .where(of)
    )


#: The columns of ``domain.hosts.providers.Inventory``, in the order of its fields.
_AMOUNTS = (
    host_inventories.c.total,
    host_inventories.c.reserved,
    host_inventories.c.min_unit,
    host_inventories.c.max_unit,
    host_inventories.c.step_size,
    host_inventories.c.allocation_ratio,
)


#: Stands for a reservation's id in what windows hold.
_WINDOW = "window"
#: The times of windows are read as seconds since this moment.
_EPOCH = datetime.datetime(2020, 1, 1)


def _facts(ids: Collection[str] | None) -> sa.CompoundSelect[Any]:
    """A query of facts about hosts: inventories, capabilities, traits and maintenance windows.

    :param ids: the ids of the hosts. None: all hosts.

    Inventories and traits are read only for hosts whose resource providers aren't stored. Windows
    that have ended are left out.

    Each row has its kind, the host's id, a name, a value, and ``_AMOUNTS``. The amounts of a window
    are its start and its end. All of this is one statement, because every booking reads it.
    """
    no_amounts = [sa.null().label(column.name) for column in _AMOUNTS]
    inventories = sa.select(
        sa.literal_column("'inventory'"),
        host_inventories.c.computehost_id,
        host_inventories.c.resource_class,
        sa.null(),
        *_AMOUNTS,
    ).where(_unread(host_inventories.c.computehost_id))
    capabilities = sa.select(
        sa.literal_column("'capability'"),
        extra_capabilities.c.computehost_id,
        resource_properties.c.property_name,
        extra_capabilities.c.capability_value,
        *no_amounts,
    ).join(resource_properties, resource_properties.c.id == extra_capabilities.c.property_id)
    traits = sa.select(
        sa.literal_column("'trait'"),
        host_traits.c.computehost_id,
        host_traits.c.trait,
        sa.null(),
        *no_amounts,
    ).where(_unread(host_traits.c.computehost_id))
    epoch = sa.literal(_EPOCH, sa.DateTime())
    windows = (
        sa.select(
            sa.literal_column("'window'"),
            window_hosts.c.host_id,
            sa.null(),
            sa.null(),
            seconds_between(epoch, maintenance_windows.c.start_date),
            seconds_between(epoch, maintenance_windows.c.end_date),
            *no_amounts[2:],
        )
        .join(maintenance_windows, maintenance_windows.c.id == window_hosts.c.window_id)
        .where(maintenance_windows.c.end_date > timeutils.utcnow())
    )
    each = (
        (inventories, host_inventories.c.computehost_id),
        (capabilities, extra_capabilities.c.computehost_id),
        (traits, host_traits.c.computehost_id),
        (windows, window_hosts.c.host_id),
    )
    if ids is None:
        return sa.union_all(*(query for query, _ in each))
    return sa.union_all(*(query.where(host_id.in_(ids)) for query, host_id in each))


def _unread(host_id: sa.Column[str]) -> sa.ColumnElement[bool]:
    return ~sa.exists().where(host_providers.c.host_id == host_id)


def _hypervisor_inventories(row: sa.RowMapping) -> dict[str, Inventory]:
    """The inventories of a host that has no rows in Blazar's table of inventories."""
    return {
        "VCPU": Inventory(row["vcpus"]),
        "MEMORY_MB": Inventory(row["memory_mb"]),
        "DISK_GB": Inventory(row["local_gb"]),
    }


def known_capabilities(db: Session, names: Collection[str]) -> set[str]:
    """Which of the given capabilities at least one host has. The host needn't be reservable."""
    query = (
        sa.select(resource_properties.c.property_name)
        .join(extra_capabilities, extra_capabilities.c.property_id == resource_properties.c.id)
        .where(resource_properties.c.property_name.in_(names))
    )
    # Some databases compare names without regard to case.
    return set(db.scalars(query)) & set(names)
