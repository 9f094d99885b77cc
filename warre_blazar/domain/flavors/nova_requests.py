"""Derives what Nova asks Placement for from a flavor's sizes and extra specs.

The rules are those of Nova 34 (``nova/scheduler/utils.py``, ``nova/scheduler/request_filter.py``
and ``nova/virt/hardware.py``). The properties of the server's image aren't known when a reservation
is made, so they are left out.
"""

import collections
import dataclasses
import re
from collections.abc import Mapping, Sequence

from warre_blazar import texts
from warre_blazar.domain.flavors import devices
from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest

#: A number or a range. A ``^`` in front takes it out of the mask.
_PART = re.compile(
    r"\s*(?P<without>\^?)\s*(?P<first>[0-9]{1,9})\s*(-\s*(?P<last>[0-9]{1,9})\s*)?\Z"
)


def count_cpus(mask: str, cpus: int, key: str = "") -> int:
    """The number of the CPUs that a mask stands for. An instance's first CPU has the number 0.

    A mask that begins with ``^`` stands for all of the instance's CPUs except those that it names.
    No set of all CPUs is made, because a flavor may have a billion of them.

    :param cpus: how many CPUs the instance has.
    :param key: the key of the extra spec, for the error.
    :raises NotValid: the mask can't be read, or names a CPU that the instance doesn't have.
    """
    within: set[int] = set()
    without: set[int] = set()
    for text in filter(str.strip, mask.split(",")):
        part = _PART.match(text)
        first = int(part["first"]) if part else 0
        last = int(part["last"] or first) if part else 0
        # Because of the bound 9999, a mistyped number can't make a set of a billion numbers.
        if part is None or first > last or last > 9999:
            raise texts.NotValid(texts.extra_specs.CPU_MASK(key=key))
        (without if part["without"] else within).update(range(first, last + 1))
    named = within - without
    if any(cpu >= cpus for cpu in named):
        raise texts.NotValid(texts.extra_specs.CPUS_BELOW(key=key, cpus=cpus))
    if mask.strip().startswith("^"):
        return cpus - sum(cpu < cpus for cpu in without)
    return len(named)


#: Matches keys such as ``resources:VCPU``, and ``resources1:VCPU`` for a group with the suffix 1.
RESOURCE_KEY = re.compile(r"^resources(?P<group>[A-Za-z0-9_-]{0,64}):(?P<cls>[A-Z0-9_]+)\Z")
TRAIT_KEY = re.compile(r"^trait(?P<group>[A-Za-z0-9_-]{0,64}):(?P<trait>[A-Z0-9_]+)\Z")
#: Matches the names of resource classes in Placement. A resource class whose name doesn't match
#: isn't in Placement: it counts devices by a host capability.
_PLACEMENT_CLASS = re.compile(r"[A-Z0-9_]+\Z")
_TRUE = {"1", "t", "true", "on", "y", "yes"}
HYPERTHREADING = "HW_CPU_HYPERTHREADING"
#: The trait of hosts whose compute service is disabled. Nova never asks for such hosts.
_DISABLED = "COMPUTE_STATUS_DISABLED"

#: The traits that the group without a suffix requires, by key and value of an extra spec.
_TRAITS = {
    ("hw:cpu_thread_policy", "require"): HYPERTHREADING,
    ("hw:pci_numa_affinity_policy", "socket"): "COMPUTE_SOCKET_PCI_NUMA_AFFINITY",
    ("hw:maxphysaddr_mode", "passthrough"): "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
    ("hw:maxphysaddr_mode", "emulate"): "COMPUTE_ADDRESS_SPACE_EMULATED",
    ("os:secure_boot", "required"): "COMPUTE_SECURITY_UEFI_SECURE_BOOT",
}
#: The traits that the root provider must have, by key and value of an extra spec.
_ROOT_TRAITS = {
    ("hw:tpm_secret_security", "deployment"): "COMPUTE_SECURITY_TPM_SECRET_SECURITY_DEPLOYMENT",
    ("hw:tpm_secret_security", "host"): "COMPUTE_SECURITY_TPM_SECRET_SECURITY_HOST",
    ("hw:tpm_secret_security", "user"): "COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER",
    ("hw:sound_model", "virtio"): "COMPUTE_SOUND_MODEL_VIRTIO",
}
#: The traits that the root provider must have if an extra spec is true, by key of the extra spec.
_ROOT_SWITCHES = {
    "hw:virtio_packed_ring": "COMPUTE_NET_VIRTIO_PACKED",
    "hw:ephemeral_encryption": "COMPUTE_EPHEMERAL_ENCRYPTION",
}
TPM_VERSIONS = {"1.2": "COMPUTE_SECURITY_TPM_1_2", "2.0": "COMPUTE_SECURITY_TPM_2_0"}
TPM_MODELS = {"tpm-tis": "COMPUTE_SECURITY_TPM_TIS", "tpm-crb": "COMPUTE_SECURITY_TPM_CRB"}
ENCRYPTION_MODELS = {
    "amd-sev": "HW_CPU_X86_AMD_SEV",
    "amd-sev-es": "HW_CPU_X86_AMD_SEV_ES",
    "amd-sev-snp": "HW_CPU_X86_AMD_SEV_SNP",
    "intel-tdx": "HW_CPU_X86_INTEL_TDX",
}


