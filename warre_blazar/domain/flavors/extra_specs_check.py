"""Checks for extra specs that Nova or Placement would refuse later, when a server is booted.

The rules are those of Nova 34 (``nova/virt/hardware.py`` and ``nova/api/validation``).
"""

import re
from collections.abc import Mapping

from warre_blazar import texts
from warre_blazar.domain.flavors import nova_requests

#: By key of an extra spec, the only values that Nova accepts.
_CHOICES = {
    "group_policy": ("isolate", "none"),
    "hw:cpu_policy": ("dedicated", "mixed", "shared"),
    "hw:cpu_thread_policy": ("isolate", "prefer", "require"),
    "hw:emulator_threads_policy": ("isolate", "share"),
    "hw:mem_encryption_model": tuple(nova_requests.ENCRYPTION_MODELS),
    "hw:maxphysaddr_mode": ("emulate", "passthrough"),
    "hw:pci_numa_affinity_policy": ("legacy", "preferred", "required", "socket"),
    "hw:tpm_model": tuple(nova_requests.TPM_MODELS),
    "hw:tpm_version": tuple(nova_requests.TPM_VERSIONS),
    "os:secure_boot": ("disabled", "optional", "required"),
}

#: Matches the keys of extra specs that require or forbid the hyperthreading trait. Such an extra
#: spec is another way to express ``hw:cpu_thread_policy``.
_THREADS_KEY = re.compile(rf"^trait([1-9][0-9]*)?:{nova_requests.HYPERTHREADING}\Z")

#: Matches also the keys with the word in the singular, which Nova would ignore.
_RESOURCES_KEY = re.compile(r"resource(s.*|[0-9]*):")


def check(extra_specs: Mapping[str, str]) -> None:
    """Refuse extra specs that Nova or Placement would refuse later, when a booking uses them.

    :raises NotValid: an extra spec is wrong.
    """
    for key, value in extra_specs.items():
        _check_key(key, value)
    _check_groups(extra_specs)
    if (extra_specs.get("hw:tpm_model"), extra_specs.get("hw:tpm_version")) == ("tpm-crb", "1.2"):
        raise texts.NotValid(texts.extra_specs.TPM_VERSION())


def _check_key(key: str, value: str) -> None:
    if _RESOURCES_KEY.match(key):
        if not nova_requests.RESOURCE_KEY.match(key) or not re.fullmatch(r"[0-9]{1,9}", value):
            raise texts.NotValid(texts.extra_specs.RESOURCES(key=key))
    elif key.startswith("trait") and ":" in key:
        if not nova_requests.TRAIT_KEY.match(key) or value not in ("required", "forbidden"):
            raise texts.NotValid(texts.extra_specs.TRAIT(key=key))
    elif not re.fullmatch(r"[A-Za-z0-9_.: -]{1,255}", key):
        raise texts.NotValid(texts.extra_specs.KEY(key=key[:64]))
    elif key in _CHOICES and value not in _CHOICES[key]:
        raise texts.NotValid(texts.extra_specs.ONE_OF(key=key, known=_CHOICES[key]))
    elif ":" not in key and ("," in value or value != value.strip()):
        # The metadata that the filter reads are divided at commas, and stripped of spaces.
        raise texts.NotValid(texts.extra_specs.NO_COMMAS(key=key))


def _check_groups(extra_specs: Mapping[str, str]) -> None:
    amounts, required, forbidden = nova_requests.groups(extra_specs)
    with_amounts = {suffix for suffix, group in amounts.items() if suffix and any(group.values())}
    for suffix in sorted((required.keys() | forbidden.keys()) - with_amounts - {""}):
        raise texts.NotValid(
            texts.extra_specs.BESIDE(key=f"trait{suffix}:...", wanted=f"resources{suffix}:CLASS=N")
        )
    if len(with_amounts) > 1 and "group_policy" not in extra_specs:
        raise texts.NotValid(texts.extra_specs.GROUP_POLICY(groups=sorted(with_amounts)))


