"""Devices that a flavor's extra specs name, and the request groups that count them.

There are two extra specs that name devices. One has Nova's aliases of PCI devices, the other has
the name of a device profile of Cyborg's. The flavor doesn't say what an alias or a profile stands
for. So this package resolves the flavor's devices: it finds out which resource classes count them.
This happens when the flavor is made, when its extra specs change, and when an operator runs
``warre-blazar-manage flavor recount``.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from warre_blazar import texts
from warre_blazar.domain.flavors.request_groups import Group

#: The extra spec whose value is ``NAME:NUMBER, ...``, with aliases of PCI devices.
ALIAS_KEY = "pci_passthrough:alias"
#: The extra spec whose value is the name of a device profile.
PROFILE_KEY = "accel:device_profile"
KEYS = (ALIAS_KEY, PROFILE_KEY)

#: At sites where Nova doesn't report PCI devices in Placement, operators give hosts capabilities
#: for the devices. The name of such a capability is this prefix, followed by the name of an alias.
#: The capability's value is the number of the alias's devices on the host. The resource class that
#: counts the devices has the same name as the capability.
CAPABILITY_PREFIX = "pci_alias_"

#: The largest number of devices of one instance. A request for more devices would be too long for
#: Placement.
MOST_DEVICES = 64


@dataclasses.dataclass(frozen=True)
class Rules:
    """What the site's configuration says about devices."""

    #: By alias, the request group that asks for one device. Empty if Nova doesn't report PCI
    #: devices in Placement.
    aliases: Mapping[str, Group] = dataclasses.field(default_factory=dict)
    #: Whether Nova uses the PCI devices in Placement when it chooses a host for a server.
    in_placement: bool = False


#: The rules of a site that has configured no devices.
NO_DEVICES = Rules()


def named(extra_specs: Mapping[str, str]) -> dict[str, str]:
    """The extra specs that name devices."""
    return {key: extra_specs[key] for key in KEYS if extra_specs.get(key)}


def to_column(groups: Sequence[Group]) -> list[dict[str, Any]] | None:
    """The groups of a flavor's devices, in the form that the flavor's row has. None: no groups."""
    return [group.to_dict() for group in groups] or None


def of_column(values: Sequence[Mapping[str, Any]] | None) -> tuple[Group, ...]:
    """The groups from which ``to_column`` made ``values``.

    Each device that is named has at least one group. So if a flavor has no groups, its extra specs
    name no devices, or the flavor was imported and its devices were never resolved.
    """
    return tuple(map(Group.from_dict, values or ()))


def alias_requests(text: str) -> list[tuple[str, int]]:
    """Parse the value of ``ALIAS_KEY`` into aliases, each with its number of devices.

    :raises NotValid: the value is malformed.
    """
    requests = []
    for part in text.split(","):
        name, colon, number = part.partition(":")
        if not name.strip() or not colon or not re.fullmatch(r"\s*[0-9]{1,9}\s*", number):
            raise texts.NotValid(texts.extra_specs.ALIASES(key=ALIAS_KEY))
        if not int(number):
            raise texts.NotValid(texts.extra_specs.ALIAS_NUMBER(key=ALIAS_KEY))
        requests.append((name.strip(), int(number)))
    if sum(number for _, number in requests) > MOST_DEVICES:
        raise texts.NotValid(texts.extra_specs.ALIAS_DEVICES(key=ALIAS_KEY, most=MOST_DEVICES))
    return requests


def known_groups(extra_specs: Mapping[str, str], rules: Rules) -> tuple[Group, ...]:
    """The request groups of a Nova flavor's PCI devices, as far as they follow from ``rules``.

    This function is for Nova flavors that this package hasn't made. Such a Nova flavor can't be
    refused, so its unknown devices are ignored.
    """
    groups: list[Group] = []
    for name, number in _known_requests(extra_specs):
        if not rules.in_placement:
            groups += [group_of_capability(name)] * number
        elif name in rules.aliases:
            groups += [rules.aliases[name]] * number
    return tuple(groups)


def _known_requests(extra_specs: Mapping[str, str]) -> list[tuple[str, int]]:
    """The aliases in extra specs, with their numbers of devices. A malformed value has none."""
    try:
        return alias_requests(extra_specs.get(ALIAS_KEY, ""))
    except texts.NotValid:
        return []


def number_of_aliased(extra_specs: Mapping[str, str]) -> int:
    """How many devices the aliases in extra specs stand for."""
    return sum(number for _, number in _known_requests(extra_specs))


def capability(alias: str) -> str:
    """The name of the host capability and of the resource class that count an alias's devices."""
    return CAPABILITY_PREFIX + alias


def group_of_capability(alias: str) -> Group:
    """The request group for one device of an alias, if a host capability counts the devices."""
    return Group.of({capability(alias): 1})


_RESOURCES = re.compile(r"resources[A-Za-z0-9_-]{0,64}:(?P<name>[A-Z0-9_]{1,255})")
_TRAIT = re.compile(r"trait[A-Za-z0-9_-]{0,64}:(?P<name>[A-Z0-9_]{1,255})")
_AMOUNT = re.compile(r"[0-9]{1,9}")


def profile_groups(groups: Any) -> tuple[Group, ...]:
    """The request groups of a device profile.

    :param groups: the profile's ``groups`` as Cyborg's API has them.
    :raises NotValid: the groups are malformed.
    """
    if not isinstance(groups, list) or not groups:
        raise texts.NotValid(texts.extra_specs.PROFILE_GROUPS())
    if len(groups) > MOST_DEVICES:
        raise texts.NotValid(texts.extra_specs.PROFILE_FEWER(most=MOST_DEVICES))
    return tuple(map(_profile_group, groups))


def _profile_group(group: Any) -> Group:
    if not isinstance(group, dict):
        raise texts.NotValid(texts.extra_specs.PROFILE_OBJECT())
    amounts: dict[str, int] = {}
    traits: dict[str, list[str]] = {"required": [], "forbidden": []}
    for key, value in group.items():
        prefix = key.partition(":")[0]
        if prefix.startswith("resources"):
            name, amount = _RESOURCES.fullmatch(key), str(value)
            if not name or not _AMOUNT.fullmatch(amount):
                raise texts.NotValid(texts.extra_specs.PROFILE_RESOURCES(key=key[:64]))
            amounts[name["name"]] = int(amount)
        elif prefix.startswith("trait"):
            name = _TRAIT.fullmatch(key)
            if not name or value not in ("required", "forbidden"):
                raise texts.NotValid(texts.extra_specs.PROFILE_TRAIT(key=key[:64]))
            traits[value].append(name["name"])
        # Other keys, such as accel:bitstream_id, don't concern Placement.
    if not any(amounts.values()):
        raise texts.NotValid(texts.extra_specs.PROFILE_CLASS())
    return Group.of(amounts, traits["required"], traits["forbidden"])


def fits(groups: Sequence[Group]) -> bool:
    """Whether the groups are few and short enough to be kept with each reservation."""
    return len(groups) <= MOST_DEVICES and len(str([g.to_dict() for g in groups])) <= 32 * 1024