def request(
    sizes: Mapping[str, int], extra_specs: Mapping[str, str], device_groups: Sequence[Group] = ()
) -> PlacementRequest:
    """What one instance asks of a host.

    :param sizes: the flavor's sizes, as amounts of VCPU, MEMORY_MB and DISK_GB.
    :param extra_specs: the flavor's extra specs. A CPU mask that Nova would refuse counts as all
        CPUs.
    :param device_groups: the request groups of the devices that the extra specs name, one group for
        each device. The devices of aliases come first.
    """
    amounts, required, forbidden = groups(extra_specs)
    unsuffixed = amounts[""]
    unsuffixed |= _cpus(sizes["VCPU"], extra_specs)
    device_groups = _marked(extra_specs, device_groups)
    in_placement = [
        g for g in device_groups if all(_PLACEMENT_CLASS.match(c) for c, _ in g.resources)
    ]
    named = {cls for group in amounts.values() for cls in group}
    named |= {cls for group in in_placement for cls, _ in group.resources}
    for cls, amount in sizes.items():
        # If any group names a class, even with the amount 0, the flavor's size isn't used for this
        # class. The number of virtual CPUs isn't used if a group names VCPU or PCPU.
        if not named & ({"VCPU", "PCPU"} if cls == "VCPU" else {cls}):
            unsuffixed[cls] = amount
    if is_true(extra_specs.get("hw:mem_encryption")):
        unsuffixed["MEM_ENCRYPTION_CONTEXT"] = 1
    unsuffixed |= _persistent_memory(extra_specs.get("hw:pmem", ""))
    for group in device_groups:
        if group not in in_placement:
            # A host capability counts the group's devices. Nova doesn't ask Placement for them, so
            # neither traits nor group_policy apply to them.
            for cls, amount in group.resources:
                unsuffixed[cls] = unsuffixed.get(cls, 0) + amount
    required[""] |= _implied_traits(extra_specs)
    if extra_specs.get("hw:cpu_thread_policy") == "isolate":
        forbidden[""].add(HYPERTHREADING)
    suffixes = sorted(amounts.keys() - {""})
    suffixed = [
        dataclasses.replace(Group.of(amounts[s], required[s], forbidden[s]), by_specs=True)
        for s in suffixes
    ]
    return PlacementRequest.of(
        Group.of(unsuffixed, required[""], forbidden[""]),
        [*suffixed, *in_placement],
        isolate=extra_specs.get("group_policy") == "isolate",
        root_required=_root_traits(extra_specs),
    )


def known_to_placement(request: PlacementRequest) -> PlacementRequest:
    """The part of a request that Placement knows: without devices that a capability counts."""
    if all(map(_PLACEMENT_CLASS.match, request.amounts)):
        return request
    unsuffixed, *suffixed = (
        dataclasses.replace(
            group, resources=tuple(r for r in group.resources if _PLACEMENT_CLASS.match(r[0]))
        )
        for group in request.groups
    )
    return PlacementRequest.of(unsuffixed, suffixed, request.isolate, request.root_required)


def candidates_query(request: PlacementRequest) -> list[tuple[str, str]]:
    """The parameters with which Nova asks Placement for the hosts of an instance.

    What doesn't depend on the flavor is left out, such as the aggregates of the project. So are the
    devices that a host capability counts, because Placement doesn't know them.
    """
    query = [
        parameter
        for number, group in enumerate(request.groups)
        for parameter in _group_query(group, str(number) if number else "")
    ]
    if len(request.suffixed) > 1:
        query.append(("group_policy", "isolate" if request.isolate else "none"))
    root = [*sorted(request.root_required), f"!{_DISABLED}"]
    return [*query, ("root_required", ",".join(root))]


def _group_query(group: Group, suffix: str) -> list[tuple[str, str]]:
    amounts = [f"{cls}:{n}" for cls, n in group.resources if _PLACEMENT_CLASS.match(cls)]
    traits = [*sorted(group.required), *(f"!{trait}" for trait in sorted(group.forbidden))]
    parameters = [("resources", ",".join(amounts)), ("required", ",".join(traits))]
    return [(name + suffix, value) for name, value in parameters if value]


def _marked(extra_specs: Mapping[str, str], groups: Sequence[Group]) -> list[Group]:
    """The request groups of devices, of which those of PCI devices are marked (``Group.of_nova``).

    :param groups: the groups, those of aliases first.
    """
    number = devices.number_of_aliased(extra_specs)
    return [
        dataclasses.replace(group, of_nova=position < number)
        for position, group in enumerate(groups)
    ]


def is_true(value: str | None) -> bool:
    """Whether Nova reads the value of an extra spec as true."""
    return value is not None and value.strip().lower() in _TRUE


