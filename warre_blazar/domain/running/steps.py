"""The difference of two backings, as an ordered list of requests to Nova and Placement.

Each request can be repeated: it leaves alone what is already as it should be. So if the work on a
list is interrupted, a new list is made and begun anew.
"""

import dataclasses
import enum
from collections.abc import Iterator, Mapping
from typing import Any

from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.wanted import Bounds, NovaAggregate, NovaFlavor


class Do(enum.IntEnum):
    """What a step does, in the order in which steps are carried out. In brackets: its arguments.

    What is too much goes first, and servers before what they use. Then everything is made that
    servers need. The project gets access last.
    """

    #: (id of a Nova flavor, id of a project)
    REVOKE = enum.auto()
    #: All servers of a Nova flavor, however many there are. (a NovaFlavor)
    DELETE_SERVERS = enum.auto()
    #: (id of a server)
    DELETE_SERVER = enum.auto()
    #: With all of its inventories. (name of a class)
    REMOVE_CLASS = enum.auto()
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
    #: (a NovaAggregate, names of hosts)
    ADD_HOSTS = enum.auto()
    #: (name of a host, name of a class, number of instances)
    OFFER = enum.auto()
    #: Not below what servers use. (name of a host, name of a class, number of instances)
    LOWER = enum.auto()
    #: On all other hosts. (name of a class, names of hosts)
    CLOSE_OFFERS = enum.auto()
    #: (a NovaAggregate, name of a host)
    REMOVE_HOST = enum.auto()
    #: (a NovaAggregate, names of hosts)
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


def steps(there: Bounds, to: Bounds) -> list[Step]:
    """The steps from what is there to what is wanted.

    What must be there, and perhaps isn't, is made. What may be there, and mustn't be, is removed.
    """
    return sorted([*in_nova(there, to), *in_placement(there, to)], key=lambda step: step.do)


def in_nova(there: Bounds, to: Bounds) -> Iterator[Step]:
    """The steps in Nova, in no order."""
    yield from _missing_flavor(there.least.flavor, to.least.flavor)
    yield from _excess_flavor(there, to)
    yield from _missing_aggregate(there.least.aggregate, to.least.aggregate)
    yield from _excess_aggregate(there, to)


def _missing_flavor(has: NovaFlavor | None, needs: NovaFlavor | None) -> Iterator[Step]:
    if needs is None:
        return
    if has is None or has.id != needs.id:
        yield Step(Do.MAKE_FLAVOR, (needs,))
        return
    wrong_fields = [
        f"{name} {getattr(has, name)} instead of {getattr(needs, name)}"
        for name in ("name", "vcpus", "ram", "disk", "ephemeral", "is_public")
        if getattr(has, name) != getattr(needs, name)
    ]
    if wrong_fields:
        yield Step(Do.REPLACE_FLAVOR, (needs,), ", ".join(wrong_fields))
    if wrong_specs := _wrong_keys(has.extra_specs, needs.extra_specs):
        yield Step(Do.SET_SPECS, (needs,), wrong_specs)
    for project_id in sorted(needs.projects - has.projects):
        yield Step(Do.GRANT, (needs.id, project_id))


def _wrong_keys(has: Mapping[str, str], needs: Mapping[str, str]) -> str:
    """The keys whose values aren't as they should be. Further keys are no matter of ours."""
    return ", ".join(sorted(key for key, value in needs.items() if has.get(key) != value))


def _excess_flavor(there: Bounds, to: Bounds) -> Iterator[Step]:
    has, may = there.most.flavor, to.most.flavor
    allowed = may.projects if may else frozenset()
    if has:
        for project_id in sorted(has.projects - allowed):
            yield Step(Do.REVOKE, (has.id, project_id), project_id)
        if has.projects and not allowed and there.most.servers is None:
            yield Step(Do.DELETE_SERVERS, (has,))
        if may is None:
            yield Step(Do.REMOVE_FLAVOR, (has.id,))
    if not allowed:
        for server_id in sorted(there.most.servers or ()):
            yield Step(Do.DELETE_SERVER, (server_id,), server_id)


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


def _excess_aggregate(there: Bounds, to: Bounds) -> Iterator[Step]:
    has, may = there.most.aggregate, to.most.aggregate
    if has is None:
        return
    if may is None:
        yield Step(Do.REMOVE_AGGREGATE, (has,))
        return
    if there.anywhere and has.id is not None:
        yield Step(Do.KEEP_HOSTS, (has, may.hosts))
        return
    for host in sorted(has.hosts - may.hosts):
        yield Step(Do.REMOVE_HOST, (has, host), host)


def in_placement(there: Bounds, to: Bounds) -> Iterator[Step]:
    """The steps in Placement, in no order."""
    needs, may = to.least, to.most
    if needs.resource_class and not there.least.resource_class:
        yield Step(Do.MAKE_CLASS, (needs.resource_class,), needs.resource_class)
    for provider, inventory in needs.inventories.items():
        has = there.least.inventories.get(provider)
        if needs.resource_class and has != inventory:
            do = Do.LOWER if _is_lower(inventory, has) else Do.OFFER
            args = (_host(provider), needs.resource_class, inventory["total"])
            yield Step(do, args, provider)
    cls = there.most.resource_class or may.resource_class
    if cls is None:
        return
    if may.resource_class is None:
        yield Step(Do.REMOVE_CLASS, (cls,))
    elif there.anywhere:
        yield Step(Do.CLOSE_OFFERS, (cls, frozenset(map(_host, may.inventories))))
    else:
        for provider in sorted(there.most.inventories.keys() - may.inventories.keys()):
            yield Step(Do.LOWER, (_host(provider), cls, 0), provider)


def _is_lower(inventory: Mapping[str, Any], than: Mapping[str, Any] | None) -> bool:
    """Whether two inventories differ only in the number of instances, and the first has fewer."""
    if than is None or than["total"] < inventory["total"]:
        return False
    return {**than, "total": inventory["total"]} == inventory


def _host(provider: str) -> str:
    """The hypervisor hostname of the host that one of Blazar's providers is for."""
    return provider.removeprefix(backing_names.PROVIDER_PREFIX)
