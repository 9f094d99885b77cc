"""Finds flavors that take the same devices of hosts in different ways."""

from collections.abc import Iterable

from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.domain.hosts import demands
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.demands import Part


def unlike(hosts: Iterable[BookableHost], one: Shape, other: Shape) -> list[str]:
    """The resource classes that two shapes take from the same devices in different ways.

    Both shapes have a choice of several devices for these classes, and they take different amounts
    of a device, or may choose different devices. If servers of both shapes come and go, what is
    left of each device may be too little for a server, although it would be enough in total.

    :returns: sorted; empty if this can't happen on any of the hosts.
    """
    found: set[str] = set()
    for host in hosts:
        if host.matches(one) and host.matches(other):
            for mine in _choices(host, one):
                for others in _choices(host, other):
                    found |= _contested(mine, others)
    return sorted(found)


def _choices(host: BookableHost, shape: Shape) -> set[Part]:
    return {part for part in demands.demand(host.tree, shape.request).parts if part.is_choice}


def _contested(one: Part, other: Part) -> set[str]:
    if (one.amounts, one.nodes) == (other.amounts, other.nodes) or not set(one.nodes) & set(
        other.nodes
    ):
        return set()
    return {cls for cls, _ in one.amounts} & {cls for cls, _ in other.amounts}