#: The prefix of an extra spec's key that Nova compares with the metadata of aggregates.
_OF_AGGREGATES = "aggregate_instance_extra_specs:"
#: Keys without a colon that say what Nova does with a server, and not where it is.
NOT_OF_AGGREGATES = ("group_policy", "hide_hypervisor_id")


def aggregate_specs(extra_specs: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The keys and values that extra specs want in the metadata of a host's aggregates.

    Nova's AggregateInstanceExtraSpecsFilter compares each extra spec whose key has no colon, or
    begins with ``aggregate_instance_extra_specs:``. Two keys without a colon are left out, because
    the aggregate of a reservation has them (``backing_names.aggregate_metadata``).
    """
    return tuple(
        (key.removeprefix(_OF_AGGREGATES), value)
        for key, value in extra_specs.items()
        if key.startswith(_OF_AGGREGATES) or (":" not in key and key not in NOT_OF_AGGREGATES)
    )


_Amounts = dict[str, dict[str, int]]
_Traits = collections.defaultdict[str, set[str]]


def groups(extra_specs: Mapping[str, str]) -> tuple[_Amounts, _Traits, _Traits]:
    """The amounts, required traits and forbidden traits that extra specs name, by suffix."""
    amounts: _Amounts = {"": {}}
    traits: dict[str, _Traits] = {
        "required": collections.defaultdict(set),
        "forbidden": collections.defaultdict(set),
    }
    for key, value in extra_specs.items():
        resource = RESOURCE_KEY.match(key)
        if resource:
            amounts.setdefault(resource["group"], {})[resource["cls"]] = int(value)
        trait = TRAIT_KEY.match(key)
        if trait and value in traits:
            traits[value][trait["group"]].add(trait["trait"])
    return amounts, traits["required"], traits["forbidden"]


def _cpus(cpus: int, extra_specs: Mapping[str, str]) -> dict[str, int]:
    """The amounts of VCPU and PCPU, if ``hw:cpu_policy`` asks for dedicated CPUs. If not, empty."""
    policy = extra_specs.get("hw:cpu_policy")
    if policy not in ("dedicated", "mixed"):
        return {}
    amounts = {}
    dedicated = cpus
    if policy == "mixed":
        dedicated = _dedicated(cpus, extra_specs)
        amounts["VCPU"] = cpus - dedicated
    emulator = extra_specs.get("hw:emulator_threads_policy") == "isolate"
    return amounts | {"PCPU": dedicated + emulator}


def _dedicated(cpus: int, extra_specs: Mapping[str, str]) -> int:
    """How many CPUs are dedicated of an instance that has both dedicated and shared CPUs."""
    mask = extra_specs.get("hw:cpu_dedicated_mask")
    if not mask and is_true(extra_specs.get("hw:cpu_realtime")):
        mask = extra_specs.get("hw:cpu_realtime_mask")
    try:
        return count_cpus(mask or "", cpus) or cpus
    except ValueError:
        return cpus


def _persistent_memory(labels: str) -> dict[str, int]:
    """By resource class, the number of namespaces of persistent memory that ``hw:pmem`` names."""
    names = [label.strip() for label in labels.split(",") if label.strip()]
    return collections.Counter(
        "CUSTOM_PMEM_NAMESPACE_" + re.sub("[^0-9A-Za-z]+", "_", name).upper() for name in names
    )


def _implied_traits(extra_specs: Mapping[str, str]) -> set[str]:
    """The required traits that extra specs such as ``hw:tpm_version`` imply.

    The group without a suffix requires these traits.
    """
    traits = {trait for (key, value), trait in _TRAITS.items() if extra_specs.get(key) == value}
    if is_true(extra_specs.get("hw:mem_encryption")):
        model = extra_specs.get("hw:mem_encryption_model", "amd-sev")
        traits.add(ENCRYPTION_MODELS.get(model, "HW_CPU_X86_AMD_SEV"))
    version = extra_specs.get("hw:tpm_version")
    if version in TPM_VERSIONS:
        model = extra_specs.get("hw:tpm_model", "tpm-tis")
        traits |= {TPM_VERSIONS[version], TPM_MODELS.get(model, "COMPUTE_SECURITY_TPM_TIS")}
    return traits


def _root_traits(extra_specs: Mapping[str, str]) -> set[str]:
    """The traits that extra specs require of the root provider."""
    traits = {t for (key, value), t in _ROOT_TRAITS.items() if extra_specs.get(key) == value}
    traits |= {trait for key, trait in _ROOT_SWITCHES.items() if is_true(extra_specs.get(key))}
    encryption = extra_specs.get("hw:ephemeral_encryption_format")
    if encryption and is_true(extra_specs.get("hw:ephemeral_encryption")):
        traits.add(f"COMPUTE_EPHEMERAL_ENCRYPTION_{encryption.upper()}")
    if extra_specs.get("accel:device_profile"):
        traits.add("COMPUTE_ACCELERATORS")
    return traits
