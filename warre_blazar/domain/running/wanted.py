"""What Nova and Placement hold for a reservation: as it is wanted, as it is noted, as it is.

``wanted`` says once what must be there at each moment of a reservation's life. ``noted`` says what
our note lets us expect there. What Nova and Placement answer has the same form. ``steps`` is the
difference of two of these values, as an ordered list of requests to Nova and Placement. Each
request can be repeated: it leaves alone what is already as it should be. So if the work on a list
is interrupted, a new list is made and begun anew.
"""

import dataclasses
import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.backing import Note, Phase
from warre_blazar.domain.running.holders import Holder


@dataclasses.dataclass(frozen=True)
class HostUse:
    """A host on which a reservation has instances."""

    host_id: str
    #: The host's name in Nova's aggregates.
    service_name: str
    #: The name of the host's resource provider in Placement.
    hypervisor: str
    instances: int
    reservable: bool = dataclasses.field(default=True, compare=False)
    #: The ids of the host's providers that carry the reservation's trait while it runs.
    carriers: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class NovaFlavor:
    """A Nova flavor of a reservation."""

    id: str
    name: str
    vcpus: int
    ram: int
    disk: int
    ephemeral: int
    is_public: bool
    extra_specs: Mapping[str, str]
    #: The ids of the projects that may use the Nova flavor.
    projects: frozenset[str]

    @property
    def reservation_id(self) -> str | None:
        """The reservation to which it belongs. None: it isn't known, or it belongs to none."""
        return backing_names.of_flavor(self.name, self.extra_specs)

    @property
    def is_shared(self) -> bool:
        """Whether other reservations had it before, or will have it, because of their handle."""
        return not backing_names.is_own(self.id, self.reservation_id or self.id)


@dataclasses.dataclass(frozen=True)
class NovaAggregate:
    """The aggregate of a reservation. ``hosts`` are host names of compute services."""

    #: None: Nova gives the id, or it isn't known.
    id: int | None
    name: str
    hosts: frozenset[str]
    metadata: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Backing:
    """What Nova and Placement hold for a reservation."""

    flavor: NovaFlavor | None = None
    aggregate: NovaAggregate | None = None
    resource_class: str | None = None
    #: The inventories of the resource class, by the name of their provider.
    inventories: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    #: The ids of servers. None: there may be any servers on the Nova flavor.
    servers: frozenset[str] | None = frozenset()
    #: The reservation's trait, which keeps servers to the devices that are assigned to them.
    trait: str | None = None
    #: The ids of the providers that have the trait.
    carriers: frozenset[str] = frozenset()
    #: Who holds units of the resource class. Nobody is looked for before there is a reason to.
    holders: tuple[Holder, ...] = ()

    #: As in ``Bounds``. The bounds of a backing that is known exactly are the backing itself.
    anywhere: ClassVar = False

    @property
    def least(self) -> Self:
        """What is there for sure."""
        return self

    @property
    def most(self) -> Self:
        """What may be there."""
        return self


NOTHING = Backing()


class Moment(enum.IntEnum):
    """A moment in a reservation's life. At each of these moments, something else is wanted."""

    #: It begins much later, or it is over.
    FAR = 0
    #: It begins soon: what takes time is there, but on no host.
    SOON = 1
    #: It is about to begin: only its project's access is missing.
    STARTING = 2
    RUNNING = 3


#: Stands for the shape of a reservation whose row is gone. It is only removed.
_GONE = Shape(0, 0, 0, 0, {}, None, None)


def wanted(note: Note, hosts: Iterable[HostUse], moment: Moment) -> Backing:
    """What must be in Nova and Placement for a reservation at a moment.

    :param hosts: the hosts on which the reservation has instances.
    """
    if moment is Moment.FAR:
        return NOTHING
    used = list(hosts) if moment >= Moment.STARTING else []
    shape = note.shape or _GONE
    is_accessible = note.shown or moment is Moment.RUNNING
    return Backing(
        flavor=_flavor(note, shape, is_accessible=is_accessible),
        aggregate=NovaAggregate(
            id=note.aggregate_id,
            name=note.reservation_id,
            hosts=frozenset(host.service_name for host in used),
            metadata=backing_names.aggregate_metadata(
                note.reservation_id,
                note.project_id,
                shape,
                is_confined=note.confined,
                guests=note.shared_with,
            ),
        ),
        resource_class=backing_names.resource_class(note.reservation_id),
        inventories={
            backing_names.PROVIDER_PREFIX + host.hypervisor: backing_names.inventory(host.instances)
            for host in used
        },
        servers=None if is_accessible else frozenset(),
        trait=backing_names.resource_class(note.reservation_id) if note.told else None,
        carriers=frozenset[str]().union(*(host.carriers for host in used)),
    )


