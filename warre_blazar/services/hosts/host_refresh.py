"""Reads hosts' resource providers, aggregates and zones anew, and reports what has changed.

All hosts of Blazar are read, also those that can't be booked now: a host that has failed may leave
Nova, and a drained host may get fewer devices.

Several managers and commands may do this at the same time. Each of them reads the tables before it
asks Placement, and writes only if the tables still say the same. So an older answer of Placement
can't replace a newer one.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from oslo_log import log as logging
from oslo_utils import timeutils

from warre_blazar import times
from warre_blazar.db import audit, session
from warre_blazar.db.hosts import host_marks, host_providers, reservable_hosts
from warre_blazar.db.hosts.host_providers import NOTHING, Overtaken, Reading, Stored
from warre_blazar.db.running import confined_projects
from warre_blazar.domain.audit import overselling
from warre_blazar.domain.audit.facts import KnownHost
from warre_blazar.domain.audit.overselling import Overbooked
from warre_blazar.domain.hosts import provider_trees
from warre_blazar.domain.hosts.aggregates import SiteAggregates
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.provider_trees import TreeDifference
from warre_blazar.errors import exceptions
from warre_blazar.openstack import host_trees, nova, site_aggregates
from warre_blazar.services.hosts import gone_hosts

LOG = logging.getLogger(__name__)


#: One refresh reads a host at most this many times. It reads the host again if another manager or
#: command has stored something about the host in the meantime.
_ATTEMPTS = 3


@dataclasses.dataclass(frozen=True)
class Refreshed:
    """The result of reading a host anew."""

    host_id: str
    #: The hypervisor hostname.
    name: str
    #: None if nothing has changed or the host couldn't be read.
    difference: TreeDifference | None = None
    #: Why the host couldn't be read; empty if it was read. If it couldn't be read, nothing is
    #: changed in what is stored about it.
    failure: str = ""
    #: If the host has changed: the resource classes of which more is booked than the host has now.
    overbooked: tuple[Overbooked, ...] = ()


@dataclasses.dataclass(frozen=True)
class Refresh:
    """The result of reading hosts anew."""

    hosts: Sequence[Refreshed]
    #: Why zones or aggregates couldn't be read; empty if they were read. If they couldn't be read,
    #: each host keeps its zone and what its aggregates say.
    zones_failure: str = ""


@dataclasses.dataclass(frozen=True)
class InNova:
    """What Nova says about all hosts."""

    #: By the name of the host's service. None: Blazar's option ``[nova] az_aware`` is off.
    zones: Mapping[str, str] | None
    #: None: they couldn't be read.
    site: SiteAggregates | None

    def reading(
        self, host: BookableHost, tree: provider_trees.ProviderTree, known: Stored
    ) -> Reading:
        """A reading of a host, which keeps what is stored if Nova didn't tell anything else."""
        name = str(host.properties["service_name"])
        return Reading(
            tuple(provider_trees.bookable(provider) for provider in tree),
            None if self.zones is None else self.zones.get(name, known.zone),
            self.site.of_host(name) if self.site else known.aggregates,
        )


#: A function that is called for each changed host that is overbooked now. A host is overbooked if
#: more of a resource class is booked on the host than the host has.
Tell = Callable[[Refreshed], None]


def _tell_nobody(_: Refreshed) -> None:
    """Do nothing. An overbooked host is named in the log anyway."""


def refresh(ids: Collection[str] | None = None, tell: Tell = _tell_nobody) -> Refresh:
    """Read the providers, aggregates and zones of hosts, and store what has changed.

    :param ids: the ids of the hosts to read; None for all.
    :param tell: a function that is called for each changed host that is overbooked now.
    :raises oslo_db.exception.DBError: the database is unavailable.
    """
    before = _hosts(ids)
    if not before:
        return Refresh(())
    site, zones_failure = _in_nova()
    if site.site is not None:
        _store_confined(site.site.confined)
    failures: dict[str, exceptions.WarreError] = {}
    changed: set[str] = set()
    left = list(before.values())
    for _ in range(_ATTEMPTS):
        left = _read(left, site, changed, failures) if left else left
    missing = {i for i, error in failures.items() if isinstance(error, exceptions.HostsGone)}
    answered = [h for i, h in before.items() if i not in failures or i in missing]
    gone_hosts.note(answered, missing)
    result = Refresh(_outcomes(before, changed, failures), zones_failure)
    _report(result, tell)
    return result


def refresh_settling(tell: Tell = _tell_nobody) -> bool:
    """Read the hosts that nobody has read yet, that are settling, or that may have left Nova.

    :param tell: the same as for ``refresh``.
    :returns: whether there were any.
    :raises oslo_db.exception.DBError: the database is unavailable.
    """
    with session.reader() as db:
        ids = host_providers.unread(db)
        ids += host_providers.settling(db, timeutils.utcnow() - times.HOST_SETTLES_FOR)
        ids += host_marks.missing(db)
    if ids:
        refresh(ids, tell)
    return bool(ids)


