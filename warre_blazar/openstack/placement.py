"""Reads and writes the resource classes of reservations and their inventories in Placement.

Every function can be repeated safely. Every function raises ServiceUnavailable if Placement doesn't
answer, and ServiceRefused if Placement refuses a request.
"""

import collections
import contextlib
from collections.abc import Collection
from concurrent import futures
from typing import Any

from keystoneauth1 import adapter
from oslo_config import cfg

from warre_blazar import texts
from warre_blazar.domain.flavors import nova_requests
from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.holders import Taken
from warre_blazar.errors import exceptions
from warre_blazar.openstack import keystone, locks

cfg.CONF.import_group("placement", "blazar.utils.openstack.placement")

# The microversion that Blazar itself uses.
_MICROVERSION = "1.29"
#: The microversion with which Nova 34 asks for allocation candidates. It is the first one that
#: knows ``same_subtree``; all that this package asks for is older.
_CANDIDATES_MICROVERSION = "1.36"
SERVICE = "Placement"
ATTEMPTS = 8
#: Placement can't return some data in a list: for each object, one more request is needed. At most
#: this many of these requests are sent at the same time.
AT_ONCE = 8
#: A lock for each provider. The threads of this process add inventories to a provider one after
#: another.
_locks = locks.Locks()


def send(method: str, url: str, *, fine: tuple[int, ...] = (), **kwargs: Any) -> Any:
    """Send a request to Placement and return the response.

    :param fine: error statuses (400 and above) that are returned instead of raised.
    """
    conf = cfg.CONF
    client = adapter.Adapter(
        keystone.service_session(),
        service_type="placement",
        interface=conf.placement.endpoint_type,
        region_name=conf.os_region_name,
        default_microversion=_MICROVERSION,
        connect_retries=1,
    )
    with keystone.speaking_of(SERVICE):
        answer = client.request(
            url, method, raise_exc=False, headers={"Accept": "application/json"}, **kwargs
        )
    if answer.status_code < 400 or answer.status_code in fine:
        return answer
    said = f"{answer.status_code} {answer.text[:200]}"
    if answer.status_code >= 500:
        raise exceptions.ServiceUnavailable(SERVICE, texts.services.SAID(said=said))
    raise exceptions.ServiceRefused(SERVICE, texts.services.REFUSAL(said=said))


def make_trait(name: str) -> None:
    """Make a trait, unless it exists."""
    send("PUT", f"/traits/{name}")


def make_class(name: str) -> None:
    """Make a resource class, unless it exists.

    Placement gives a new class the highest id plus one. If two requests at the same time get the
    same id, Placement makes the class of only one request. It answers the other request with 204,
    "exists already", although it hasn't made that request's class. So after a 204, this function
    looks the class up, and tries again if the class isn't there.

    :raises ServiceUnavailable: Placement keeps saying that the class exists, although it doesn't
        have the class.
    """
    url = f"/resource_classes/{name}"
    for _ in range(ATTEMPTS):
        if send("PUT", url).status_code == 201:
            return
        if send("GET", url, fine=(404,)).status_code != 404:
            return
    raise exceptions.ServiceUnavailable(SERVICE, texts.services.CLASS_NOT_MADE(name=name))


def remove_class(name: str) -> None:
    """Delete a resource class and all inventories of it.

    :raises ServiceRefused: servers still use the class.
    """
    offering = _offering(name)
    if offering is None:
        return
    for provider in offering:
        if not _delete_inventory(provider, name):
            lower(_host(provider), name, 0)
    send("DELETE", f"/resource_classes/{name}", fine=(404,))


def close_offers(name: str, hosts: Collection[str]) -> None:
    """On all hosts except the given ones, leave no units of a resource class for new servers.

    On these other hosts, the inventory of the class is deleted, or lowered to what servers use.

    :param hosts: the hypervisor hostnames of the hosts that aren't changed.
    """
    for provider in _offering(name) or ():
        host = _host(provider)
        if host not in hosts and not _delete_inventory(provider, name):
            _lower_to_servers(host, name)


def _offering(name: str) -> list[Any] | None:
    """The providers that have at least one free unit of a resource class.

    :returns: None if there is no such class.
    """
    answer = send("GET", f"/resource_providers?resources={name}:1", fine=(400,))
    # 400: there is no such class.
    return None if answer.status_code == 400 else list(answer.json()["resource_providers"])


def _host(provider: Any) -> str:
    """The hypervisor hostname of the host that one of Blazar's providers is for."""
    return str(provider["name"]).removeprefix(backing_names.PROVIDER_PREFIX)


def _delete_inventory(provider: Any, cls: str) -> bool:
    """Delete a provider's inventory of a resource class, if there is one.

    :returns: False if servers use the class, or others have written to the provider meanwhile.
    """
    url = f"/resource_providers/{provider['uuid']}/inventories/{cls}"
    return bool(send("DELETE", url, fine=(404, 409)).status_code != 409)