def _flavor(note: Note, shape: Shape, *, is_accessible: bool) -> NovaFlavor | None:
    if note.shares_flavor and not is_accessible:
        return None  # Another reservation may still have it.
    name = backing_names.FLAVOR_PREFIX + note.reservation_id
    return NovaFlavor(
        id=note.nova_flavor,
        name=note.handle.flavor_name(note.project_id) if note.handle else name,
        vcpus=shape.vcpu,
        ram=shape.memory_mb,
        disk=shape.disk_gb,
        ephemeral=shape.ephemeral_gb,
        is_public=False,
        extra_specs=backing_names.flavor_specs(note.reservation_id, shape, note.told),
        projects=frozenset({note.project_id, *note.shared_with} if is_accessible else ()),
    )


@dataclasses.dataclass(frozen=True)
class Bounds:
    """A backing that isn't known, or needn't be, exactly."""

    #: What is there for sure, or must be there.
    least: Backing
    #: What may be there.
    most: Backing
    #: Whether there may also be something on hosts that ``most`` doesn't name.
    anywhere: bool = False


def between(
    note: Note, hosts: Iterable[HostUse], first: Moment, last: Moment, *, anywhere: bool = False
) -> Bounds:
    """At least what is wanted at one moment, and at most what is wanted at another."""
    used = list(hosts)
    return Bounds(wanted(note, used, first), wanted(note, used, last), anywhere)


#: By the phase of the note: the moment whose backing is there for sure, and the moment of which at
#: most the backing is there.
_NOTED = {
    Phase.PLANNED: (Moment.FAR, Moment.FAR),
    Phase.MAKING: (Moment.FAR, Moment.SOON),
    Phase.MADE: (Moment.SOON, Moment.SOON),
    Phase.OPENING: (Moment.SOON, Moment.RUNNING),
    Phase.OPEN: (Moment.RUNNING, Moment.RUNNING),
    Phase.CLOSING: (Moment.FAR, Moment.RUNNING),
}


def noted(note: Note, hosts: Iterable[HostUse] = ()) -> Bounds:
    """What is in Nova and Placement according to a reservation's note.

    While a reservation is being opened or removed, something may be left on hosts from which the
    reservation has moved.
    """
    first, last = _NOTED[note.phase]
    anywhere = note.phase in (Phase.OPENING, Phase.CLOSING)
    as_made = dataclasses.replace(note, confined=note.made_confined)
    return _with_any_guests(as_made, hosts, first, last, anywhere=anywhere)


def _with_any_guests(
    note: Note, hosts: Iterable[HostUse], first: Moment, last: Moment, *, anywhere: bool = False
) -> Bounds:
    """``between``, whichever of the guests of the reservation have got access yet, or still."""
    used, guests = list(hosts), dict.fromkeys(note.guests, False) | dict(note.shared_with)
    least, most = (dataclasses.replace(note, shared_with=each) for each in ({}, guests))
    return Bounds(wanted(least, used, first), wanted(most, used, last), anywhere)


def tolerated(note: Note, hosts: Iterable[HostUse], *, is_running: bool) -> Bounds:
    """What may be in Nova and Placement without being a difference.

    A manager may just be opening the reservation, or may have failed to. What isn't opened yet is
    no difference of its own. The same is true of metadata that the reconciler will write, because
    the site's aggregates have changed.
    """
    note = dataclasses.replace(note, confined=note.made_confined)
    is_open = is_running and note.phase is Phase.OPEN
    prepared = Moment.STARTING if note.phase.is_opened else Moment.SOON
    return (between if is_open else _with_any_guests)(
        note,
        hosts,
        Moment.RUNNING if is_open else Moment.SOON,
        Moment.RUNNING if is_running else prepared,
    )


