"""A flavor, and what one instance of it takes from a host."""

import dataclasses
import datetime
import functools
import json
import re
from collections.abc import Mapping
from typing import Self

#: ``resources:VCPU``, or ``resources1:VCPU`` in a group of its own (Nova's granular requests).
_RESOURCE_KEY = re.compile(r"^resources(?P<group>[A-Za-z0-9_-]{0,64}):(?P<cls>[A-Z0-9_]+)\Z")
_TRAIT_KEY = re.compile(r"^trait[A-Za-z0-9_-]{0,64}:(?P<trait>[A-Z0-9_]+)\Z")


@dataclasses.dataclass(frozen=True)
class Shape:
    """What a booking is of: it stays as booked when the flavor changes later.

    vcpu counts, memory_mb is in MiB, disk_gb and ephemeral_gb are in GiB.
    """

    vcpu: int
    memory_mb: int
    disk_gb: int
    ephemeral_gb: int
    extra_specs: Mapping[str, str]
    properties: str | None
    availability_zone: str | None

    @classmethod
    @functools.lru_cache(maxsize=4096)
    def from_json(cls, text: str) -> Self:
        """The shape that ``to_json`` wrote. Thousands of bookings share a few shapes."""
        return cls(**json.loads(text))

    def to_json(self) -> str:
        """All of the shape as text, the same for the same shape."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @functools.cached_property
    def resources(self) -> dict[str, int]:
        """What one instance takes from a host, by Placement resource class, as Nova asks for it."""
        asked = {
            "VCPU": self.vcpu,
            "MEMORY_MB": self.memory_mb,
            "DISK_GB": self.disk_gb + self.ephemeral_gb,
        }
        if self.extra_specs.get("hw:cpu_policy") == "dedicated":
            asked["PCPU"] = asked.pop("VCPU")
        grouped: dict[str, int] = {}
        for key, value in self.extra_specs.items():
            match = _RESOURCE_KEY.match(key)
            if match and match["group"]:
                grouped[match["cls"]] = grouped.get(match["cls"], 0) + int(value)
            elif match:
                asked[match["cls"]] = int(value)
        for cls, amount in grouped.items():
            asked[cls] = asked.get(cls, 0) + amount
        return {cls: amount for cls, amount in asked.items() if amount}

    def traits(self) -> tuple[frozenset[str], frozenset[str]]:
        """The traits a host must have, and those it must not have."""
        found: dict[str, set[str]] = {"required": set(), "forbidden": set()}
        for key, value in self.extra_specs.items():
            match = _TRAIT_KEY.match(key)
            if match and value in found:
                found[value].add(match["trait"])
        return frozenset(found["required"]), frozenset(found["forbidden"])


@dataclasses.dataclass(frozen=True)
class Flavor:
    """What an operator offers. Times are naive UTC; None means without bound."""

    id: str
    name: str
    description: str | None
    shape: Shape
    slots: int
    max_length_hours: int
    start: datetime.datetime | None
    end: datetime.datetime | None
    category: str | None
    is_public: bool
    active: bool
    generation: int = 0


def check_extra_specs(extra_specs: Mapping[str, str]) -> None:
    """Refuse specs that would only fail once the booking is made.

    :raises ValueError: with what was expected.
    """
    for key, value in extra_specs.items():
        if key.startswith("resources") and ":" in key:
            if not _RESOURCE_KEY.match(key) or not re.fullmatch(r"[0-9]{1,9}", value):
                raise ValueError(f"{key}: expected resources:CLASS=N with N a whole number")
        elif key.startswith("trait") and ":" in key:
            if not _TRAIT_KEY.match(key) or value not in ("required", "forbidden"):
                raise ValueError(f"{key}: expected trait:NAME with required or forbidden")
        elif not re.fullmatch(r"[A-Za-z0-9_.: -]{1,255}", key):
            raise ValueError(f"{key[:64]!r}: expected letters, digits, spaces and _ - : . in a key")