def check_cpus(cpus: int, extra_specs: Mapping[str, str]) -> None:
    """Refuse extra specs about CPUs that Nova would refuse for this number of CPUs.

    :param cpus: the flavor's number of virtual CPUs.
    :param extra_specs: extra specs that ``check`` accepts.
    :raises NotValid: an extra spec is wrong.
    """
    policy = extra_specs.get("hw:cpu_policy")
    explicit = _explicit_cpus(extra_specs)
    isolated = extra_specs.get("hw:emulator_threads_policy") == "isolate"
    if policy and any(explicit.values()):
        raise texts.NotValid(texts.extra_specs.NO_CPUS_BESIDE())
    if all(explicit.values()):
        raise texts.NotValid(
            texts.extra_specs.NONE_BESIDE(key="resources:PCPU", unwanted="resources:VCPU")
        )
    if explicit["PCPU"]:
        if explicit["PCPU"] != cpus + isolated:
            raise texts.NotValid(texts.extra_specs.PCPUS(wanted=cpus + isolated, cpus=cpus))
        policy = "dedicated"
    _check_policies(policy, extra_specs)
    _check_masks(cpus, policy, extra_specs)


def _explicit_cpus(extra_specs: Mapping[str, str]) -> dict[str, int]:
    """The sums of the amounts of VCPU and PCPU in all groups."""
    amounts, _, _ = nova_requests.groups(extra_specs)
    return {cls: sum(group.get(cls, 0) for group in amounts.values()) for cls in ("VCPU", "PCPU")}


def _check_policies(policy: str | None, extra_specs: Mapping[str, str]) -> None:
    threads = extra_specs.get("hw:cpu_thread_policy")
    trait = next((key for key in extra_specs if _THREADS_KEY.match(key)), None)
    if threads and trait:
        raise texts.NotValid(
            texts.extra_specs.NONE_BESIDE(
                key="hw:cpu_thread_policy", unwanted=f"trait:{nova_requests.HYPERTHREADING}"
            )
        )
    if policy in ("dedicated", "mixed"):
        return
    if threads or trait:
        name = "hw:cpu_thread_policy" if threads else trait
        raise texts.NotValid(texts.extra_specs.CPU_POLICY(key=name))
    if extra_specs.get("hw:emulator_threads_policy") == "isolate":
        raise texts.NotValid(texts.extra_specs.CPU_POLICY(key="hw:emulator_threads_policy"))
    if nova_requests.is_true(extra_specs.get("hw:cpu_realtime")):
        raise texts.NotValid(texts.extra_specs.CPU_POLICY(key="hw:cpu_realtime"))


def _check_masks(cpus: int, policy: str | None, extra_specs: Mapping[str, str]) -> None:
    dedicated = _mask("hw:cpu_dedicated_mask", cpus, extra_specs)
    if dedicated is not None and policy != "mixed":
        raise texts.NotValid(texts.extra_specs.CPU_POLICY_MIXED(key="hw:cpu_dedicated_mask"))
    if dedicated in (0, cpus):
        raise texts.NotValid(texts.extra_specs.SOME_CPUS(key="hw:cpu_dedicated_mask"))
    realtime = None
    if nova_requests.is_true(extra_specs.get("hw:cpu_realtime")):
        realtime = _mask("hw:cpu_realtime_mask", cpus, extra_specs)
        realtime = cpus if realtime is None else realtime
        if not realtime or (realtime == cpus and "hw:emulator_threads_policy" not in extra_specs):
            raise texts.NotValid(texts.extra_specs.SOME_CPUS(key="hw:cpu_realtime_mask"))
    if policy == "mixed" and (dedicated is None) == (realtime is None):
        raise texts.NotValid(texts.extra_specs.MASK_BESIDE_MIXED())


def _mask(key: str, cpus: int, extra_specs: Mapping[str, str]) -> int | None:
    """The number of the CPUs of a mask; None if there is no mask."""
    text = extra_specs.get(key)
    return nova_requests.count_cpus(text, cpus, key) if text else None
