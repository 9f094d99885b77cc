"""Resource providers: what Placement knows about a host, as a tree with the host as its root."""

import collections
import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Inventory:
    """A provider's inventory of one resource class, in Placement's terms."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = 2**31 - 1
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> int:
        """How much of the resource class can be taken at a time."""
        return int((self.total - self.reserved) * self.allocation_ratio)

    def takes(self, amount: int) -> bool:
        """Whether the inventory's unit constraints allow an instance to take this amount."""
        return self.min_unit <= amount <= self.max_unit and amount % self.step_size == 0


@dataclasses.dataclass(frozen=True)
class Provider:
    """A resource provider of a host: the host itself, or a part of it, such as a PCI device.

    ``parent_id`` is None for the root, which is the host itself.
    """

    id: str
    name: str
    parent_id: str | None
    inventories: Mapping[str, Inventory]
    traits: frozenset[str]
    #: Placement's generation of the provider when the provider was read. Each server that comes or
    #: goes changes the generation, so comparisons of providers ignore it.
    generation: int = dataclasses.field(default=0, compare=False)


class Stock(NamedTuple):
    """How much of a class a provider has for instances, and which amounts an instance may take."""

    capacity: int
    min_unit: int
    max_unit: int
    step_size: int

    def takes(self, amount: int) -> bool:
        """Whether an instance can take this amount when nothing else is taken."""
        return (
            self.min_unit <= amount <= min(self.max_unit, self.capacity)
            and amount % self.step_size == 0
        )


class Node(NamedTuple):
    """A provider, reduced to the facts that decide what fits on it."""

    traits: frozenset[str]
    stocks: Mapping[str, Stock]


class Tree:
    """The providers of a host, reduced to the facts that decide what fits on the host.

    Hosts whose providers have the same facts share one ``Tree`` object. Results that are computed
    for a tree are kept with the tree (``kept``). So they needn't be computed again for each host
    and each booking.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        #: The nodes, the root first.
        self.nodes = tuple(nodes)
        carriers: dict[str, list[int]] = collections.defaultdict(list)
        for number, node in enumerate(self.nodes):
            for cls in node.stocks:
                carriers[cls].append(number)
        #: By resource class, the nodes that have an inventory of the class. Each node is given by
        #: its position in ``nodes``.
        self.carriers = {cls: tuple(numbers) for cls, numbers in carriers.items()}
        #: The resource classes for which it matters which node gives them: several nodes have them,
        #: and they aren't just whole devices of one kind. Of such devices, any one will do.
        self.contested = frozenset(
            cls
            for cls, numbers in carriers.items()
            if len(numbers) > 1 and not self._is_whole(cls, numbers)
        )
        self._capacities = {
            cls: sum(max(0, self.nodes[n].stocks[cls].capacity) for n in numbers)
            for cls, numbers in carriers.items()
        }
        self._kept: dict[Hashable, Any] = {}

    def _is_whole(self, cls: str, numbers: Sequence[int]) -> bool:
        """Whether nodes are alike, have nothing else, and are taken as a whole if at all."""
        first = self.nodes[numbers[0]]
        alike = all(self.nodes[n] == first for n in numbers) and len(first.stocks) == 1
        return alike and first.stocks[cls].capacity == 1

    @classmethod
    def of(cls, providers: Iterable[Provider]) -> "Tree":
        """The tree of a host's providers. The first of ``providers`` must be the root."""
        return _interned(tuple(map(_facts, as_nodes(providers))))

    def capacity(self, cls: str) -> int:
        """How much of a resource class all nodes have together."""
        return self._capacities.get(cls, 0)

    def kept(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The value that is kept under a key. If there is none yet, compute it and keep it."""
        value = self._kept.get(key)
        if value is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            value = self._kept[key] = compute()
        return value


def as_nodes(providers: Iterable[Provider]) -> list[Provider]:
    """A host's providers in the order of the nodes of its tree. The first must be the root."""
    root, *others = providers
    return [root, *sorted(others, key=_facts)]


_MOST_KEPT = 1000
_Facts = tuple[tuple[str, ...], tuple[tuple[str, Stock], ...]]


def _facts(provider: Provider) -> _Facts:
    """The facts about a provider that a ``Node`` needs, in a form that can be sorted and hashed."""
    stocks = [
        (
            cls,
            Stock(inventory.capacity, inventory.min_unit, inventory.max_unit, inventory.step_size),
        )
        for cls, inventory in provider.inventories.items()
    ]
    return tuple(sorted(provider.traits)), tuple(sorted(stocks))


@functools.lru_cache(maxsize=1024)
def _interned(facts: tuple[_Facts, ...]) -> Tree:
    return Tree([Node(frozenset(traits), dict(stocks)) for traits, stocks in facts])
