"""Reads the trees of resource providers of hosts in Placement."""

import dataclasses
from collections.abc import Collection, Mapping
from concurrent import futures
from typing import Any

from warre_blazar import texts
from warre_blazar.domain.hosts import provider_trees, providers
from warre_blazar.domain.hosts.provider_trees import ProviderTree
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import exceptions
from warre_blazar.openstack import placement

#: The contents of each provider as they were last read, by the id of the provider.
_read: dict[str, providers.Provider] = {}
#: When a process remembers more providers than this, it forgets all of them.
_MOST_REMEMBERED = 100_000


def trees(hosts: Collection[str]) -> dict[str, ProviderTree | exceptions.WarreError]:
    """The provider tree of each host, or the error if it can't be read, by hypervisor hostname.

    Several hosts are read at a time. If one host can't be read, the others are still read.
    """
    reader = _TreeReader()
    with futures.ThreadPoolExecutor(placement.AT_ONCE) as pool:
        return dict(zip(hosts, pool.map(reader.read, hosts), strict=True))


class _TreeReader:
    """Reads trees until Placement seems to be unavailable.

    If Placement doesn't answer for ``placement.AT_ONCE`` hosts in a row, the reader sends nothing
    more. If it went on, every request could time out, and hundreds of hosts would take hours.
    """

    def __init__(self) -> None:
        self._unanswered = 0

    def read(self, host: str) -> ProviderTree | exceptions.WarreError:
        if self._unanswered >= placement.AT_ONCE:
            return exceptions.ServiceUnavailable(placement.SERVICE, texts.services.OTHER_HOSTS())
        try:
            tree = _tree(host)
        except exceptions.ServiceUnavailable as error:
            self._unanswered += 1
            return error
        except exceptions.WarreError as error:
            return error
        self._unanswered = 0
        return tree


def _tree(host: str) -> ProviderTree:
    """The providers of a host, without the provider that Blazar adds.

    :raises HostsGone: no provider has the host's name.
    """
    for _ in range(placement.ATTEMPTS):
        root = placement.find_provider(host)
        if root is None:
            raise placement.no_provider(host)
        answer = placement.send("GET", "/resource_providers", params={"in_tree": root}).json()
        listed = [
            provider
            for provider in answer["resource_providers"]
            if provider["name"] != backing_names.PROVIDER_PREFIX + host
        ]
        found = [provider for provider in map(_with_contents, listed) if provider is not None]
        if listed and len(found) == len(listed):
            return provider_trees.ordered(found)
    raise placement.Restless(host)


def _with_contents(listed: Mapping[str, Any]) -> providers.Provider | None:
    """A provider with its inventories and traits, both of the same generation.

    :param listed: the provider as Placement lists it.
    :returns: None if the provider was deleted, or was changed while it was read.
    """
    provider_id, generation = listed["uuid"], listed["generation"]
    known = _read.get(provider_id)
    if known is None or known.generation != generation:
        url = f"/resource_providers/{provider_id}"
        inventories = placement.send("GET", f"{url}/inventories", fine=(404,))
        traits = placement.send("GET", f"{url}/traits", fine=(404,))
        if 404 in (inventories.status_code, traits.status_code):
            return None
        known = _parsed(provider_id, inventories.json(), traits.json())
        if known is None:
            return None
        if len(_read) > _MOST_REMEMBERED:
            _read.clear()
        _read[provider_id] = known
    # A new name or parent doesn't change the generation.
    parent = listed["parent_provider_uuid"]
    return dataclasses.replace(known, name=listed["name"], parent_id=parent)


def _parsed(
    provider_id: str, inventories: Mapping[str, Any], traits: Mapping[str, Any]
) -> providers.Provider | None:
    generation = inventories["resource_provider_generation"]
    if traits["resource_provider_generation"] != generation:
        return None
    fields = [field.name for field in dataclasses.fields(providers.Inventory)]
    return providers.Provider(
        id=provider_id,
        name="",
        parent_id=None,
        inventories={
            cls: providers.Inventory(**{name: values[name] for name in fields})
            for cls, values in sorted(inventories["inventories"].items())
        },
        # The traits of reservations come and go, and say nothing about the host.
        traits=frozenset(t for t in traits["traits"] if not backing_names.of_class(t)),
        generation=generation,
    )
