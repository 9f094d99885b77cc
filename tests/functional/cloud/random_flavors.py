"""Random flavors that ask for parts of hosts in every way that Nova knows."""

import json
import random
from typing import Any

from tests.functional.cloud.scratch_trees import CLASSES, TRAITS

#: Lines of ``[pci] alias``.
ALIASES = [
    json.dumps({"name": "plain", "resource_class": "scratch_a", "device_type": "type-PCI"}),
    json.dumps({"name": "fast", "resource_class": "CUSTOM_SCRATCH_B", "traits": TRAITS[0]}),
]


def random_flavor(rng: random.Random) -> dict[str, Any]:
    """A flavor in the words of Nova's flavor object."""
    vcpus = rng.randint(1, 4)
    ungrouped, grouped = _ungrouped(rng), {**_groups(rng), **_devices(rng)}
    if ungrouped and grouped:
        # Without this policy, Placement 16 adds up wrongly what the group without a suffix and
        # another group ask of the same class, and proposes allocations of more than was asked.
        grouped["group_policy"] = "none"
    return {
        "vcpus": vcpus,
        "memory_mb": rng.choice((512, 1024, 1536)),
        "root_gb": rng.choice((0, 2, 4)),
        "ephemeral_gb": rng.choice((0, 0, 2)),
        "extra_specs": {**_processors(rng, vcpus), **ungrouped, **grouped},
    }


def _processors(rng: random.Random, vcpus: int) -> dict[str, str]:
    kind = rng.choice(("any", "any", "any", "dedicated", "isolate", "mixed", "explicit"))
    if kind == "explicit":
        return {"resources:VCPU": str(rng.randint(1, 4))}
    if kind == "mixed" and vcpus > 1:
        return {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": f"0-{rng.randint(0, vcpus - 2)}"}
    if kind in ("dedicated", "isolate"):
        found = {"hw:cpu_policy": "dedicated"}
        if kind == "isolate":
            found["hw:emulator_threads_policy"] = "isolate"
        if rng.random() < 0.3:
            found["hw:cpu_thread_policy"] = rng.choice(("isolate", "require", "prefer"))
        return found
    return {}


def _ungrouped(rng: random.Random) -> dict[str, str]:
    found = {}
    if rng.random() < 0.3:
        for cls in rng.sample(CLASSES, rng.choice((1, 1, 2))):
            found[f"resources:{cls}"] = rng.choice(("1", "1", "2"))
    if rng.random() < 0.2:
        found[f"trait:{rng.choice(TRAITS)}"] = rng.choice(("required", "forbidden"))
    return found


def _groups(rng: random.Random) -> dict[str, str]:
    found = {}
    suffixes = rng.sample(("1", "2", "_gpu"), rng.choice((0, 0, 1, 1, 2, 2)))
    for suffix in suffixes:
        for cls in rng.sample(CLASSES, rng.choice((1, 1, 1, 2))):
            found[f"resources{suffix}:{cls}"] = rng.choice(("1", "1", "2"))
        if rng.random() < 0.3:
            found[f"trait{suffix}:{rng.choice(TRAITS)}"] = rng.choice(("required", "forbidden"))
    if len(suffixes) > 1:
        # Placement refuses several groups without a policy.
        found["group_policy"] = rng.choice(("none", "isolate"))
    return found


def _devices(rng: random.Random) -> dict[str, str]:
    wanted = rng.choice(("", "", "", "plain:1", "plain:2", "fast:1", "plain:1,fast:1"))
    return {"pci_passthrough:alias": wanted} if wanted else {}
