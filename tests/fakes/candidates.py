"""The allocation candidates of a fake Placement, as Placement 16 finds them.

The rules are those of ``placement/objects/allocation_candidate.py``: the amounts of a group with a
suffix come from one provider, and each class of the group without one from any provider of the
tree. Providers that share with other trees aren't known here.
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

#: Amounts by provider id and resource class.
Allocation = Counter[tuple[str, str]]


@dataclasses.dataclass
class Group:
    """A request group: what it asks for, and of which traits."""

    suffix: str
    resources: dict[str, int] = dataclasses.field(default_factory=dict)
    required: set[str] = dataclasses.field(default_factory=set)
    forbidden: set[str] = dataclasses.field(default_factory=set)


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A request for candidates."""

    groups: Sequence[Group]
    root: Group
    isolate: bool
    in_tree: str | None
    limit: int | None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Wanted":
        """The request in the parameters of a query."""
        groups: dict[str, Group] = {}
        root = Group("")
        for name, value in query.items():
            for start in ("resources", "required", "root_required"):
                if not name.startswith(start):
                    continue
                suffix = name.removeprefix(start)
                group = (
                    root if start == "root_required" else groups.setdefault(suffix, Group(suffix))
                )
                for part in value.split(","):
                    if start == "resources":
                        resource_class, amount = part.split(":")
                        group.resources[resource_class] = int(amount)
                    elif part.startswith("!"):
                        group.forbidden.add(part[1:])
                    else:
                        group.required.add(part)
        limit = query.get("limit")
        return cls(
            list(groups.values()),
            root,
            query.get("group_policy") == "isolate",
            query.get("in_tree"),
            int(limit) if limit else None,
        )

    @property
    def traits(self) -> set[str]:
        """All traits that it names."""
        groups = [*self.groups, self.root]
        return set().union(*(g.required | g.forbidden for g in groups))

    @property
    def classes(self) -> set[str]:
        """All resource classes that it names."""
        return {cls for group in self.groups for cls in group.resources}


@dataclasses.dataclass(frozen=True)
class Tree:
    """The providers of a host, by id."""

    root: str
    providers: Mapping[str, Mapping[str, Any]]
    #: Returns what is taken of a provider, given by its id, and a resource class.
    used: Callable[[str, str], int]

    def capacity(self, provider_id: str, cls: str) -> int:
        """How much a provider has of a class altogether."""
        return capacity(self.providers[provider_id]["inventories"].get(cls))

    def candidates(self, wanted: Wanted) -> Iterator[Allocation]:
        """The ways in which an instance can be placed on the host."""
        traits = set(self.providers[self.root]["traits"])
        if wanted.root.required - traits or wanted.root.forbidden & traits:
            return
        for choice in itertools.product(*(self._of_group(group) for group in wanted.groups)):
            named = zip(wanted.groups, choice, strict=True)
            owners = [p for g, parts in named if g.suffix for p in {p for p, _ in parts}]
            if wanted.isolate and len(set(owners)) < len(owners):
                continue
            together: Allocation = Counter()
            for parts in choice:
                together.update(parts)
            if all(self._has(provider, cls, n) for (provider, cls), n in together.items()):
                yield together

    def _of_group(self, group: Group) -> Iterator[Allocation]:
        for owners in self._owners(group):
            traits = {p: set(self.providers[p]["traits"]) for p in owners}
            if group.required - set().union(*traits.values()):
                continue
            if any(group.forbidden & each for each in traits.values()):
                continue
            parts = zip(owners, group.resources.items(), strict=True)
            yield Counter({(owner, cls): amount for owner, (cls, amount) in parts})

    def _owners(self, group: Group) -> Iterator[tuple[str, ...]]:
        """The providers that could give each class of a group."""
        if group.suffix:
            for provider in self.providers:
                if all(self._has(provider, cls, n) for cls, n in group.resources.items()):
                    yield (provider,) * len(group.resources)
            return
        yield from itertools.product(
            *(
                [p for p in self.providers if self._has(p, cls, n)]
                for cls, n in group.resources.items()
            )
        )

    def _has(self, provider_id: str, cls: str, amount: int) -> bool:
        inventory = self.providers[provider_id]["inventories"].get(cls)
        if inventory is None:
            return False
        whole = complete(inventory)
        free = capacity(inventory) - self.used(provider_id, cls)
        fits = whole["min_unit"] <= amount <= whole["max_unit"]
        return bool(amount <= free and fits and amount % whole["step_size"] == 0)

    def summaries(self) -> dict[str, Any]:
        """What Placement says of each provider from microversion 1.29 on."""
        return {
            provider_id: {
                "resources": {
                    cls: {
                        "capacity": self.capacity(provider_id, cls),
                        "used": self.used(provider_id, cls),
                    }
                    for cls in provider["inventories"]
                },
                "traits": sorted(provider["traits"]),
                "parent_provider_uuid": provider["parent"],
                "root_provider_uuid": self.root,
            }
            for provider_id, provider in self.providers.items()
        }


def answer(wanted: Wanted, trees: Sequence[Tree]) -> dict[str, Any]:
    """What Placement answers: allocation requests, and summaries of the trees that they use."""
    found = [
        (tree, allocation)
        for tree in trees
        if wanted.in_tree is None or wanted.in_tree in tree.providers
        for allocation in tree.candidates(wanted)
    ][: wanted.limit]
    summaries: dict[str, Any] = {}
    for tree, _ in found:
        summaries |= tree.summaries()
    requests = [_request(allocation) for _, allocation in found]
    return {"allocation_requests": requests, "provider_summaries": summaries}


def _request(allocation: Allocation) -> dict[str, Any]:
    allocations: dict[str, Any] = {}
    for (provider_id, cls), amount in allocation.items():
        allocations.setdefault(provider_id, {"resources": {}})["resources"][cls] = amount
    return {"allocations": allocations}


def capacity(inventory: Mapping[str, Any] | None) -> int:
    """How much of an inventory can be taken."""
    if inventory is None:
        return 0
    whole = complete(inventory)
    return int((whole["total"] - whole["reserved"]) * whole["allocation_ratio"])


def complete(inventory: Mapping[str, Any]) -> dict[str, Any]:
    """An inventory with Placement's defaults for what it leaves out."""
    defaults = {
        "reserved": 0,
        "min_unit": 1,
        "max_unit": 2147483647,
        "step_size": 1,
        "allocation_ratio": 1.0,
    }
    return {**defaults, **inventory}