class Do(enum.IntEnum):
    """What a step does, in the order in which steps are carried out. In brackets: its arguments.

    What is too much goes first, and servers before what they use. Then everything is made that
    servers need. The project gets access last.
    """

    #: If it still belongs to the reservation. (a NovaFlavor that is shared)
    GIVE_UP_FLAVOR = enum.auto()
    #: (id of a Nova flavor, id of a project)
    REVOKE = enum.auto()
    #: Of all servers of a Nova flavor, and of moves away from it. (a NovaFlavor)
    FREE_ROOM = enum.auto()
    #: (id of a server)
    DELETE_SERVER = enum.auto()
    #: With all of its inventories. (name of a class)
    REMOVE_CLASS = enum.auto()
    #: And take it from all providers. (name of a trait)
    REMOVE_TRAIT = enum.auto()
    #: With all hosts in it. (a NovaAggregate)
    REMOVE_AGGREGATE = enum.auto()
    #: (id of a Nova flavor)
    REMOVE_FLAVOR = enum.auto()
    #: (name of a class)
    MAKE_CLASS = enum.auto()
    #: (a NovaAggregate)
    MAKE_AGGREGATE = enum.auto()
    SET_METADATA = enum.auto()
    #: (a NovaFlavor)
    REPLACE_FLAVOR = enum.auto()
    MAKE_FLAVOR = enum.auto()
    SET_SPECS = enum.auto()
    #: (name of a trait, ids of providers)
    GIVE_TRAIT = enum.auto()
    #: The preemptible servers on the hosts are deleted. (a NovaAggregate, names of hosts)
    ADD_HOSTS = enum.auto()
    #: (name of a host, name of a class, number of instances)
    OFFER = enum.auto()
    #: Not below what servers use. (name of a host, name of a class, number of instances)
    LOWER = enum.auto()
    #: On all other hosts. (name of a class, names of hosts)
    CLOSE_OFFERS = enum.auto()
    #: From all other providers. (name of a trait, ids of providers)
    TAKE_TRAIT = enum.auto()
    #: All other hosts are removed. (a NovaAggregate, names of hosts)
    KEEP_HOSTS = enum.auto()
    #: (id of a Nova flavor, id of a project)
    GRANT = enum.auto()


@dataclasses.dataclass(frozen=True)
class Step:
    """A request, or several that belong together."""

    do: Do
    args: tuple[Any, ...]
    #: For people: the part of the backing that it is about, or what is wrong.
    about: str = ""


#: A backing that is known exactly, or bounds of one.
Known = Backing | Bounds


def steps(there: Known, to: Known) -> list[Step]:
    """The steps from what is there to what is wanted.

    What must be there, and perhaps isn't, is made. What may be there, and mustn't be, is removed.
    """
    return sorted([*in_nova(there, to), *in_placement(there, to)], key=lambda step: step.do)


def in_nova(there: Known, to: Known) -> Iterator[Step]:
    """The steps in Nova, in no order."""
    yield from _missing_flavor(there.least.flavor, to.least.flavor)
    yield from _missing_aggregate(there.least.aggregate, to.least.aggregate)
    has, may = there.most.flavor, to.most.flavor
    allowed = may.projects if may else frozenset()
    if has and has.is_shared and may is None:
        # The next reservation waits for it, and servers don't need it.
        yield Step(Do.GIVE_UP_FLAVOR, (has,))
    elif has:
        for project_id in sorted(has.projects - allowed):
            yield Step(Do.REVOKE, (has.id, project_id), project_id)
        if may is None:
            yield Step(Do.REMOVE_FLAVOR, (has.id,))
    if has and has.projects and not allowed and there.most.servers is None:
        yield Step(Do.FREE_ROOM, (has,))
    for server_id in sorted(there.most.servers or ()) if not allowed else ():
        yield Step(Do.DELETE_SERVER, (server_id,), server_id)
    aggregate, kept = there.most.aggregate, to.most.aggregate
    if aggregate and kept is None:
        yield Step(Do.REMOVE_AGGREGATE, (aggregate,))
    if aggregate and aggregate.id is not None and kept:
        # Which hosts are too many isn't known if there may be any.
        excess = [""] if there.anywhere else sorted(aggregate.hosts - kept.hosts)
        yield from (Step(Do.KEEP_HOSTS, (aggregate, kept.hosts), host) for host in excess)


