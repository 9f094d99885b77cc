"""Finds out whether servers of a flavor could ever boot, by asking Nova and Placement.

Nova checks extra specs, and Placement checks what they ask for. Both do so when a server boots, and
a reservation may be booked months before that. So they are asked when a flavor is made or changed.
"""

import dataclasses
import difflib
from collections.abc import Iterable, Iterator

from warre_blazar import texts
from warre_blazar.db import flavors, session
from warre_blazar.db.hosts import reservable_hosts
from warre_blazar.domain.flavors import capacity
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.errors import exceptions
from warre_blazar.openstack import nova, placement, site_aggregates
from warre_blazar.services.hosts import new_hosts
from warre_blazar.texts import Said, warnings


@dataclasses.dataclass(frozen=True)
class BootCheck:
    """Whether servers of a flavor could ever boot, and what is in doubt."""

    #: Why no server could ever boot. Empty if servers could.
    refusals: tuple[exceptions.RequestInvalid, ...] = ()
    #: What an operator should know about the flavor, although it isn't refused.
    doubts: tuple[Said, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether Nova and Placement could be asked."""
        return all(doubt.entry is not warnings.NOT_CHECKED for doubt in self.doubts)


def check(shape: Shape) -> BootCheck:
    """Ask Nova and Placement whether servers of a shape could ever boot.

    This sends requests, so it must not be called inside a transaction. Nothing is asked about a
    shape without extra specs, because Nova and Placement never refuse mere sizes.
    """
    refusals: list[exceptions.RequestInvalid] = []
    doubts = _volumes_only(shape)
    if not shape.extra_specs:
        return BootCheck(doubts=tuple(doubts))
    for ask in (_ask_nova, _ask_aggregates, _ask_placement):
        try:
            doubts += ask(shape)
        except exceptions.RequestInvalid as error:
            refusals.append(error)
        except exceptions.WarreError as error:
            doubts.append(warnings.NOT_CHECKED(error=error.document))
    return BootCheck(tuple(refusals), tuple(doubts))


def _volumes_only(shape: Shape) -> list[Said]:
    if shape.disk_gb:
        return []
    return [warnings.VOLUMES_ONLY()]


def _ask_nova(shape: Shape) -> list[Said]:
    nova.check_extra_specs(shape.extra_specs)
    return []


def _ask_aggregates(shape: Shape) -> list[Said]:
    """Look for the extra specs that no host could ever satisfy.

    Nova is asked instead of the tables, because a new aggregate may have no host yet.
    """
    if shape.aggregate_specs:
        keys = site_aggregates.read().unknown(shape.aggregate_specs)
        if keys:
            raise exceptions.RequestInvalid("Nova", texts.services.NO_AGGREGATE(keys=keys))
    return []


def _ask_placement(shape: Shape) -> list[Said]:
    if placement.has_candidates(shape.request):
        return []
    return [warnings.NO_CANDIDATES()]


def check_all(ref: str | None = None) -> Iterator[tuple[Flavor, BootCheck]]:
    """Each flavor with the verdict about it.

    :param ref: the id or the name of the only flavor to look at. None: all flavors.
    :raises FlavorNotFound, FlavorAmbiguous:
    """
    with session.reader() as db:
        looked_at = [flavors.require(db, ref)] if ref else flavors.every(db)
    for flavor in looked_at:
        verdict = check(flavor.shape)
        doubts = (*verdict.doubts, *shared_devices(flavor))
        yield flavor, BootCheck(verdict.refusals, doubts)


def no_hosts() -> list[Said]:
    """The doubt about each flavor if no host has been registered in Blazar yet."""
    with session.reader() as db:
        if reservable_hosts.is_any_registered(db):
            return []
    return [warnings.NO_HOSTS()]


def unknown_properties(shape: Shape) -> list[Said]:
    """The doubts about properties that a shape compares and that no host has."""
    if not shape.comparisons:
        return []
    with session.reader() as db:
        hosts = reservable_hosts.empty(db, closed=None)
    known = {name for host in hosts for name, value in host.properties.items() if value is not None}
    return [
        _unknown_property(name, known)
        for name in dict.fromkeys(name for name, _, _ in shape.comparisons)
        if hosts and name not in known
    ]


def unknown_zone(shape: Shape) -> list[Said]:
    """The doubt about a shape whose availability zone no host is in."""
    wanted = shape.availability_zone
    if not wanted:
        return []
    with session.reader() as db:
        hosts = reservable_hosts.empty(db, closed=None)
    known = {host.availability_zone for host in hosts if host.availability_zone}
    is_known = not known or wanted in known
    return [] if is_known else [warnings.UNKNOWN_ZONE(zone=wanted, zones=sorted(known))]


def _unknown_property(name: str, known: Iterable[str]) -> Said:
    similar = difflib.get_close_matches(name, sorted(known), 1)
    if not similar:
        return warnings.UNKNOWN_PROPERTY(property=name)
    return warnings.MISSPELLED_PROPERTY(property=name, similar=similar[0])


def shared_devices(flavor: Flavor) -> list[Said]:
    """Doubts about other active flavors that take devices of the same hosts in other amounts."""
    return [
        warnings.DEVICES_SHARED(flavor=name, classes=classes)
        for name, classes in unlike_flavors(flavor.shape, flavor.id).items()
    ]


def unlike_flavors(shape: Shape, flavor_id: str | None) -> dict[str, list[str]]:
    """The other active flavors that take devices of the same hosts in other ways.

    :param flavor_id: the flavor that has the shape. None: it has no id yet.
    :returns: the resource classes of the devices, by the other flavor's name.
    """
    if not shape.extra_specs:
        return {}
    new_hosts.read()
    with session.reader() as db:
        hosts = reservable_hosts.empty(db)
        others = [f for f in flavors.every(db) if f.active and f.id != flavor_id]
    return {
        other.name: classes
        for other in others
        if (classes := capacity.count_devices_unlike(hosts, shape, other.shape))
    }