def _lower_to_servers(host: str, cls: str) -> None:
    """Lower a host's inventory of a resource class to the units that servers use."""
    for _ in range(ATTEMPTS):
        with contextlib.suppress(ClassInUse):
            return lower(host, cls, used(host, cls))
    raise Restless(host)


def offer(host: str, cls: str, amount: int) -> None:
    """Give a host an inventory of a reservation's resource class. Each server takes one unit.

    :param host: the hypervisor hostname.
    :param amount: the number of the reservation's instances on the host.
    """
    provider, inventory = _provider(host), backing_names.inventory(amount)
    # Reservations that start at the same time write to the same provider. This process's threads
    # hold a lock. If they didn't, Placement would accept only one of the writes. All other threads
    # would have to read everything again.
    with _locks.held(f"provider {provider}"):
        if _add_inventory(provider, cls, inventory):
            return
        for _ in range(ATTEMPTS):
            now = _inventories(provider)
            if now["inventories"].get(cls) == inventory:
                return
            if _set_inventories(provider, now, {**now["inventories"], cls: inventory}):
                return
    raise Restless(provider)


def _add_inventory(provider: str, cls: str, inventory: dict[str, Any]) -> bool:
    """Add an inventory of one class to a provider. Return False if there is one already."""
    body = {"resource_class": cls, **inventory}
    answer = send("POST", f"/resource_providers/{provider}/inventories", json=body, fine=(409,))
    return bool(answer.status_code < 400)


def used(host: str, cls: str) -> int:
    """The number of units of a reservation's resource class that the servers on a host use."""
    provider = find_provider(backing_names.PROVIDER_PREFIX + host)
    return int(_usages(provider)["usages"].get(cls, 0)) if provider else 0


def used_by_projects(project_ids: Collection[str]) -> collections.Counter[str]:
    """What the consumers of projects hold together, by resource class. One request per project."""
    with futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return sum(pool.map(_used_by_project, project_ids), collections.Counter())


def _used_by_project(project_id: str) -> collections.Counter[str]:
    answer = send("GET", "/usages", params={"project_id": project_id})
    return collections.Counter(answer.json()["usages"])


def allocations(names: Collection[str]) -> dict[str, Taken]:
    """What is taken of providers, by the provider's name: amounts by class, by consumer.

    A provider that doesn't exist is left out.
    """
    with futures.ThreadPoolExecutor(AT_ONCE) as pool:
        if len(names) > AT_ONCE:
            listed = send("GET", "/resource_providers").json()["resource_providers"]
            ids = {each["name"]: each["uuid"] for each in listed if each["name"] in names}
        else:
            found = zip(names, pool.map(find_provider, names), strict=True)
            ids = {name: provider for name, provider in found if provider}
        return dict(zip(ids, pool.map(_allocated, ids.values()), strict=True))


def _allocated(provider_id: str) -> Taken:
    answer = send("GET", f"/resource_providers/{provider_id}/allocations", fine=(404,))
    # 404: the provider was deleted since it was found.
    found = answer.json()["allocations"] if answer.status_code == 200 else {}
    return {consumer: allocation["resources"] for consumer, allocation in found.items()}


def offers(host: str) -> dict[str, tuple[int, int]]:
    """The inventories that a host has of reservations' resource classes.

    :param host: the hypervisor hostname.
    :returns: by the name of the class, how many instances the host offers, and how many of them
        servers use.
    """
    provider = find_provider(backing_names.PROVIDER_PREFIX + host)
    if provider is None:
        return {}
    used = _usages(provider)["usages"]
    return {
        name: (inventory["total"], used.get(name, 0))
        for name, inventory in _inventories(provider)["inventories"].items()
        if backing_names.of_class(name)
    }


def lower(host: str, cls: str, amount: int) -> None:
    """Lower a host's inventory of a reservation's resource class to ``amount``.

    If ``amount`` is 0, the inventory is deleted. If there is no inventory, none is added: the end
    of the reservation may have deleted it, and the class with it. A server that is booted at the
    same moment is either counted, or finds the lowered inventory.

    :param host: the hypervisor hostname.
    :raises ClassInUse: the servers on the host take more than ``amount``. Nothing is changed.
    """
    provider = find_provider(backing_names.PROVIDER_PREFIX + host)
    if provider is None:
        return
    for _ in range(ATTEMPTS):
        now, usages = _inventories(provider), _usages(provider)
        if usages["usages"].get(cls, 0) > amount:
            raise ClassInUse(SERVICE, texts.services.CLASS_IN_USE(name=cls, host=host))
        if cls not in now["inventories"]:
            return
        others = {name: each for name, each in now["inventories"].items() if name != cls}
        less = {**others, cls: backing_names.inventory(amount)} if amount else others
        # Both answers must be of the same generation of the provider. Placement refuses the write
        # if the generation has changed since.
        same = now["resource_provider_generation"] == usages["resource_provider_generation"]
        if same and _set_inventories(provider, now, less):
            return
    raise Restless(provider)


