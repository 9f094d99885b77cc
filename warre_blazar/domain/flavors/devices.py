"""Devices that extra specs and options name, and the request groups that count them.

There are two extra specs that name devices. One has Nova's aliases of PCI devices, the other has
the name of a device profile of Cyborg's. The flavor doesn't say what an alias or a profile stands
for. So this package resolves the flavor's devices: it finds out which resource classes count them.
This happens when the flavor is made, when its extra specs change, and when an operator runs
``warre-blazar-manage flavor recount``.

An alias is written as in Nova's option ``[pci] alias``, so that operators can copy it.
"""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema
import os_resource_classes
import os_traits
from oslo_utils import strutils

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


_ID = {"type": "string", "pattern": r"^[0-9a-fA-F]{4}\Z"}
_TEXT = {"type": "string", "maxLength": 4096}
#: A resource class or a trait that Placement accepts.
_LEGAL = re.compile(r"[A-Z0-9_]{1,255}")
#: A line of Nova's option ``[pci] alias``.
_ALIAS = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 256, "pattern": r"\S"},
        "capability_type": {"enum": ["pci"]},
        "product_id": _ID,
        "vendor_id": _ID,
        "device_type": {"enum": ["type-PCI", "type-PF", "type-VF"]},
        "numa_policy": {"enum": ["required", "legacy", "preferred", "socket"]},
        "resource_class": {**_TEXT, "minLength": 1},
        "traits": _TEXT,
        "live_migratable": {"type": "string"},
    },
}


def aliases(lines: Sequence[str], *, in_placement: bool) -> dict[str, Group]:
    """By alias, the request group that asks for one device. Empty if ``in_placement`` is false.

    :param lines: the values of the option, each in the form of Nova's ``[pci] alias``.
    :param in_placement: whether Nova counts PCI devices in Placement.
    :raises NotValid: a line is malformed, or Nova would refuse the lines.
    """
    specs: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        spec = _document(line)
        specs.setdefault(spec["name"].strip(), []).append(spec)
    for name, alternatives in specs.items():
        _check_alternatives(name, alternatives, in_placement=in_placement)
    return {name: _group(name, specs[name][0]) for name in specs} if in_placement else {}


def _document(line: str) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        raise texts.NotValid(texts.extra_specs.ALIAS_JSON(line=line[:64])) from None
    error = next(jsonschema.Draft202012Validator(_ALIAS).iter_errors(document), None)
    if error is not None:
        where = "".join(f"{part}: " for part in error.absolute_path)
        said = f"{where}{error.message[:200]}"
        raise texts.NotValid(texts.extra_specs.ALIAS_SCHEMA(line=line[:64], said=said))
    return dict(document)


def _check_alternatives(
    name: str, alternatives: Sequence[dict[str, Any]], *, in_placement: bool
) -> None:
    """Refuse several lines for one alias in the cases in which Nova refuses them.

    For Nova, several lines for one alias are alternatives. But a request to Placement can't ask for
    one of two alternative resource classes.
    """
    if in_placement and len(alternatives) > 1:
        raise texts.NotValid(texts.extra_specs.ALIAS_ONE_LINE(alias=name))
    for key, usual in (("device_type", None), ("numa_policy", "legacy")):
        if len({spec.get(key, usual) for spec in alternatives}) > 1:
            raise texts.NotValid(texts.extra_specs.ALIAS_SAME(alias=name, key=key))


def _group(name: str, spec: dict[str, Any]) -> Group:
    """The request group for one device of an alias. Names are normalized as in Nova."""
    if "resource_class" in spec:
        cls = _class(spec["resource_class"])
    elif "vendor_id" in spec and "product_id" in spec:
        cls = f"CUSTOM_PCI_{spec['vendor_id']}_{spec['product_id']}".upper()
    else:
        raise texts.NotValid(texts.extra_specs.ALIAS_CLASS(alias=name))
    traits = spec.get("traits")
    required = [_trait(part) for part in traits.split(",")] if traits else []
    forbidden: list[str] = []
    if "live_migratable" in spec:
        # Nova doesn't ask Placement for the trait HW_PCI_LIVE_MIGRATABLE. But of the devices that
        # Placement offers, Nova takes only those that match ``live_migratable``.
        try:
            migratable = strutils.bool_from_string(spec["live_migratable"], strict=True)
        except ValueError as error:
            raise texts.NotValid(
                texts.extra_specs.ALIAS_BOOLEAN(alias=name, said=str(error))
            ) from None
        (required if migratable else forbidden).append(os_traits.HW_PCI_LIVE_MIGRATABLE)
    for each in (cls, *required):
        if not _LEGAL.fullmatch(each):
            raise texts.NotValid(texts.extra_specs.ALIAS_NAME(alias=name, name=each[:64]))
    return Group.of({cls: 1}, required, forbidden)


def _class(name: str) -> str:
    """The resource class that Nova makes of a name: a standard class, or a custom one."""
    upper = name.upper()
    if upper in os_resource_classes.STANDARDS or os_resource_classes.is_custom(upper):
        return upper
    return str(os_resource_classes.normalize_name(upper))


def _trait(name: str) -> str:
    """The trait that Nova makes of a name: a standard trait, or a custom one."""
    if name in os_traits.get_traits():
        return name
    upper = name.upper()
    return upper if os_traits.is_custom(upper) else str(os_traits.normalize_name(upper))