def _read(
    hosts: Sequence[BookableHost],
    site: InNova,
    changed: set[str],
    failures: dict[str, exceptions.WarreError],
) -> list[BookableHost]:
    """Read hosts once, and store what has changed.

    :param changed: gets the ids of the hosts that have changed.
    :param failures: gets the reasons why hosts couldn't be read, by host id.
    :returns: the hosts that must be read again, because another manager or command has stored
        something about them.
    """
    with session.reader() as db:
        stored = host_providers.stored(db)
    trees = host_trees.trees(sorted({host.name for host in hosts}))
    overtaken = []
    for host in hosts:
        tree, known = trees[host.name], stored.get(host.id, NOTHING)
        if isinstance(tree, exceptions.WarreError):
            failures[host.id] = tree
            continue
        reading = site.reading(host, tree, known)
        if known == reading.stored:
            continue
        try:
            _store(host.id, reading, known)
        except Overtaken:
            overtaken.append(host)
        else:
            changed.add(host.id)
    return overtaken


def _hosts(ids: Collection[str] | None = None) -> dict[str, BookableHost]:
    with session.reader() as db:
        every = reservable_hosts.empty(db, closed=None)
    return {host.id: host for host in every if ids is None or host.id in ids}


def _in_nova() -> tuple[InNova, str]:
    """Read zones and aggregates, and return them with the reason why they couldn't be read.

    The reason is empty if they were read.
    """
    try:
        return InNova(nova.zones(), site_aggregates.read()), ""
    except exceptions.WarreError as error:
        return InNova({}, None), error.message


def _store_confined(projects: frozenset[str]) -> None:
    with session.reader() as db:
        known = confined_projects.every(db)
    if projects != known:
        session.change(confined_projects.replace, projects)


@session.retried
def _store(host_id: str, reading: Reading, before: Stored) -> None:
    with session.writer() as db:
        host_providers.store(db, host_id, reading, before, timeutils.utcnow())


def _outcomes(
    before: Mapping[str, BookableHost],
    changed: Collection[str],
    failures: Mapping[str, exceptions.WarreError],
) -> list[Refreshed]:
    after = _hosts(changed) if changed else {}
    overbooked = find_overbooked(after.values())
    outcomes = []
    for host in sorted(before.values(), key=lambda h: h.name):
        now = after.get(host.id)
        outcomes.append(
            Refreshed(
                host.id,
                host.name,
                difference=_difference(host, now) if now else None,
                failure=failures[host.id].message if host.id in failures else "",
                overbooked=tuple(o for o in overbooked if o.host.id == host.id),
            )
        )
    return outcomes


def find_overbooked(hosts: Iterable[BookableHost]) -> list[Overbooked]:
    """Find resource classes of which more is booked on a host than the host has.

    Only the time from now on counts.
    """
    known = [KnownHost.of(host) for host in hosts]
    if not known:
        return []
    now = timeutils.utcnow()
    with session.reader() as db:
        takings, _ = audit.taken(db, now)
    return list(overselling.overbooked(known, takings, now))


def all_overbooked() -> list[Overbooked]:
    """``find_overbooked`` for all reservable hosts, as they were last read."""
    with session.reader() as db:
        hosts = reservable_hosts.empty(db)
    return find_overbooked(hosts)


def _difference(before: BookableHost, after: BookableHost) -> TreeDifference:
    zones = (before.availability_zone, after.availability_zone)
    metadata = (before.aggregates.facts, after.aggregates.facts)
    return provider_trees.difference(_tree(before, after), after.providers, zones, metadata)


def _tree(host: BookableHost, after: BookableHost) -> provider_trees.ProviderTree:
    """The host's providers, for a comparison.

    If no providers were stored for the host, this returns a single root provider. The root has the
    inventories and traits that Blazar's own tables have for the host.
    """
    if host.providers:
        return host.providers
    root = dataclasses.replace(after.providers[0], inventories=host.inventories, traits=host.traits)
    return (root,)


def _report(result: Refresh, tell: Tell) -> None:
    if result.zones_failure:
        LOG.warning(
            "Zones and aggregates couldn't be read, so what is stored of them stays: %s",
            result.zones_failure,
        )
    for host in result.hosts:
        if host.failure:
            LOG.warning(
                "The resource providers of host %s couldn't be read, so its stored data stays: %s",
                host.name,
                host.failure,
            )
        elif host.difference:
            LOG.info("Host %s has changed: %s", host.name, host.difference)
        for overbooked in host.overbooked:
            LOG.warning("%s", overbooked.text())
        if host.overbooked:
            tell(host)
