"""What a request demands of a host's providers: parts, and the nodes that each part may use.

A node is a resource provider of the host. A part is what an instance takes from a single node. Each
resource class of the group without a suffix is a part of its own. Each group with a suffix is one
part.

The rules are those of Placement 16 (``placement/objects/allocation_candidate.py`` and
``research_context.py``).
"""

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence

from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest
from warre_blazar.domain.hosts.providers import Tree

_OWNER_NOVA = "OWNER_NOVA"
#: The trait of the providers that Nova makes of PCI devices. Nova overwrites their traits.
PCI_DEVICE = "COMPUTE_MANAGED_PCI_DEVICE"


@dataclasses.dataclass(frozen=True)
class Part:
    """Amounts of resource classes that come from one node, and the nodes that can give them."""

    amounts: tuple[tuple[str, int], ...]
    nodes: tuple[int, ...]
    suffixed: bool
    #: Whether Nova can be told which node gives the part (``device_traits``).
    told: bool = False

    @property
    def is_choice(self) -> bool:
        """Whether there is more than one node that can give the amounts."""
        return len(self.nodes) > 1


@dataclasses.dataclass(frozen=True)
class Demand:
    """What a request demands of a host's providers, which are the nodes of a tree."""

    parts: tuple[Part, ...]
    #: Whether the tree has nodes for each part of the request when nothing is held.
    possible: bool
    #: Whether the choice of a node for one part may rule out nodes for another part of the same
    #: instance. A node that only becomes full doesn't count as ruled out.
    coupled: bool = False
    #: Whether each part with a suffix needs a node that no other part with a suffix uses.
    isolate: bool = False
    #: Traits. Each of them must be on a node that some part without a suffix chooses.
    uncovered: frozenset[str] = frozenset()


def demand(tree: Tree, request: PlacementRequest) -> Demand:
    """What a request demands of a host's providers.

    If the tree doesn't satisfy the request, each class of the request may come from any node that
    has the class. This is for instances that were placed on the host before its tree changed.
    """
    return tree.kept(("demand", request), lambda: _demand(tree, request))


def _demand(tree: Tree, request: PlacementRequest) -> Demand:
    parts = [*_unsuffixed(tree, request.unsuffixed), *_suffixed(tree, request.suffixed)]
    if not request.root_required <= tree.nodes[0].traits or not all(p.nodes for p in parts):
        return _unsatisfied(tree, request)
    uncovered = request.unsuffixed.required - _forced_traits(tree, parts)
    narrowed = _narrowed(tree, parts, uncovered)
    if narrowed is not None and request.isolate:
        narrowed = _isolated(narrowed)
    if narrowed is None or _exceeds(tree, narrowed):
        return _unsatisfied(tree, request)
    uncovered -= _forced_traits(tree, narrowed)
    if any(all(uncovered <= tree.nodes[n].traits for n in p.nodes) for p in _free(narrowed)):
        uncovered = frozenset()
    coupled = bool(uncovered) or _is_coupled(tree, narrowed, request.isolate)
    return Demand(tuple(_split(narrowed)), True, coupled, request.isolate, uncovered)


def _free(parts: Iterable[Part]) -> list[Part]:
    """The parts without a suffix."""
    return [part for part in parts if not part.suffixed]


def _unsuffixed(tree: Tree, group: Group) -> list[Part]:
    """Each class of the group without a suffix, with the nodes that may give it."""
    return [
        Part(((cls, amount),), _givers(tree, ((cls, amount),), frozenset(), group.forbidden), False)
        for cls, amount in group.resources
    ]


def _suffixed(tree: Tree, groups: Sequence[Group]) -> list[Part]:
    found = []
    for group in groups:
        nodes = _givers(tree, group.resources, _required(tree, group), group.forbidden)
        told = group.by_specs and not any(PCI_DEVICE in tree.nodes[n].traits for n in nodes)
        found.append(Part(group.resources, nodes, True, told))
    return found


def _required(tree: Tree, group: Group) -> frozenset[str]:
    """The traits that a provider must have for a group with a suffix.

    Compute nodes of Nova 34 and later give their providers the trait OWNER_NOVA. When all compute
    nodes do, Nova requires this trait for PCI devices, so that no server gets a device of Cyborg's
    (``nova/scheduler/request_filter.py``, ``owner_nova_filter``).
    """
    if group.of_nova and _OWNER_NOVA in tree.nodes[0].traits:
        return group.required | {_OWNER_NOVA}
    return group.required


def _givers(
    tree: Tree,
    amounts: tuple[tuple[str, int], ...],
    required: frozenset[str],
    forbidden: frozenset[str],
) -> tuple[int, ...]:
    """The nodes that can give all amounts, and have all required and no forbidden traits."""
    numbers = tree.carriers.get(amounts[0][0], ())
    return tuple(
        n
        for n in numbers
        if required <= tree.nodes[n].traits
        and not forbidden & tree.nodes[n].traits
        and all(
            cls in tree.nodes[n].stocks and tree.nodes[n].stocks[cls].takes(amount)
            for cls, amount in amounts
        )
    )


def _unsatisfied(tree: Tree, request: PlacementRequest) -> Demand:
    parts = [
        Part(((cls, amount),), tree.carriers[cls], group is not request.unsuffixed)
        for group in request.groups
        for cls, amount in group.resources
        if cls in tree.carriers
    ]
    return Demand(tuple(parts), possible=False)


