"""The mark in Placement: a number that the database must not be behind (``domain.running.mark``).

It is the total of an inventory of a resource provider without a host. The whole inventory is
reserved, so Placement offers it to nobody. Placement refuses a write by somebody who has read the
provider before another one has written to it.
"""

import dataclasses

from warre_blazar.openstack import placement

#: The names of the provider and of its resource class.
PROVIDER = "warre-blazar-mark"
CLASS = "CUSTOM_WARRE_BLAZAR_MARK"


@dataclasses.dataclass(frozen=True)
class PlacementMark:
    """What Placement has."""

    #: The id of the provider, and its generation. None: there is no provider.
    provider: str | None
    generation: int
    #: 0 if there is none.
    number: int


_NONE = PlacementMark(None, 0, 0)


def read() -> PlacementMark:
    """The mark in Placement.

    :raises ServiceUnavailable, ServiceRefused:
    """
    provider = placement.find_provider(PROVIDER)
    if provider is None:
        return _NONE
    answer = placement.send("GET", _inventories(provider), fine=(404,))
    if answer.status_code == 404:
        return _NONE
    found = answer.json()
    number = found["inventories"].get(CLASS, {}).get("total", 0)
    return PlacementMark(provider, found["resource_provider_generation"], number)


def write(before: PlacementMark, number: int) -> bool:
    """Write the number, and make the provider if there is none.

    :param before: as ``read`` has returned it.
    :returns: False: somebody else has written to the provider since.
    :raises ServiceUnavailable, ServiceRefused:
    """
    provider = before.provider
    if provider is None:
        placement.make_class(CLASS)
        placement.send("POST", "/resource_providers", json={"name": PROVIDER}, fine=(409,))
        provider = placement.find_provider(PROVIDER)
    inventory = {CLASS: {"total": number, "reserved": number}}
    body = {"resource_provider_generation": before.generation, "inventories": inventory}
    answer = placement.send("PUT", _inventories(provider), json=body, fine=(404, 409))
    return bool(answer.status_code < 400)


def remove() -> None:
    """Remove the mark, so that it says nothing about a database that is made later.

    :raises ServiceUnavailable, ServiceRefused:
    """
    if provider := placement.find_provider(PROVIDER):
        placement.send("DELETE", f"/resource_providers/{provider}", fine=(404,))
    placement.send("DELETE", f"/resource_classes/{CLASS}", fine=(404,))


def _inventories(provider: str | None) -> str:
    return f"/resource_providers/{provider}/inventories"