def _missing_flavor(has: NovaFlavor | None, needs: NovaFlavor | None) -> Iterator[Step]:
    if needs is None:
        return
    if has is None or has.id != needs.id:
        yield Step(Do.MAKE_FLAVOR, (needs,))
        return
    wrong = [name for name in _FIXED if getattr(has, name) != getattr(needs, name)]
    if wrong:
        said = (f"{name} {getattr(has, name)} instead of {getattr(needs, name)}" for name in wrong)
        yield Step(Do.REPLACE_FLAVOR, (needs,), ", ".join(said))
    if wrong_specs := _wrong_keys(has.extra_specs, needs.extra_specs):
        yield Step(Do.SET_SPECS, (needs,), wrong_specs)
    for project_id in sorted(needs.projects - has.projects):
        yield Step(Do.GRANT, (needs.id, project_id))


#: What Nova can't change of a flavor.
_FIXED = ("name", "vcpus", "ram", "disk", "ephemeral", "is_public")


def _wrong_keys(has: Mapping[str, str], needs: Mapping[str, str]) -> str:
    """The keys whose values aren't as they should be. Further keys are no matter of ours."""
    return ", ".join(sorted(key for key, value in needs.items() if has.get(key) != value))


def _missing_aggregate(has: NovaAggregate | None, needs: NovaAggregate | None) -> Iterator[Step]:
    if needs is None:
        return
    if has is None or has.id is None:
        yield Step(Do.MAKE_AGGREGATE, (needs,))
        return
    if wrong := _wrong_keys(has.metadata, needs.metadata):
        yield Step(Do.SET_METADATA, (needs,), wrong)
    if missing := sorted(needs.hosts - has.hosts):
        yield Step(Do.ADD_HOSTS, (has, missing), ", ".join(missing))


def in_placement(there: Known, to: Known) -> Iterator[Step]:
    """The steps in Placement, in no order."""
    yield from _of_trait(there, to)
    cls = to.most.resource_class
    if cls is None:
        if there.most.resource_class:
            yield Step(Do.REMOVE_CLASS, (there.most.resource_class,))
        return
    if to.least.resource_class and not there.least.resource_class:
        yield Step(Do.MAKE_CLASS, (cls,), cls)
    for provider, inventory in to.least.inventories.items():
        has = there.least.inventories.get(provider)
        if has != inventory:
            do = Do.LOWER if _is_lower(inventory, has) else Do.OFFER
            yield Step(do, (_host(provider), cls, inventory["total"]), provider)
    if there.anywhere:
        yield Step(Do.CLOSE_OFFERS, (cls, frozenset(map(_host, to.most.inventories))))
        return
    for provider in sorted(there.most.inventories.keys() - to.most.inventories.keys()):
        yield Step(Do.LOWER, (_host(provider), cls, 0), provider)


def _of_trait(there: Known, to: Known) -> Iterator[Step]:
    trait, carriers = to.most.trait, to.most.carriers
    if trait is None:
        if there.most.trait:
            yield Step(Do.REMOVE_TRAIT, (there.most.trait,))
        return
    if missing := sorted(to.least.carriers - there.least.carriers):
        yield Step(Do.GIVE_TRAIT, (trait, missing), ", ".join(missing))
    excess = sorted(there.most.carriers - carriers)
    if excess or there.anywhere:
        yield Step(Do.TAKE_TRAIT, (trait, carriers), ", ".join(excess))


def _is_lower(inventory: Mapping[str, Any], than: Mapping[str, Any] | None) -> bool:
    """Whether an inventory differs from another one only by having fewer instances."""
    return (
        than is not None
        and inventory["total"] < than["total"]
        and {**than, "total": inventory["total"]} == inventory
    )


def _host(provider: str) -> str:
    """The hypervisor hostname of the host that one of Blazar's providers is for."""
    return provider.removeprefix(backing_names.PROVIDER_PREFIX)