class ClassInUse(exceptions.ServiceRefused):
    """Servers take more of a reservation's resource class than is to be left."""


class Restless(exceptions.ServiceUnavailable):
    """All attempts to write to a provider were refused, because others wrote to it too."""

    def __init__(self, provider: str) -> None:
        super().__init__(SERVICE, texts.services.RESTLESS(provider=provider))


def _inventories(provider: str) -> Any:
    return send("GET", f"/resource_providers/{provider}/inventories").json()


def _usages(provider: str) -> Any:
    return send("GET", f"/resource_providers/{provider}/usages").json()


def _set_inventories(provider: str, read: Any, inventories: dict[str, Any]) -> bool:
    """Write all inventories of a provider.

    :param read: the inventories as they were read, with the provider's generation.
    :returns: False if somebody else has written to the provider since.
    """
    url = f"/resource_providers/{provider}/inventories"
    generation = read["resource_provider_generation"]
    body = {"resource_provider_generation": generation, "inventories": inventories}
    return bool(send("PUT", url, json=body, fine=(409,)).status_code < 400)


def no_provider(host: str) -> exceptions.HostsGone:
    """The error if Placement has no resource provider for a host."""
    return exceptions.HostsGone(SERVICE, texts.services.NO_PROVIDER(host=host), {host})


def _provider(host: str) -> str:
    """The id of Blazar's provider below a host's own provider. If there is none, it is made.

    :raises HostsGone: Placement doesn't have the host's own provider.
    """
    name = backing_names.PROVIDER_PREFIX + host
    if provider_id := find_provider(name):
        return provider_id
    parent = find_provider(host)
    if parent is None:
        raise no_provider(host)
    # 409: somebody else has made the provider in the meantime.
    body = {"name": name, "parent_provider_uuid": parent}
    send("POST", "/resource_providers", json=body, fine=(409,))
    made = find_provider(name)
    if made is None:
        raise exceptions.ServiceUnavailable(SERVICE, texts.services.PROVIDER_TAKEN(name=name))
    return made


def find_provider(name: str) -> str | None:
    answer = send("GET", "/resource_providers", params={"name": name}).json()
    return answer["resource_providers"][0]["uuid"] if answer["resource_providers"] else None


def has_candidates(request: PlacementRequest) -> bool:
    """Whether an instance could be placed on any host now.

    :raises RequestInvalid: as for ``candidates``.
    """
    return bool(candidates(request, limit="1")["allocation_requests"])


def candidates(request: PlacementRequest, **more: str) -> Any:
    """The ways to place an instance now, and what the providers of the hosts have, from Placement.

    :param more: further parameters of the request.
    :raises RequestInvalid: Placement doesn't have a trait or a resource class of the request, or
        refuses the request for another reason that lies in the request.
    """
    params = [*nova_requests.candidates_query(request), *more.items()]
    answer = send(
        "GET",
        "/allocation_candidates",
        params=params,
        microversion=_CANDIDATES_MICROVERSION,
        fine=(400,),
    )
    if answer.status_code == 400:
        raise exceptions.RequestInvalid(SERVICE, texts.services.REFUSAL(said=_detail(answer)))
    return answer.json()


def _detail(answer: Any) -> str:
    """What Placement says in an answer with an error status, without the general first line."""
    try:
        return str(answer.json()["errors"][0]["detail"].strip().splitlines()[-1]).strip()
    except (ValueError, LookupError, TypeError, AttributeError):
        return str(answer.text[:200])


def classes_of_reservations() -> frozenset[str]:
    """The name of every resource class that belongs to a reservation."""
    classes = send("GET", "/resource_classes").json()["resource_classes"]
    return frozenset(c["name"] for c in classes if backing_names.of_class(c["name"]))


def providers(hypervisors: Collection[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """The inventories of the hosts' own resource providers and of all of Blazar's, by name.

    Placement lists the providers without their inventories. So this sends one more request for each
    provider.

    :param hypervisors: the hypervisor hostnames of the hosts.
    """
    wanted = {name for h in hypervisors for name in (h, backing_names.PROVIDER_PREFIX + h)}
    listed = send("GET", "/resource_providers").json()["resource_providers"]
    # The check of the prefix also finds Blazar's providers of hosts that are no longer in Blazar.
    relevant = [
        provider
        for provider in listed
        if provider["name"] in wanted or provider["name"].startswith(backing_names.PROVIDER_PREFIX)
    ]
    with futures.ThreadPoolExecutor(AT_ONCE) as pool:
        inventories = list(pool.map(_offered, [provider["uuid"] for provider in relevant]))
    return dict(zip((provider["name"] for provider in relevant), inventories, strict=True))


def _offered(provider_id: str) -> dict[str, dict[str, Any]]:
    answer = send("GET", f"/resource_providers/{provider_id}/inventories", fine=(404,))
    # 404: the provider was deleted since it was listed.
    return answer.json()["inventories"] if answer.status_code == 200 else {}
