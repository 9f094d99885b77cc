"""Request groups: what one instance needs from a host, in the form that Nova sends to Placement."""

import collections
import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self


@dataclasses.dataclass(frozen=True)
class Group:
    """Amounts of resource classes, and traits that go with them.

    A request has one group without a suffix. Other groups are told apart by suffixes: for example,
    the extra spec ``resources1:VCPU`` names the suffix 1.

    All amounts of a group with a suffix come from one provider. This provider has all required
    traits and no forbidden trait. The amounts of the group without a suffix may come from several
    providers of a host. But the whole amount of a class comes from one provider.

    ``resources`` are pairs of a resource class and an amount, sorted by class, so that a group can
    be hashed.
    """

    resources: tuple[tuple[str, int], ...]
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    #: Whether the group is for a PCI device of an alias. If so, the device must be one of Nova's.
    #: This isn't stored with a shape, because it follows from the extra specs.
    of_nova: bool = False
    #: Whether the flavor's extra specs name the group, so that they can require further traits.
    by_specs: bool = False

    @classmethod
    def of(
        cls,
        resources: Mapping[str, int],
        required: Iterable[str] = (),
        forbidden: Iterable[str] = (),
    ) -> Self:
        """A group of these amounts. Amounts of 0 are left out."""
        amounts = sorted((name, amount) for name, amount in resources.items() if amount)
        return cls(tuple(amounts), frozenset(required), frozenset(forbidden))

    def to_dict(self) -> dict[str, Any]:
        """The group in a form that JSON can hold. Equal groups give equal forms."""
        return {
            "resources": dict(self.resources),
            "required": sorted(self.required),
            "forbidden": sorted(self.forbidden),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The group from which ``to_dict`` made ``values``."""
        return cls.of(values["resources"], values["required"], values["forbidden"])

    def _key(self) -> tuple[Any, ...]:
        traits = sorted(self.required), sorted(self.forbidden)
        return self.resources, *traits, self.of_nova, self.by_specs


@dataclasses.dataclass(frozen=True)
class PlacementRequest:
    """What one instance asks of a host: the groups that Nova sends to Placement for the instance.

    Two requests that ask for the same things are equal. The suffixes of their groups don't matter.
    """

    #: The group without a suffix. Its required traits may be spread over the providers that it
    #: uses. None of these providers may have a forbidden trait.
    unsuffixed: Group
    #: The groups with a suffix, in a fixed order.
    suffixed: tuple[Group, ...] = ()
    #: Whether each group with a suffix needs a provider of its own (``group_policy=isolate``). If
    #: false, several groups may use the same provider.
    isolate: bool = False
    #: Traits that the host's root provider must have.
    root_required: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        unsuffixed: Group,
        suffixed: Sequence[Group] = (),
        isolate: bool = False,
        root_required: Iterable[str] = (),
    ) -> Self:
        """A request of these groups. Groups in ``suffixed`` that have no amounts are left out.

        Placement refuses a group that has a suffix and no amounts.
        """
        groups = sorted((g for g in suffixed if g.resources), key=Group._key)
        alone = isolate and len(groups) > 1
        return cls(unsuffixed, tuple(groups), alone, frozenset(root_required))

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        """Computed once: a choice looks up thousands of requests in dicts."""
        return hash((self.unsuffixed, self.suffixed, self.isolate, self.root_required))

    @classmethod
    def plain(cls, amounts: Mapping[str, int]) -> Self:
        """A request of nothing but amounts. Each amount may come from any provider of the host."""
        return cls(Group.of(amounts))

    @functools.cached_property
    def groups(self) -> tuple[Group, ...]:
        """All groups: first the group without a suffix, and then the groups with a suffix."""
        return self.unsuffixed, *self.suffixed

    @functools.cached_property
    def amounts(self) -> dict[str, int]:
        """The sums of all groups' amounts, by resource class."""
        sums: collections.Counter[str] = collections.Counter()
        for group in self.groups:
            sums.update(dict(group.resources))
        return dict(sums)

    @functools.cached_property
    def required_traits(self) -> frozenset[str]:
        """All traits that the groups require."""
        return frozenset().union(*(group.required for group in self.groups))

    @functools.cached_property
    def is_plain(self) -> bool:
        """Whether the request is nothing but amounts: without suffixed groups and traits."""
        group = self.unsuffixed
        return not (self.suffixed or group.required or group.forbidden or self.root_required)

    def only(self, cls: str) -> "PlacementRequest":
        """The part of the request that is about one resource class, without traits."""
        unsuffixed, *suffixed = (
            Group.of({name: amount for name, amount in group.resources if name == cls})
            for group in self.groups
        )
        return PlacementRequest.of(unsuffixed, suffixed, self.isolate)
