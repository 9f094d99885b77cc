"""What Nova asks Placement for when it boots a server, by the extra specs of its flavor."""

import dataclasses

import pytest

from tests.unit.domain.shapes import shape
from warre_blazar.domain.flavors.request_groups import Group, PlacementRequest

PLAIN = {"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 30}
NO_CPUS = {"MEMORY_MB": 8192, "DISK_GB": 30}
MIXED = {"hw:cpu_policy": "mixed"}


def asked(specs, **values):
    return shape(extra_specs=specs, **values).request


@pytest.mark.parametrize(
    ("specs", "amounts"),
    [
        pytest.param({}, PLAIN, id="sizes"),
        pytest.param({"resources:VGPU": "1"}, {**PLAIN, "VGPU": 1}, id="another class"),
        pytest.param({"resources:DISK_GB": "0"}, {"VCPU": 4, "MEMORY_MB": 8192}, id="no disk"),
        pytest.param({"resources:VCPU": "0"}, NO_CPUS, id="no CPUs"),
        pytest.param(
            {"resources:PCPU": "4"}, {**NO_CPUS, "PCPU": 4}, id="PCPU stands for the size"
        ),
        pytest.param({"hw:cpu_policy": "shared"}, PLAIN, id="shared"),
        pytest.param({"hw:cpu_policy": "dedicated"}, {**NO_CPUS, "PCPU": 4}, id="dedicated"),
        pytest.param(
            {"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"},
            {**NO_CPUS, "PCPU": 5},
            id="dedicated, and one for the emulator",
        ),
        pytest.param(
            {"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "share"},
            {**NO_CPUS, "PCPU": 4},
            id="dedicated, and none for the emulator",
        ),
        pytest.param(
            {**MIXED, "hw:cpu_dedicated_mask": "0-2,^1"},
            {**NO_CPUS, "VCPU": 2, "PCPU": 2},
            id="mixed, a range and an exception",
        ),
        pytest.param(
            {**MIXED, "hw:cpu_dedicated_mask": "^0"},
            {**NO_CPUS, "VCPU": 1, "PCPU": 3},
            id="mixed, all but one",
        ),
        pytest.param(
            {**MIXED, "hw:cpu_dedicated_mask": "^0-2", "hw:emulator_threads_policy": "isolate"},
            {**NO_CPUS, "VCPU": 3, "PCPU": 2},
            id="mixed, and one for the emulator",
        ),
        pytest.param(
            {**MIXED, "hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "1,3"},
            {**NO_CPUS, "VCPU": 2, "PCPU": 2},
            id="mixed, by the mask of realtime CPUs",
        ),
        pytest.param(
            {**MIXED, "hw:cpu_dedicated_mask": "nonsense"},
            {**NO_CPUS, "PCPU": 4},
            id="mixed, a mask that Nova refuses",
        ),
        pytest.param(
            {"hw:pmem": "4GB, 4GB,my-16"},
            {**PLAIN, "CUSTOM_PMEM_NAMESPACE_4GB": 2, "CUSTOM_PMEM_NAMESPACE_MY_16": 1},
            id="persistent memory",
        ),
    ],
)
def test_amounts_of_the_unsuffixed_group(specs, amounts):
    request = asked(specs)
    assert request.suffixed == ()
    assert dict(request.unsuffixed.resources) == amounts


@pytest.mark.parametrize(
    ("specs", "required", "forbidden"),
    [
        pytest.param({}, set(), set(), id="none"),
        pytest.param({"trait:HW_GPU": "required"}, {"HW_GPU"}, set(), id="required"),
        pytest.param({"trait:CUSTOM_OLD": "forbidden"}, set(), {"CUSTOM_OLD"}, id="forbidden"),
        pytest.param({"hw:trait": "required"}, set(), set(), id="not a trait"),
        pytest.param(
            {"hw:cpu_thread_policy": "require"}, {"HW_CPU_HYPERTHREADING"}, set(), id="threads"
        ),
        pytest.param(
            {"hw:cpu_thread_policy": "isolate"}, set(), {"HW_CPU_HYPERTHREADING"}, id="no threads"
        ),
        pytest.param({"hw:cpu_thread_policy": "prefer"}, set(), set(), id="threads or none"),
        pytest.param(
            {"hw:tpm_version": "2.0"},
            {"COMPUTE_SECURITY_TPM_2_0", "COMPUTE_SECURITY_TPM_TIS"},
            set(),
            id="a TPM of the usual model",
        ),
        pytest.param(
            {"hw:tpm_version": "2.0", "hw:tpm_model": "tpm-crb"},
            {"COMPUTE_SECURITY_TPM_2_0", "COMPUTE_SECURITY_TPM_CRB"},
            set(),
            id="a TPM",
        ),
        pytest.param({"hw:tpm_model": "tpm-crb"}, set(), set(), id="no TPM without a version"),
        pytest.param(
            {"os:secure_boot": "required"},
            {"COMPUTE_SECURITY_UEFI_SECURE_BOOT"},
            set(),
            id="secure boot",
        ),
        pytest.param({"os:secure_boot": "optional"}, set(), set(), id="secure boot if possible"),
        pytest.param(
            {"hw:maxphysaddr_mode": "passthrough"},
            {"COMPUTE_ADDRESS_SPACE_PASSTHROUGH"},
            set(),
            id="addresses",
        ),
        pytest.param(
            {"hw:pci_numa_affinity_policy": "socket"},
            {"COMPUTE_SOCKET_PCI_NUMA_AFFINITY"},
            set(),
            id="socket",
        ),
    ],
)
def test_traits_of_the_unsuffixed_group(specs, required, forbidden):
    group = asked(specs).unsuffixed
    assert (group.required, group.forbidden) == (required, forbidden)


@pytest.mark.parametrize(
    ("specs", "root"),
    [
        pytest.param({}, set(), id="none"),
        pytest.param({"hw:virtio_packed_ring": "true"}, {"COMPUTE_NET_VIRTIO_PACKED"}, id="ring"),
        pytest.param({"hw:virtio_packed_ring": "no"}, set(), id="no ring"),
        pytest.param({"hw:sound_model": "virtio"}, {"COMPUTE_SOUND_MODEL_VIRTIO"}, id="sound"),
        pytest.param({"accel:device_profile": "fpga"}, {"COMPUTE_ACCELERATORS"}, id="accelerator"),
        pytest.param(
            {"hw:ephemeral_encryption": "on", "hw:ephemeral_encryption_format": "luks"},
            {"COMPUTE_EPHEMERAL_ENCRYPTION", "COMPUTE_EPHEMERAL_ENCRYPTION_LUKS"},
            id="encrypted disks",
        ),
        pytest.param(
            {"hw:tpm_secret_security": "host"},
            {"COMPUTE_SECURITY_TPM_SECRET_SECURITY_HOST"},
            id="secrets of a TPM",
        ),
    ],
)
def test_traits_of_the_root(specs, root):
    assert asked(specs).root_required == root


@pytest.mark.parametrize(
    ("model", "trait"),
    [
        (None, "HW_CPU_X86_AMD_SEV"),
        ("amd-sev", "HW_CPU_X86_AMD_SEV"),
        ("amd-sev-es", "HW_CPU_X86_AMD_SEV_ES"),
        ("amd-sev-snp", "HW_CPU_X86_AMD_SEV_SNP"),
        ("intel-tdx", "HW_CPU_X86_INTEL_TDX"),
    ],
)
def test_encrypted_memory_takes_a_context_of_its_model(model, trait):
    specs = {"hw:mem_encryption": "True"} | ({"hw:mem_encryption_model": model} if model else {})
    group = asked(specs).unsuffixed
    assert dict(group.resources) == {**PLAIN, "MEM_ENCRYPTION_CONTEXT": 1}
    assert group.required == {trait}
    assert asked({"hw:mem_encryption": "false"}) == asked({})


def test_groups_with_a_suffix_have_their_own_amounts_and_traits():
    request = asked(
        {
            "resources:VGPU": "1",
            "trait:HW_GPU": "required",
            "resources1:CUSTOM_FPGA": "2",
            "trait1:CUSTOM_FAST": "required",
            "trait1:CUSTOM_OLD": "forbidden",
            "resources_nic:NET_BW_EGR_KILOBIT_PER_SEC": "1000",
            "group_policy": "isolate",
        }
    )
    assert request == PlacementRequest.of(
        Group.of({**PLAIN, "VGPU": 1}, ["HW_GPU"]),
        [
            by_specs(Group.of({"NET_BW_EGR_KILOBIT_PER_SEC": 1000})),
            by_specs(Group.of({"CUSTOM_FPGA": 2}, ["CUSTOM_FAST"], ["CUSTOM_OLD"])),
        ],
        isolate=True,
    )


def by_specs(group: Group) -> Group:
    """The group, as extra specs name it."""
    return dataclasses.replace(group, by_specs=True)


def test_an_amount_in_any_group_stands_for_the_size():
    request = asked({"resources1:VCPU": "2", "resources2:DISK_GB": "0", "group_policy": "none"})
    assert dict(request.unsuffixed.resources) == {"MEMORY_MB": 8192}
    assert request.suffixed == (by_specs(Group.of({"VCPU": 2})),)


def test_devices_are_groups_of_one_each():
    gpu = Group.of({"CUSTOM_PCI_10DE_20B0": 1}, ["COMPUTE_MANAGED_PCI_DEVICE"])
    request = asked({"group_policy": "isolate"}, device_groups=(gpu, gpu))
    assert (request.suffixed, request.isolate) == ((gpu, gpu), True)
    assert dict(request.unsuffixed.resources) == PLAIN


def test_devices_that_placement_does_not_know_are_only_added_up():
    """Placement isn't asked for them, so its group_policy doesn't keep them apart."""
    gpu = Group.of({"pci_alias_gpu": 1})
    request = asked({"group_policy": "isolate"}, device_groups=(gpu, gpu))
    assert request == PlacementRequest.plain({**PLAIN, "pci_alias_gpu": 2})


def test_requests_are_equal_whatever_the_suffixes():
    one = asked({"resources1:VGPU": "1", "resources2:CUSTOM_FPGA": "1", "group_policy": "none"})
    other = asked({"resources_a:CUSTOM_FPGA": "1", "resources_b:VGPU": "1", "group_policy": "none"})
    assert one == other
    assert hash(one) == hash(other)
