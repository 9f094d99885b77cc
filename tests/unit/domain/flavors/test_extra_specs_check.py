"""Extra specs about CPUs and groups that Nova or Placement would refuse at the first boot."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warre_blazar.domain.flavors import nova_requests
from warre_blazar.domain.flavors.extra_specs_check import check, check_cpus

DEDICATED = {"hw:cpu_policy": "dedicated"}
MIXED = {"hw:cpu_policy": "mixed"}
REALTIME = {"hw:cpu_realtime": "yes"}
EMULATOR = {"hw:emulator_threads_policy": "isolate"}
THREADS = {"hw:cpu_thread_policy": "require"}


@pytest.mark.parametrize(
    "specs",
    [
        pytest.param({}, id="none"),
        pytest.param(DEDICATED, id="dedicated"),
        pytest.param({**DEDICATED, **EMULATOR, **THREADS}, id="dedicated with policies"),
        pytest.param({**DEDICATED, "resources:VCPU": "0"}, id="an explicit nothing"),
        pytest.param({**DEDICATED, **REALTIME, **EMULATOR}, id="all realtime"),
        pytest.param({**DEDICATED, **REALTIME, "hw:cpu_realtime_mask": "^0"}, id="some realtime"),
        pytest.param({**MIXED, "hw:cpu_dedicated_mask": "1-2"}, id="mixed"),
        pytest.param({**MIXED, **REALTIME, "hw:cpu_realtime_mask": "^0,^1"}, id="mixed realtime"),
        pytest.param({"resources:PCPU": "4"}, id="as many PCPU"),
        pytest.param({"resources:PCPU": "5", **EMULATOR}, id="as many PCPU, and the emulator"),
        pytest.param({"resources:VCPU": "1"}, id="fewer VCPU"),
        pytest.param({"hw:cpu_policy": "shared"}, id="shared"),
        pytest.param({"hw:cpu_realtime_mask": "^0"}, id="a mask that isn't used"),
    ],
)
def test_cpus_that_nova_takes(specs):
    check(specs)
    check_cpus(4, specs)


@pytest.mark.parametrize(
    "specs",
    [
        pytest.param({**DEDICATED, "resources:PCPU": "4"}, id="a policy and PCPU"),
        pytest.param({"hw:cpu_policy": "shared", "resources1:VCPU": "4"}, id="a policy and VCPU"),
        pytest.param({"resources:PCPU": "4", "resources1:VCPU": "1"}, id="both kinds"),
        pytest.param({"resources:PCPU": "3"}, id="fewer PCPU"),
        pytest.param({"resources:PCPU": "4", **EMULATOR}, id="no PCPU for the emulator"),
        pytest.param(EMULATOR, id="the emulator without a policy"),
        pytest.param(THREADS, id="threads without a policy"),
        pytest.param(
            {**DEDICATED, **THREADS, "trait:HW_CPU_HYPERTHREADING": "required"},
            id="threads twice",
        ),
        pytest.param(
            {"trait:HW_CPU_HYPERTHREADING": "forbidden"}, id="a trait of threads without a policy"
        ),
        pytest.param(REALTIME, id="realtime without a policy"),
        pytest.param({**DEDICATED, **REALTIME}, id="all realtime, nothing for the emulator"),
        pytest.param({**DEDICATED, **REALTIME, "hw:cpu_realtime_mask": "4"}, id="no such CPU"),
        pytest.param({**DEDICATED, "hw:cpu_dedicated_mask": "0"}, id="a mask that isn't for it"),
        pytest.param({"hw:cpu_dedicated_mask": "0"}, id="a mask without a policy"),
        pytest.param(MIXED, id="mixed without a mask"),
        pytest.param({**MIXED, "hw:cpu_dedicated_mask": "0-3"}, id="mixed, all"),
        pytest.param({**MIXED, "hw:cpu_dedicated_mask": "^0-3"}, id="mixed, none"),
        pytest.param({**MIXED, "hw:cpu_dedicated_mask": "3-4"}, id="mixed, no such CPU"),
        pytest.param({**MIXED, "hw:cpu_dedicated_mask": "2-1"}, id="mixed, a range backwards"),
        pytest.param({**MIXED, "hw:cpu_dedicated_mask": "some"}, id="mixed, a word"),
        pytest.param(
            {**MIXED, "hw:cpu_dedicated_mask": "1", **REALTIME, "hw:cpu_realtime_mask": "1"},
            id="two masks",
        ),
    ],
)
def test_cpus_that_nova_refuses(specs):
    check(specs)
    with pytest.raises(ValueError, match="expected"):
        check_cpus(4, specs)


@pytest.mark.parametrize(
    "specs",
    [
        pytest.param({"group_policy": "some"}, id="group_policy"),
        pytest.param({"hw:cpu_policy": "exclusive"}, id="cpu_policy"),
        pytest.param({"hw:cpu_thread_policy": "any"}, id="cpu_thread_policy"),
        pytest.param({"hw:emulator_threads_policy": "own"}, id="emulator_threads_policy"),
        pytest.param({"hw:mem_encryption_model": "rot13"}, id="mem_encryption_model"),
        pytest.param({"hw:tpm_version": "3.0"}, id="tpm_version"),
        pytest.param({"hw:tpm_version": "1.2", "hw:tpm_model": "tpm-crb"}, id="tpm_model"),
        pytest.param({"os:secure_boot": "yes"}, id="secure_boot"),
        pytest.param({"resources1:VGPU": "1", "resources2:VGPU": "1"}, id="two groups, no policy"),
        pytest.param({"trait1:CUSTOM_A": "required"}, id="a group of traits only"),
        pytest.param(
            {"resources1:VGPU": "0", "trait1:CUSTOM_A": "required"}, id="a group of nothing"
        ),
        pytest.param({"ssd": "fast,faster"}, id="a comma that no metadata can have"),
        pytest.param({"ssd": " fast"}, id="a space that no metadata can have"),
    ],
)
def test_groups_and_choices_that_are_refused(specs):
    with pytest.raises(ValueError, match="expected"):
        check(specs)


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 5), st.none() | st.integers(0, 5)), min_size=1
    ),
    st.sampled_from([",", " , ", ",,"]),
)
def test_masks_are_what_their_parts_add_and_then_what_they_take_away(parts, comma):
    texts = [
        f"{'^' if without else ''}{first}{'' if last is None else f'-{last}'}"
        for without, first, last in parts
    ]
    ranges = [(w, range(f, (f if last is None else last) + 1)) for w, f, last in parts]
    added = [r for without, r in ranges if not without]
    removed = set(itertools.chain.from_iterable(r for without, r in ranges if without))
    expected = set(itertools.chain.from_iterable(added))
    if parts[0][0]:
        expected |= set(range(6))
    if any(not r for _, r in ranges):
        with pytest.raises(ValueError, match="expected"):
            nova_requests.count_cpus(comma.join(texts), 6)
    else:
        assert nova_requests.count_cpus(comma.join(texts), 6) == len(expected - removed)
