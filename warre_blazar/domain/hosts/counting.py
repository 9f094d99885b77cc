"""Counts how many more instances fit on a host's providers, beside what is held there.

What is held is counted in columns. A column counts one thing that instances take. It adds up what
the held instances take of this thing, and the sum must not exceed the column's capacity. There is a
column for each resource class. If only one provider of the host has the class, this column says
exactly what fits. If several providers have the class, further columns limit what some of these
providers may hold together, in two cases:

- All parts take the same amount. Suppose that part A can only be on provider 1, and that B and C
  can be on provider 1 or 2. There is a column for each of these sets, {1} and {1, 2}, and for each
  union of sets. A column counts the parts that can be only on its providers: the one for {1} counts
  A, the one for {1, 2} counts A, B and C. If no column exceeds what its providers can give, all
  parts fit (Hall's theorem).
- All parts can use the same providers, and each amount divides the next larger one, as 1, 2 and 4.
  There is a column for each amount. The one for 2 adds up all parts that take 2 or more. Its
  capacity is the free amount of each provider, rounded down to a multiple of 2, and added up.

Everything else is bin packing, for example amounts such as 2 and 3, or ``group_policy=isolate``.
There a search finds out (``provider_search``). Tests compare both with a count of every placement.
"""

import collections
import dataclasses
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence

from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts.demands import Demand, Part, demand
from warre_blazar.domain.hosts.fixed_places import Places
from warre_blazar.domain.hosts.provider_search import Search, Sought
from warre_blazar.domain.hosts.providers import Tree

#: If parts that have the same size need more columns than this, a search counts the parts instead.
_MOST_COLUMNS = 32


@dataclasses.dataclass(frozen=True)
class Column:
    """Something that instances take, and how much of it there is."""

    capacity: int
    #: By request, how much an instance of the request takes. Instances of all other requests take
    #: nothing.
    taken: Mapping[PlacementRequest, int]


@dataclasses.dataclass(frozen=True)
class Plan:
    """How to count the room for a request, beside instances of other requests on the same tree."""

    #: Whether an instance fits at all, when nothing is held.
    possible: bool
    #: Further columns, in addition to the columns of the resource classes.
    columns: Sequence[Column] = ()
    #: The searches that count what columns can't count.
    searches: Sequence[Search] = ()


#: ``POSSIBLE``: only the columns of the resource classes limit the room. ``IMPOSSIBLE``: no
#: instance fits.
POSSIBLE = Plan(possible=True)
IMPOSSIBLE = Plan(possible=False)


def plan(tree: Tree, asked: PlacementRequest, held: Iterable[PlacementRequest]) -> Plan:
    """How to count the room for ``asked`` beside instances of the requests ``held``."""
    wanted = demand(tree, asked)
    if not wanted.possible or not asked.amounts:
        # Placement refuses an empty request.
        return IMPOSSIBLE
    if not is_contested(tree, asked):
        return POSSIBLE
    kinds = frozenset(r for r in held if is_contested(tree, r)) | {asked}
    return tree.kept(("plan", asked, kinds), lambda: _plan(tree, asked, kinds))


def _plan(tree: Tree, asked: PlacementRequest, kinds: Collection[PlacementRequest]) -> Plan:
    demands = {request: demand(tree, request) for request in kinds}
    columns: list[Column] = []
    searches: list[Search] = []
    for cluster in _clusters(demands):
        if asked not in cluster:
            continue
        free = not any(demands[r].coupled and _has_choice(ps) for r, ps in cluster.items())
        exact = _columns(tree, cluster) if free else None
        if exact is None:
            searches.append(Search(tree, asked, _sought(demands, cluster)))
        else:
            columns += exact
    return Plan(True, columns, searches)


def places(
    tree: Tree, asked: PlacementRequest, held: Iterable[PlacementRequest]
) -> Sequence[Places]:
    """The places of instances, for each cluster in which it matters that they stay where they are.

    :param held: the requests of all instances that are booked on the host, at any time.
    """
    if not is_contested(tree, asked):
        return ()
    kinds = frozenset(r for r in held if is_contested(tree, r)) | {asked}
    return tree.kept(("places", asked, kinds), lambda: _places(tree, asked, kinds))


def is_contested(tree: Tree, request: PlacementRequest) -> bool:
    """Whether a request asks for a resource class that several providers have."""
    return not tree.contested.isdisjoint(request.amounts)


def _places(
    tree: Tree, asked: PlacementRequest, kinds: Collection[PlacementRequest]
) -> list[Places]:
    demands = {request: demand(tree, request) for request in kinds}
    return [
        Places(tree, asked, _sought(demands, cluster))
        for cluster in _clusters(demands)
        if asked in cluster and not _is_uniform(demands, cluster)
    ]


def _sought(
    demands: Mapping[PlacementRequest, Demand], cluster: "_Cluster"
) -> dict[PlacementRequest, Sought]:
    return {
        r: Sought(tuple(ps), demands[r].isolate, _uncovered(demands[r], ps))
        for r, ps in cluster.items()
    }


