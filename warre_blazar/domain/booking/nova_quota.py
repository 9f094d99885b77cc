"""Whether a project's quota in Nova allows the servers of a reservation."""

from collections.abc import Mapping

from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.texts import Said, warnings

#: Nova's word for "no limit".
_UNLIMITED = -1


def shortage(limits: Mapping[str, int] | None, shape: Shape, count: int) -> list[Said]:
    """The warning that a project can't have all servers of a reservation, if that is so.

    What the project uses already isn't counted, because it may be less when the reservation begins.

    :param limits: the project's limits by Nova's names. None: they aren't known.
    :param count: the number of instances.
    """
    needed = {"instances": count, "cores": count * shape.vcpu, "ram": count * shape.memory_mb}
    known = {name: (limits or {}).get(name, _UNLIMITED) for name in needed}
    lacking = [
        {"resource": name, "limit": known[name], "asked": amount}
        for name, amount in needed.items()
        if _UNLIMITED < known[name] < amount
    ]
    return [warnings.NOVA_QUOTA(resources=lacking)] if lacking else []
