"""What a reservation needs of Placement, in steps that can each be repeated.

Errors are ServiceUnavailable and ServiceRefused.
"""

from typing import Any

from keystoneauth1 import adapter
from oslo_config import cfg

from warre_blazar import exceptions
from warre_blazar.clients import keystone

cfg.CONF.import_group("placement", "blazar.utils.openstack.placement")

# 1.29 is what Blazar itself speaks.
_MICROVERSION = "1.29"
_SERVICE = "Placement"
# Blazar makes one such provider below each host's own when the host is added.
_PROVIDER_PREFIX = "blazar_"
_ATTEMPTS = 8


def _request(method: str, url: str, *, fine: tuple[int, ...] = (), **kwargs: Any) -> Any:
    """One request; ``fine`` are the statuses of 400 and up that are an answer too."""
    conf = cfg.CONF
    client = adapter.Adapter(
        keystone.service_session(),
        service_type="placement",
        interface=conf.placement.endpoint_type,
        region_name=conf.os_region_name,
        default_microversion=_MICROVERSION,
        connect_retries=1,
    )
    with keystone.speaking_of(_SERVICE):
        answer = client.request(
            url, method, raise_exc=False, headers={"Accept": "application/json"}, **kwargs
        )
    if answer.status_code < 400 or answer.status_code in fine:
        return answer
    said = f"{answer.status_code} {answer.text[:200]}"
    if answer.status_code >= 500:
        raise exceptions.ServiceUnavailable(_SERVICE, said)
    raise exceptions.ServiceRefused(_SERVICE, said)


def make_class(name: str) -> None:
    """A resource class; fine if it is there."""
    _request("PUT", f"/resource_classes/{name}")


def remove_class(name: str) -> None:
    """The class with what hosts still offer of it.

    :raises ServiceRefused: while servers use it.
    """
    found = _request("GET", f"/resource_providers?resources={name}:1", fine=(400,))
    # 400: there is no such class, so nothing offers it.
    if found.status_code == 400:
        return
    for provider in found.json()["resource_providers"]:
        url = f"/resource_providers/{provider['uuid']}/inventories/{name}"
        _request("DELETE", url, fine=(404,))
    _request("DELETE", f"/resource_classes/{name}", fine=(404,))


def offer(host: str, cls: str, amount: int) -> None:
    """Let a host offer this much of a reservation's class, one to a server."""
    provider = _provider(host)
    inventory = {
        "total": amount,
        "reserved": 0,
        "min_unit": 1,
        "max_unit": 1,
        "step_size": 1,
        "allocation_ratio": 1.0,
    }
    url = f"/resource_providers/{provider}/inventories"
    for _ in range(_ATTEMPTS):
        now = _request("GET", url).json()
        if now["inventories"].get(cls) == inventory:
            return
        body = {
            "resource_provider_generation": now["resource_provider_generation"],
            "inventories": {**now["inventories"], cls: inventory},
        }
        # 409: somebody else wrote between; their inventories have to be read again.
        if _request("PUT", url, json=body, fine=(409,)).status_code < 400:
            return
    raise exceptions.ServiceUnavailable(_SERVICE, f"provider {provider} changes all the time")


def _provider(host: str) -> str:
    name = _PROVIDER_PREFIX + host
    if found := _find_provider(name):
        return found
    parent = _find_provider(host)
    if parent is None:
        raise exceptions.ServiceRefused(_SERVICE, f"no resource provider is named {host}")
    # 409: somebody else made it meanwhile.
    body = {"name": name, "parent_provider_uuid": parent}
    _request("POST", "/resource_providers", json=body, fine=(409,))
    made = _find_provider(name)
    if made is None:
        raise exceptions.ServiceUnavailable(_SERVICE, f"provider {name} was taken away")
    return made


def _find_provider(name: str) -> str | None:
    found = _request("GET", "/resource_providers", params={"name": name}).json()
    return found["resource_providers"][0]["uuid"] if found["resource_providers"] else None
