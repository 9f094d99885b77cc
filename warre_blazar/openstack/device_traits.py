"""Gives traits of reservations to resource providers in Placement, and takes them away.

Every function can be repeated safely, and raises what ``openstack.placement`` raises.
"""

from collections.abc import Callable, Collection, Iterable
from concurrent import futures
from typing import Any

from warre_blazar.domain.running import backing_names
from warre_blazar.openstack import placement


def give(trait: str, provider_ids: Iterable[str]) -> None:
    """Give a trait to providers, and make the trait if it doesn't exist.

    A provider that is gone is left out.
    """
    placement.make_trait(trait)
    for provider_id in provider_ids:
        _change(provider_id, lambda traits: traits | {trait})


def take(trait: str, keep: Collection[str] = ()) -> None:
    """Take a trait from all providers except some.

    :param keep: the ids of the providers that keep the trait.
    """
    for provider_id in carriers(trait):
        if provider_id not in keep:
            _change(provider_id, lambda traits: traits - {trait})


def remove(trait: str) -> None:
    """Take a trait from all providers, and delete it."""
    take(trait)
    placement.send("DELETE", f"/traits/{trait}", fine=(404,))


def carriers(trait: str) -> list[str]:
    """The ids of the providers that have a trait."""
    # 400: there is no such trait.
    answer = placement.send("GET", f"/resource_providers?required={trait}", fine=(400,))
    listed = [] if answer.status_code == 400 else answer.json()["resource_providers"]
    return [provider["uuid"] for provider in listed]


def of_reservations() -> dict[str, frozenset[str]]:
    """The ids of the providers that have the traits of reservations, by the trait's name."""
    listed = placement.send("GET", f"/traits?name=startswith:{backing_names.CLASS_PREFIX}").json()
    names = [name for name in listed["traits"] if backing_names.of_class(name)]
    with futures.ThreadPoolExecutor(placement.AT_ONCE) as pool:
        found = pool.map(carriers, names)
        return {name: frozenset(ids) for name, ids in zip(names, found, strict=True)}


def _change(provider_id: str, change: Callable[[frozenset[str]], frozenset[str]]) -> None:
    """Change the traits of a provider, and leave what others change at the same time."""
    url = f"/resource_providers/{provider_id}/traits"
    for _ in range(placement.ATTEMPTS):
        answer = placement.send("GET", url, fine=(404,))
        if answer.status_code == 404:
            return
        read: Any = answer.json()
        before = frozenset(read["traits"])
        after = change(before)
        if after == before:
            return
        body = {
            "resource_provider_generation": read["resource_provider_generation"],
            "traits": sorted(after),
        }
        if placement.send("PUT", url, json=body, fine=(404, 409)).status_code != 409:
            return
    raise placement.Restless(provider_id)
