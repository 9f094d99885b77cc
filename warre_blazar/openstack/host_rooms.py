"""Asks Placement how much room hosts have now, by the question that Nova asks before each boot."""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest
from warre_blazar.domain.hosts.present_room import Remains
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.running import backing_names
from warre_blazar.openstack import placement

#: Placement is asked for at most this many candidates, as many as Nova asks for by default. If one
#: instance can be placed on a host in many ways, other hosts may be left out of the answer.
_MOST_CANDIDATES = 1000


def of_reservation(request: PlacementRequest, cls: str) -> dict[str, Remains]:
    """What is left of the hosts on which a server of a reservation would fit now.

    Only hosts that offer units of the reservation's resource class are looked at. So the answer is
    as large as the reservation, however many hosts there are. A host that is missing needn't be
    full: ``of_host`` tells.

    :param cls: the reservation's resource class.
    :returns: by the id of the host's root provider.
    """
    plain = request.unsuffixed
    resources = {**dict(plain.resources), cls: 1}
    asked = Group.of(resources, plain.required, plain.forbidden)
    return _ask(dataclasses.replace(request, unsuffixed=asked))


def of_host(request: PlacementRequest, root: str) -> Remains:
    """What is left of one host. Nothing is, if no instance fits.

    :param root: the id of the host's root provider.
    """
    return _ask(request, in_tree=root, limit="1").get(root, Remains())


def of_all(request: PlacementRequest) -> dict[str, Remains]:
    """What is left of hosts on which an instance would fit now.

    :returns: by the id of the host's root provider. Hosts may be missing although it would fit.
    """
    return _ask(request)


def _ask(request: PlacementRequest, **more: str) -> dict[str, Remains]:
    answer = placement.candidates(request, **{"limit": str(_MOST_CANDIDATES), **more})
    trees: dict[str, dict[str, Any]] = defaultdict(dict)
    for provider_id, summary in answer["provider_summaries"].items():
        trees[summary["root_provider_uuid"]][provider_id] = summary
    return {root: _remains(root, tree) for root, tree in trees.items()}


def _remains(root: str, tree: Mapping[str, Any]) -> Remains:
    """What is left of a host, by the summaries of its providers."""
    servers = {
        cls: amounts["used"]
        for summary in tree.values()
        for cls, amounts in summary["resources"].items()
        if backing_names.of_class(cls)
    }
    providers = [_provider(each, tree[each]) for each in sorted(tree, key=lambda i: (i != root, i))]
    return Remains(tuple(p for p in providers if p.inventories or p.id == root), servers)


def _provider(provider_id: str, summary: Mapping[str, Any]) -> Provider:
    return Provider(
        id=provider_id,
        name="",
        parent_id=summary["parent_provider_uuid"],
        # The summary doesn't have the constraints of units.
        inventories={
            cls: Inventory(amounts["capacity"] - amounts["used"])
            for cls, amounts in summary["resources"].items()
            if not backing_names.of_class(cls)
        },
        traits=frozenset(summary["traits"]),
    )
