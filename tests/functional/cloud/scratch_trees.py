"""Random trees of resource providers, which tests make in Placement.

The trees belong to no compute, so Nova puts no server on them.
"""

import contextlib
import dataclasses
import random
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.functional.cloud.placement_side import Placement

CLASSES = ("CUSTOM_SCRATCH_A", "CUSTOM_SCRATCH_B", "VGPU")
TRAITS = ("CUSTOM_SCRATCH_FAST", "CUSTOM_SCRATCH_OLD", "HW_CPU_HYPERTHREADING")


@dataclasses.dataclass(frozen=True)
class Planned:
    """A provider to make: its inventories, its traits, and the place of its parent in the list.

    The parent of the first provider of a tree, the root, is None.
    """

    parent: int | None
    inventories: Mapping[str, Mapping[str, Any]]
    traits: Sequence[str]


def random_tree(rng: random.Random) -> list[Planned]:
    """A host with three to five parts, such as devices, of which some are parts of others."""
    providers = [Planned(None, _host(rng), _some(rng, TRAITS))]
    # All classes occur in each tree, so that enough of the random flavors fit.
    classes = [*CLASSES, *rng.choices(CLASSES, k=rng.randint(0, 2))]
    for number, cls in enumerate(rng.sample(classes, len(classes)), 1):
        parent = rng.randrange(number) if rng.random() < 0.3 else 0
        parts = {cls, *rng.choices(CLASSES, k=rng.choice((0, 0, 1)))}
        inventories = {cls: _inventory(rng) for cls in sorted(parts)}
        providers.append(Planned(parent, inventories, _some(rng, TRAITS)))
    return providers


def _host(rng: random.Random) -> dict[str, dict[str, Any]]:
    found = {
        "PCPU": {"total": rng.choice((4, 6, 8))},
        "VCPU": {"total": rng.choice((4, 8)), "allocation_ratio": rng.choice((1.0, 1.5, 2.0))},
        "MEMORY_MB": {"total": 4096, "reserved": rng.choice((0, 512))},
        "DISK_GB": {"total": 40, "step_size": rng.choice((1, 1, 2))},
    }
    if rng.random() < 0.4:
        found[rng.choice(CLASSES)] = _inventory(rng)
    return found


def _inventory(rng: random.Random) -> dict[str, Any]:
    total = rng.choice((1, 2, 2, 4))
    return {
        "total": total,
        "reserved": 1 if rng.random() < 0.15 else 0,
        "min_unit": 1,
        "max_unit": rng.randint(1, total),
        "step_size": 2 if rng.random() < 0.1 else 1,
        "allocation_ratio": 2.0 if rng.random() < 0.1 else 1.0,
    }


def _some(rng: random.Random, names: Sequence[str]) -> list[str]:
    return [name for name in names if rng.random() < 0.5]


@contextlib.contextmanager
def made(placement: Placement, trees: Sequence[Sequence[Planned]]) -> Iterator[dict[str, str]]:
    """Make trees in Placement, and delete them after the block.

    Gives the ids of the trees' roots, by name.
    """
    for kind, names in (("resource_classes", CLASSES), ("traits", TRAITS)):
        for name in names:
            if name.startswith("CUSTOM_"):
                placement.asks("PUT", f"/{kind}/{name}")
    ids: dict[str, list[str]] = {}
    try:
        for tree in trees:
            name = f"scratch-{uuid.uuid4()}"
            ids[name] = []
            for number, planned in enumerate(tree):
                part = f"{name}-{number}" if number else name
                ids[name].append(_make(placement, part, planned, ids[name]))
        yield {name: members[0] for name, members in ids.items()}
    finally:
        for members in ids.values():
            for provider in reversed(members):
                placement.asks("DELETE", f"/resource_providers/{provider}")


def _make(placement: Placement, name: str, planned: Planned, before: Sequence[str]) -> str:
    body = {"name": name}
    if planned.parent is not None:
        body["parent_provider_uuid"] = before[planned.parent]
    provider = placement.asks("POST", "/resource_providers", body)
    path = f"/resource_providers/{provider['uuid']}"
    inventories = {"resource_provider_generation": 0, "inventories": planned.inventories}
    now = placement.asks("PUT", f"{path}/inventories", inventories)
    traits = {
        "resource_provider_generation": now["resource_provider_generation"],
        "traits": list(planned.traits),
    }
    placement.asks("PUT", f"{path}/traits", traits)
    return str(provider["uuid"])
