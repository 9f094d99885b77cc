"""What one instance takes from a host, and the extra specs that an operator may set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.shapes import shape
from warre_blazar.domain.flavors.flavor import Shape, check_extra_specs

PLAIN = {"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 30}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, PLAIN, id="plain"),
        pytest.param({"ephemeral_gb": 20}, {**PLAIN, "DISK_GB": 50}, id="ephemeral is disk"),
        pytest.param(
            {"disk_gb": 0}, {"VCPU": 4, "MEMORY_MB": 8192}, id="no disk: booted from a volume"
        ),
        pytest.param(
            {"disk_gb": 0, "ephemeral_gb": 5}, {**PLAIN, "DISK_GB": 5}, id="ephemeral only"
        ),
    ],
)
def test_resources_by_size(values, expected):
    assert shape(**values).request.amounts == expected


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        pytest.param(
            {"hw:cpu_policy": "dedicated"},
            {"PCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 30},
            id="dedicated CPUs",
        ),
        pytest.param({"hw:cpu_policy": "shared"}, PLAIN, id="shared CPUs"),
        pytest.param({"hw:watchdog_action": "reset"}, PLAIN, id="no other spec takes any"),
        pytest.param({"resources:VGPU": "1"}, {**PLAIN, "VGPU": 1}, id="one more class"),
        pytest.param({"resources:VCPU": "2"}, {**PLAIN, "VCPU": 2}, id="override"),
        pytest.param(
            {"resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}
            | {"resources:CUSTOM_NODE": "1"},
            {"CUSTOM_NODE": 1},
            id="zero drops: a whole node",
        ),
        pytest.param(
            {"resources1:VGPU": "1", "resources2:VGPU": "2"},
            {**PLAIN, "VGPU": 3},
            id="groups sum",
        ),
        pytest.param({"resources_gpu:VGPU": "1"}, {**PLAIN, "VGPU": 1}, id="a named group"),
        pytest.param(
            {"resources:VGPU": "1", "resources1:VGPU": "2"},
            {**PLAIN, "VGPU": 3},
            id="groups beside an ungrouped one",
        ),
        pytest.param({"resources1:VCPU": "2"}, {**PLAIN, "VCPU": 2}, id="a group overrides too"),
        pytest.param({"resources1:VGPU": "0"}, PLAIN, id="zero drops in a group"),
    ],
)
def test_resources_by_extra_specs(specs, expected):
    assert shape(extra_specs=specs).request.amounts == expected


@pytest.mark.parametrize(
    "specs",
    [
        pytest.param({}, id="none"),
        pytest.param({"resources:VGPU": "1"}, id="class"),
        pytest.param({"resources:VGPU": "0"}, id="zero"),
        pytest.param({"resources_g-1:CUSTOM_A100": "12"}, id="class in a group"),
        pytest.param({"resources:VGPU": "999999999"}, id="nine digits"),
        pytest.param({"trait:CUSTOM_A": "required"}, id="trait"),
        pytest.param(
            {"resources_x:VGPU": "1", "trait_x:CUSTOM_A": "forbidden"}, id="trait in a group"
        ),
        pytest.param({"hw:cpu_policy": "dedicated"}, id="scoped"),
        pytest.param({"resources": "any"}, id="not a resource"),
        pytest.param({"accelerator:device_profile": "ünïcode"}, id="any value"),
        pytest.param({"k" * 255: "v"}, id="longest key"),
    ],
)
def test_extra_specs_that_nova_takes(specs):
    check_extra_specs(specs)


@pytest.mark.parametrize(
    "specs",
    [
        pytest.param({"resources:VGPU": "one"}, id="a word"),
        pytest.param({"resource:VGPU": "1"}, id="singular"),
        pytest.param({"resource1:VGPU": "1"}, id="singular of a group"),
        pytest.param({"resources:VGPU": "1.5"}, id="a fraction"),
        pytest.param({"resources:VGPU": "-1"}, id="negative"),
        pytest.param({"resources:VGPU": ""}, id="empty"),
        pytest.param({"resources:VGPU": "1\n"}, id="newline after the number"),
        pytest.param({"resources:VGPU": "٣"}, id="another script's digit"),
        pytest.param({"resources:VGPU": "1000000000"}, id="ten digits"),
        pytest.param({"resources:vgpu": "1"}, id="class in lower case"),
        pytest.param({"resources:": "1"}, id="no class"),
        pytest.param({"resources:VGPU\n": "1"}, id="newline after the class"),
        pytest.param({f"resources{'g' * 65}:VGPU": "1"}, id="group too long"),
        pytest.param({"resources.a:VGPU": "1"}, id="group with a dot"),
        pytest.param({"trait:CUSTOM_A": "preferred"}, id="neither required nor forbidden"),
        pytest.param({"trait:custom_a": "required"}, id="trait in lower case"),
        pytest.param({"trait:CUSTOM_A\n": "required"}, id="newline after the trait"),
        pytest.param({"": "v"}, id="empty key"),
        pytest.param({"k" * 256: "v"}, id="key too long"),
        pytest.param({"hw:cpu/policy": "v"}, id="slash in a key"),
        pytest.param({"hw:ünïcode": "v"}, id="letters beyond ASCII in a key"),
        pytest.param({"hw:cpu_policy\n": "v"}, id="newline after a key"),
        pytest.param({"hw:good": "v", "resources:VGPU": "bad"}, id="one bad among good"),
    ],
)
def test_extra_specs_that_would_fail_later(specs):
    with pytest.raises(ValueError, match="expected"):
        check_extra_specs(specs)


keys = st.one_of(
    st.text(max_size=8),
    st.from_regex(r"(resources|trait)[a-z0-9_-]{0,3}:[A-Z_]{0,4}\n?", fullmatch=True),
)
values = st.one_of(st.text(max_size=4), st.sampled_from(["0", "1", "12", "required", "forbidden"]))
sizes = st.integers(0, 100)


@given(st.dictionaries(keys, values, max_size=4), sizes, sizes, sizes, sizes)
def test_checked_extra_specs_can_be_added_up(specs, vcpu, memory, disk, ephemeral):
    try:
        check_extra_specs(specs)
    except ValueError:
        return
    booked = Shape(vcpu, memory, disk, ephemeral, specs, None, None)
    assert all(amount > 0 for amount in booked.request.amounts.values())
    named = {key.partition(":")[2] for key in specs if key.startswith("resources") and ":" in key}
    assert set(booked.request.amounts) <= {"VCPU", "MEMORY_MB", "DISK_GB"} | named


@given(st.dictionaries(st.text(), st.text()), st.none() | st.text(), st.none() | st.text())
def test_json_round_trip(specs, properties, zone):
    booked = shape(extra_specs=specs, properties=properties, availability_zone=zone)
    assert Shape.from_json(booked.to_json()) == booked


def test_json_is_the_same_for_the_same_shape():
    one = shape(extra_specs={"a": "1", "b": "2"})
    other = shape(extra_specs={"b": "2", "a": "1"})
    assert one.to_json() == other.to_json()