def _forced_traits(tree: Tree, parts: Iterable[Part]) -> frozenset[str]:
    """The traits of the nodes that parts without a suffix must use, because they have no choice."""
    traits = [tree.nodes[p.nodes[0]].traits for p in _free(parts) if not p.is_choice]
    return frozenset().union(*traits)


def _narrowed(tree: Tree, parts: list[Part], uncovered: frozenset[str]) -> list[Part] | None:
    """Limit the choice of a part without a suffix to nodes that have all traits in ``uncovered``.

    This is done only if exactly one part without a suffix has a choice.

    :returns: all parts. None if no part can choose a node with all of these traits.
    """
    choices = [part for part in _free(parts) if part.is_choice]
    if not uncovered or len(choices) > 1:
        return parts
    if not choices:
        return None
    nodes = tuple(n for n in choices[0].nodes if uncovered <= tree.nodes[n].traits)
    if not nodes:
        return None
    chosen = dataclasses.replace(choices[0], nodes=nodes)
    return [chosen if part is choices[0] else part for part in parts]


def _isolated(parts: list[Part]) -> list[Part] | None:
    """Keep parts with a suffix from choosing nodes that other parts with a suffix need.

    A part needs a node if it has no choice of another node.

    :returns: all parts; None if two parts with a suffix need the same node.
    """
    while True:
        needed = collections.Counter(p.nodes[0] for p in parts if p.suffixed and not p.is_choice)
        if any(count > 1 for count in needed.values()):
            return None
        left = [
            dataclasses.replace(p, nodes=tuple(n for n in p.nodes if n not in needed))
            if p.suffixed and p.is_choice
            else p
            for p in parts
        ]
        if not all(part.nodes for part in left):
            return None
        if left == parts:
            return parts
        parts = left


def _sums(parts: Iterable[Part]) -> Mapping[tuple[int, str], int]:
    """By node and class, the sum of the amounts that the parts could take from the node."""
    sums: collections.Counter[tuple[int, str]] = collections.Counter()
    for part in parts:
        for cls, amount in part.amounts:
            for n in part.nodes:
                sums[n, cls] += amount
    return sums


def _exceeds(tree: Tree, parts: Iterable[Part]) -> bool:
    """Whether the parts without a choice take more from a node than one instance may take."""
    sums = _sums(p for p in parts if not p.is_choice)
    return any(total > tree.nodes[n].stocks[cls].max_unit for (n, cls), total in sums.items())


def _may_exceed(tree: Tree, parts: Sequence[Part]) -> bool:
    """Whether the parts could take more from a node than one instance may take.

    A node counts only if its capacity is larger than what one instance may take.
    """
    return any(
        min(total, tree.nodes[n].stocks[cls].capacity) > tree.nodes[n].stocks[cls].max_unit
        for (n, cls), total in _sums(parts).items()
        if any(p.is_choice and n in p.nodes and cls in dict(p.amounts) for p in parts)
    )


def _is_coupled(tree: Tree, parts: Sequence[Part], isolate: bool) -> bool:
    """Whether the choices of parts affect each other, for other reasons than traits."""
    choices = [part for part in parts if part.is_choice]
    return (
        any(len(part.amounts) > 1 for part in choices)
        or any(_couples(tree, pair, isolate) for pair in itertools.combinations(choices, 2))
        or _may_exceed(tree, parts)
    )


def _couples(tree: Tree, pair: tuple[Part, Part], isolate: bool) -> bool:
    """Whether only ``isolate`` prevents two parts with a choice from being on the same node."""
    one, other = pair
    if not (isolate and one.suffixed and other.suffixed):
        return False
    return any(_fit_together(tree, n, one, other) for n in set(one.nodes) & set(other.nodes))


def _fit_together(tree: Tree, n: int, one: Part, other: Part) -> bool:
    amounts = dict(other.amounts)
    return all(
        amount + amounts.get(cls, 0) <= tree.nodes[n].stocks[cls].capacity
        for cls, amount in one.amounts
    )


def _split(parts: Iterable[Part]) -> list[Part]:
    """Divide each part without a choice into a part for each class, and return all parts."""
    return [
        piece
        for part in parts
        for piece in (
            [part]
            if part.is_choice
            else [Part((amount,), part.nodes, part.suffixed) for amount in part.amounts]
        )
    ]


def has_traits(tree: Tree, request: PlacementRequest) -> bool:
    """Whether a tree's nodes have the traits that a request requires, and no forbidden ones.

    Amounts don't matter. For each class of a group, this looks at the traits of the nodes that have
    the class. If no node has the class, it looks at the root's traits.
    """
    return tree.kept(("traits", request), lambda: (_has_traits(tree, request),))[0]


def _has_traits(tree: Tree, request: PlacementRequest) -> bool:
    if not request.root_required <= tree.nodes[0].traits:
        return False
    for group in request.suffixed:
        nodes = set.intersection(*(_carriers(tree, cls) for cls, _ in group.resources))
        if not any(_suits(tree, n, group) for n in nodes or {0}):
            return False
    group = request.unsuffixed
    covered = {frozenset[str]()}
    for cls, _ in group.resources:
        traits = [tree.nodes[n].traits for n in _carriers(tree, cls)]
        useful = {t & group.required for t in traits if not group.forbidden & t}
        covered = {before | more for before in covered for more in useful}
    return group.required in covered


def _carriers(tree: Tree, cls: str) -> set[int]:
    return set(tree.carriers.get(cls, (0,)))


def _suits(tree: Tree, n: int, group: Group) -> bool:
    traits = tree.nodes[n].traits
    return _required(tree, group) <= traits and not group.forbidden & traits
