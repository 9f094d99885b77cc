"""Parses the option that defines aliases of PCI devices.

An alias is written as in Nova's option ``[pci] alias``, so that operators can copy it.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import jsonschema
import os_resource_classes
import os_traits
from oslo_utils import strutils

from warre_blazar import texts
from warre_blazar.domain.flavors.request_groups import Group

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
