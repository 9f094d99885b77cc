"""Stores and compares trees of resource providers, and adds devices that only Blazar knows of.

A tree is a tuple of providers. The first is the root, which is the host itself. The others are
sorted by name, so that ``to_text`` gives equal texts for equal trees.
"""

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from warre_blazar.domain.flavors.devices import CAPABILITY_PREFIX
from warre_blazar.domain.hosts.providers import Inventory, Provider

ProviderTree = tuple[Provider, ...]

#: The trait of a one-time-use device. After each use somebody has to clean the device.
_ONE_TIME_USE = "HW_PCI_ONE_TIME_USE"


def ordered(providers: Iterable[Provider]) -> ProviderTree:
    """Sort the providers of a host into a tree.

    :raises ValueError: the providers don't have exactly one root.
    """
    tree = tuple(sorted(providers, key=lambda p: (p.parent_id is not None, p.name, p.id)))
    if sum(1 for provider in tree if provider.parent_id is None) != 1:
        raise ValueError("the providers don't form one tree")
    return tree


def to_text(tree: ProviderTree) -> str:
    """The tree as JSON."""
    return json.dumps([_to_dict(provider) for provider in tree], sort_keys=True)


def _to_dict(provider: Provider) -> dict[str, Any]:
    return {
        "id": provider.id,
        "name": provider.name,
        "parent_id": provider.parent_id,
        "generation": provider.generation,
        "inventories": {c: dataclasses.asdict(i) for c, i in provider.inventories.items()},
        "traits": sorted(provider.traits),
    }


def from_text(text: str) -> ProviderTree:
    """The tree from which ``to_text`` made ``text``."""
    return tuple(
        Provider(
            id=values["id"],
            name=values["name"],
            parent_id=values["parent_id"],
            inventories={c: Inventory(**i) for c, i in values["inventories"].items()},
            traits=frozenset(values["traits"]),
            generation=values["generation"],
        )
        for values in json.loads(text)
    )


def digest(tree: ProviderTree) -> str:
    """A short text that is the same for equal trees. The providers' generations don't matter."""
    still = tuple(dataclasses.replace(provider, generation=0) for provider in tree)
    return hashlib.sha256(to_text(still).encode()).hexdigest()


def bookable(provider: Provider) -> Provider:
    """The provider with the inventories that can be booked for the future.

    When a server takes a one-time-use device, Nova reserves the device in Placement. The device
    can't be used again until somebody has cleaned it and has set the reserved amount to 0. Bookings
    are for a later time, so they may include a reserved device.
    """
    if _ONE_TIME_USE not in provider.traits:
        return provider
    inventories = {c: dataclasses.replace(i, reserved=0) for c, i in provider.inventories.items()}
    return dataclasses.replace(provider, inventories=inventories)


def devices(properties: Mapping[str, Any], root: Provider) -> tuple[list[Provider], list[str]]:
    """The devices that a host's capabilities name, as providers below the root.

    A capability ``pci_alias_NAME`` gives the host a provider with an inventory of the resource
    class of the same name. The capability's value is the inventory's amount. Such capabilities are
    for devices that Nova doesn't report in Placement.

    :returns: the providers, and the names of capabilities whose values aren't whole numbers. Each
        of these capabilities counts as 0 devices.
    """
    names = sorted(name for name in properties if name.startswith(CAPABILITY_PREFIX))
    amounts = {name: _whole_number(properties[name]) for name in names}
    found = [
        Provider(
            id=f"{root.id}/{name}",
            name=f"{root.name}/{name}",
            parent_id=root.id,
            inventories={name: Inventory(amount or 0)},
            traits=frozenset(),
        )
        for name, amount in amounts.items()
    ]
    return found, [name for name, amount in amounts.items() if amount is None]


def _whole_number(value: object) -> int | None:
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdecimal() else None


def totals(tree: Iterable[Provider]) -> dict[str, int]:
    """How much of each resource class all providers of a tree have together."""
    sums: Counter[str] = Counter()
    for provider in tree:
        for cls, inventory in provider.inventories.items():
            sums[cls] += inventory.capacity
    return dict(sums)


@dataclasses.dataclass(frozen=True)
class TreeDifference:
    """What differs between two readings of a host."""

    #: The amounts before and after, by resource class, where they differ.
    totals: Mapping[str, tuple[int, int]]
    traits_gained: frozenset[str]
    traits_lost: frozenset[str]
    #: The zones before and after; None if they are the same.
    zone: tuple[str | None, str | None] | None
    #: ``providers_new``: the names of the providers that only the later reading has.
    #: ``providers_gone``: the names of those that only the earlier reading has.
    providers_new: tuple[str, ...]
    providers_gone: tuple[str, ...]
    #: The metadata of the host's aggregates, as texts such as ``ssd=true``.
    metadata_gained: frozenset[str] = frozenset()
    metadata_lost: frozenset[str] = frozenset()


def difference(
    before: ProviderTree,
    after: ProviderTree,
    zones: tuple[str | None, str | None],
    metadata: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset()),
) -> TreeDifference:
    """Compare two readings of a host.

    :param zones: the host's zones before and after.
    :param metadata: the metadata of its aggregates before and after.
    """
    amounts_before, amounts_after = totals(before), totals(after)
    classes = sorted(amounts_before.keys() | amounts_after.keys())
    pairs = {c: (amounts_before.get(c, 0), amounts_after.get(c, 0)) for c in classes}
    traits_before, traits_after = _traits(before), _traits(after)
    names_before, names_after = {p.name for p in before}, {p.name for p in after}
    return TreeDifference(
        totals={c: pair for c, pair in pairs.items() if pair[0] != pair[1]},
        traits_gained=traits_after - traits_before,
        traits_lost=traits_before - traits_after,
        zone=zones if zones[0] != zones[1] else None,
        providers_new=tuple(sorted(names_after - names_before)),
        providers_gone=tuple(sorted(names_before - names_after)),
        metadata_gained=metadata[1] - metadata[0],
        metadata_lost=metadata[0] - metadata[1],
    )


def _traits(tree: ProviderTree) -> frozenset[str]:
    return frozenset(trait for provider in tree for trait in provider.traits)