def _uncovered(wanted: Demand, parts: Iterable[Part]) -> frozenset[str]:
    """The traits that a request's parts in a cluster must cover.

    Parts without a suffix cover them, by their choice of nodes. All such parts of a request are in
    the same cluster, so the request's parts in other clusters have nothing to cover.
    """
    can_cover = any(part.is_choice and not part.suffixed for part in parts)
    return wanted.uncovered if can_cover else frozenset()


def _is_uniform(demands: Mapping[PlacementRequest, Demand], cluster: "_Cluster") -> bool:
    """Whether all parts of a cluster are interchangeable.

    If so, parts that fit at each moment also fit over time (``fixed_places``).
    """
    parts = [part for of_request in cluster.values() for part in of_request]
    if not _has_choice(parts):
        return True
    if any(demands[r].coupled and _has_choice(ps) for r, ps in cluster.items()):
        return False
    return len({(part.amounts, frozenset(part.nodes)) for part in parts}) == 1


def _has_choice(parts: Iterable[Part]) -> bool:
    return any(part.is_choice for part in parts)


_Cell = tuple[int, str]
_Cluster = dict[PlacementRequest, list[Part]]


def _clusters(demands: Mapping[PlacementRequest, Demand]) -> list[_Cluster]:
    """Divide the parts of all requests into clusters that don't affect each other.

    Two parts affect each other if they may take the same class from the same node. Two parts of the
    same request also affect each other if the request's choices depend on each other
    (``Demand.coupled``) and both parts have a choice of nodes.

    :returns: the clusters. Each of them maps requests to the requests' parts in the cluster.
    """
    joined: dict[_Cell, _Cell] = {}

    def head(cell: _Cell) -> _Cell:
        while joined.setdefault(cell, cell) != cell:
            cell = joined[cell]
        return cell

    for wanted in demands.values():
        bound: list[_Cell] = []
        for part in wanted.parts:
            cells = [(n, cls) for cls, _ in part.amounts for n in part.nodes]
            for cell in cells:
                joined[head(cell)] = head(cells[0])
            if wanted.coupled and part.is_choice:
                bound.append(cells[0])
        for cell in bound:
            joined[head(cell)] = head(bound[0])
    clusters: dict[_Cell, _Cluster] = collections.defaultdict(dict)
    for request, wanted in demands.items():
        for part in wanted.parts:
            cell = head((part.nodes[0], part.amounts[0][0]))
            clusters[cell].setdefault(request, []).append(part)
    return list(clusters.values())


def _columns(tree: Tree, cluster: _Cluster) -> list[Column] | None:
    """Columns that say exactly how many parts of a cluster fit.

    All parts of the cluster must take the same class. If a part has a choice of nodes, its
    request's demand must not be coupled (``Demand.coupled``).

    :returns: None if no columns can say exactly how many parts fit, or if too many columns would be
        needed.
    """
    parts = [part for of_request in cluster.values() for part in of_request]
    cls = parts[0].amounts[0][0]
    amounts = {part.amounts[0][1] for part in parts}
    choices = {frozenset(part.nodes) for part in parts}
    slots = {n: max(0, tree.nodes[n].stocks[cls].capacity) for n in frozenset().union(*choices)}
    if len(slots) == 1:
        taken = {r: sum(p.amounts[0][1] for p in ps) for r, ps in cluster.items()}
        return [Column(sum(slots.values()), taken)]
    if len(amounts) == 1:
        return _of_one_size(cluster, amounts.pop(), choices, slots)
    if len(choices) == 1:
        return _of_one_choice(cluster, sorted(amounts), slots)
    return None


def _of_one_size(
    cluster: _Cluster, size: int, choices: set[frozenset[int]], capacities: Mapping[int, int]
) -> list[Column] | None:
    """Columns for parts that all take the same amount, but not from the same nodes.

    Here, the set of nodes that a part may use is called the part's choice. By Hall's theorem, the
    parts fit if and only if every union of choices is large enough. A union is large enough if its
    nodes hold all parts that may use no other nodes.
    """
    unions: set[frozenset[int]] = set()
    for choice in choices:
        unions |= {union | choice for union in unions} | {choice}
        if len(unions) > _MOST_COLUMNS:
            return None
    return [
        Column(
            sum(capacities[n] // size for n in union),
            {r: sum(union.issuperset(p.nodes) for p in ps) for r, ps in cluster.items()},
        )
        for union in unions
    ]


def _of_one_choice(
    cluster: _Cluster, sizes: Sequence[int], capacities: Mapping[int, int]
) -> list[Column] | None:
    """Columns for parts that take different amounts from the same nodes.

    If each amount divides the next larger one, the parts can be placed wherever there is room, the
    largest first. In that case there is a column for each amount. It counts only the parts that
    take the amount or more. The column's capacity is the sum of the nodes' capacities, after each
    of them has been rounded down to a multiple of the amount. The parts fit if and only if no
    column exceeds its capacity.

    :returns: None if an amount doesn't divide the next larger one.
    """
    if any(larger % smaller for smaller, larger in itertools.pairwise(sizes)):
        return None
    return [
        Column(
            sum(capacity // size * size for capacity in capacities.values()),
            {
                r: sum(p.amounts[0][1] for p in ps if p.amounts[0][1] >= size)
                for r, ps in cluster.items()
            },
        )
        for size in sizes
    ]
