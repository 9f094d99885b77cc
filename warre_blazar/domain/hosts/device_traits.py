"""The traits that keep servers to the devices that are assigned to their reservation.

Nova takes the first candidate that Placement offers, so a server could get a device that is
assigned to another reservation. To prevent that, the providers to which a reservation is assigned
carry a trait of the reservation's own, from its start to its end, and the reservation's Nova flavor
requires the trait. That is possible only for request groups that extra specs name by a suffix, such
as ``resources1:VGPU``. Nova makes the groups of aliases itself, and adds no trait to them. Nova's
compute keeps traits that it didn't set, except on the providers of PCI devices: there it overwrites
all traits again and again (Nova 34, ``nova/compute/pci_placement_translator.py``). So their classes
are left out.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from warre_blazar.domain.flavors import nova_requests
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.demands import PCI_DEVICE
from warre_blazar.domain.hosts.provider_trees import ProviderTree
from warre_blazar.domain.running.backing import NOTHING_TOLD


def told_groups(
    extra_specs: Mapping[str, str], hosts: Iterable[BookableHost]
) -> Mapping[str, Sequence[str]]:
    """The groups of which Nova is told which providers give them.

    They are those that ask for a class that several providers of one of the hosts have, and for no
    class of PCI devices.

    :param hosts: the hosts on which the reservation could be.
    :returns: the resource classes of each group, by the group's suffix.
    """
    amounts, _, _ = nova_requests.groups(extra_specs)
    asked = {suffix: {cls for cls, n in each.items() if n} for suffix, each in amounts.items()}
    if not asked.keys() - {""}:
        return NOTHING_TOLD
    trees = {host.tree for host in hosts}
    contested = frozenset[str]().union(*(tree.contested for tree in trees))
    nodes = [node for tree in trees for node in tree.nodes if PCI_DEVICE in node.traits]
    overwritten = frozenset[str]().union(*(node.stocks for node in nodes))
    return {
        suffix: sorted(classes)
        for suffix, classes in sorted(asked.items())
        if suffix and not contested.isdisjoint(classes) and overwritten.isdisjoint(classes)
    }


def carriers(
    tree: ProviderTree,
    instances: Iterable[Collection[tuple[str, str]]],
    groups: Mapping[str, Collection[str]],
) -> frozenset[str]:
    """The ids of the providers of a host that carry a reservation's trait.

    They are those to which the reservation's instances are assigned. If nothing is assigned of a
    class, because it doesn't matter which provider gives it, they are all providers of the class.

    :param tree: the host's providers.
    :param instances: for each instance, the providers and the classes that it is assigned.
    :param groups: the groups of which Nova is told (``told_groups``).
    """
    found = set[str]()
    for cls in {cls for of_group in groups.values() for cls in of_group}:
        of_class = {provider.id for provider in tree if cls in provider.inventories}
        assigned = [{i for i, c in each if c == cls} & of_class for each in instances]
        found |= set().union(*assigned) if all(assigned) else of_class
    return frozenset(found)
