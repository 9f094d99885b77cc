"""What extra specs and options say about devices."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warre_blazar.domain.flavors import devices
from warre_blazar.domain.flavors.devices import Rules
from warre_blazar.domain.flavors.request_groups import Group

GPU = {"name": "gpu", "vendor_id": "10de", "product_id": "20b0", "device_type": "type-PF"}


def alias(**changes: object) -> str:
    return json.dumps({k: v for k, v in {**GPU, **changes}.items() if v is not None})


@pytest.mark.parametrize(
    ("text", "requests"),
    [
        ("gpu:1", [("gpu", 1)]),
        ("gpu:2,nic:1", [("gpu", 2), ("nic", 1)]),
        (" gpu : 2 , nic:1 ", [("gpu", 2), ("nic", 1)]),
        ("gpu:1,gpu:1", [("gpu", 1), ("gpu", 1)]),
        ("a100 80 GB:64", [("a100 80 GB", 64)]),
    ],
)
def test_aliases_are_parsed_as_nova_parses_them(text: str, requests: list):
    assert devices.alias_requests(text) == requests


@pytest.mark.parametrize(
    "text", ["", "gpu", "gpu:", ":1", "gpu:0", "gpu:-1", "gpu:1,", "gpu:1:2", "gpu:x", "gpu:65"]
)
def test_malformed_alias_is_refused(text: str):
    with pytest.raises(ValueError, match="pci_passthrough:alias: expected"):
        devices.alias_requests(text)


@given(st.text(st.sampled_from("gpu:,0123456789 -"), max_size=40))
def test_any_alias_text_is_parsed_or_refused(text: str):
    try:
        requests = devices.alias_requests(text)
    except ValueError as error:
        assert "expected" in str(error)
        return
    assert sum(number for _, number in requests) <= devices.MOST_DEVICES
    assert all(name.strip() and number > 0 for name, number in requests)


def test_alias_without_class_asks_for_novas_default_class():
    assert devices.aliases([alias(vendor_id="10dE")], in_placement=True) == {
        "gpu": Group.of({"CUSTOM_PCI_10DE_20B0": 1})
    }


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("CUSTOM_GPU", "CUSTOM_GPU"),
        ("custom_gpu", "CUSTOM_GPU"),
        ("GPU VF", "CUSTOM_GPU_VF"),
        ("pgpu", "PGPU"),
        ("a100-80gb", "CUSTOM_A100_80GB"),
    ],
)
def test_class_of_an_alias_is_normalized(name: str, cls: str):
    parsed = devices.aliases([alias(resource_class=name)], in_placement=True)
    assert parsed == {"gpu": Group.of({cls: 1})}


@pytest.mark.parametrize(
    ("traits", "required"),
    [
        ("", []),
        ("HW_GPU_API_VULKAN", ["HW_GPU_API_VULKAN"]),
        ("blue,CUSTOM_BIG", ["CUSTOM_BIG", "CUSTOM_BLUE"]),
        # Nova doesn't remove the space.
        ("blue, big", ["CUSTOM_BLUE", "CUSTOM__BIG"]),
    ],
)
def test_traits_of_an_alias_are_normalized(traits: str, required: list):
    parsed = devices.aliases([alias(traits=traits)], in_placement=True)
    assert parsed == {"gpu": Group.of({"CUSTOM_PCI_10DE_20B0": 1}, required)}


@pytest.mark.parametrize(
    ("value", "required", "forbidden"),
    [("true", ["HW_PCI_LIVE_MIGRATABLE"], []), ("no", [], ["HW_PCI_LIVE_MIGRATABLE"])],
)
def test_live_migratable_alias_asks_for_the_trait(value: str, required: list, forbidden: list):
    parsed = devices.aliases([alias(live_migratable=value)], in_placement=True)
    assert parsed == {"gpu": Group.of({"CUSTOM_PCI_10DE_20B0": 1}, required, forbidden)}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["{"], "expected JSON"),
        (["[]"], "is not of type 'object'"),
        (["{}"], "'name' is a required property"),
        ([alias(name="  ")], "name: "),
        ([alias(vendor_id="xyz1")], "vendor_id: "),
        ([alias(device_type="vdpa")], "device_type: "),
        ([alias(numa_policy="any")], "numa_policy: "),
        ([alias(device_id="20b0")], "device_id"),
        ([alias(live_migratable="perhaps")], "gpu: .*perhaps"),
        ([alias(vendor_id=None)], "expected a resource_class, or a vendor_id and a product_id"),
        ([alias(resource_class="CUSTOM_A-B")], "can't be a resource class or trait"),
        ([alias(traits="x" * 300)], "can't be a resource class or trait"),
        ([alias(), alias(product_id="20b2")], "expected one line for each alias"),
        ([alias(), alias(device_type="type-VF")], "expected one line for each alias"),
        (["[" * 100000], "expected JSON"),
    ],
)
def test_malformed_alias_line_is_refused(lines: list[str], said: str):
    with pytest.raises(ValueError, match=said):
        devices.aliases(lines, in_placement=True)


def test_alternatives_of_an_alias_are_allowed_without_placement():
    lines = [alias(), alias(product_id="20b2", numa_policy="legacy")]
    assert devices.aliases(lines, in_placement=False) == {}
    with pytest.raises(ValueError, match="the same device_type in all lines"):
        devices.aliases([alias(), alias(device_type="type-VF")], in_placement=False)
    with pytest.raises(ValueError, match="the same numa_policy in all lines"):
        devices.aliases([alias(), alias(numa_policy="required")], in_placement=False)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=8,
)
_NEAR_ALIAS = st.fixed_dictionaries(
    {"name": st.text(max_size=8) | _JSON},
    optional={
        key: st.text(max_size=8) | st.sampled_from(["10de", "type-PF", "true", "CUSTOM_X"]) | _JSON
        for key in (
            *("vendor_id", "product_id", "device_type", "resource_class", "traits"),
            "live_migratable",
        )
    },
)


@given(st.lists(st.text(max_size=30) | (_NEAR_ALIAS | _JSON).map(json.dumps), max_size=3))
def test_any_alias_lines_are_parsed_or_refused(lines: list[str]):
    for in_placement in (True, False):
        try:
            parsed = devices.aliases(lines, in_placement=in_placement)
        except ValueError as error:
            assert str(error)
            continue
        for group in parsed.values():
            assert Group.from_dict(json.loads(json.dumps(group.to_dict()))) == group


def test_profile_has_a_group_for_each_group():
    groups = [
        {
            "resources:CUSTOM_ACCELERATOR_FPGA": "2",
            "resources:CUSTOM_LOCAL_MEMORY": 1,
            "trait:CUSTOM_INTEL_PAC_ARRIA10": "required",
            "trait:CUSTOM_OLD": "forbidden",
            "accel:bitstream_id": "FB021995",
        },
        {"resources:FPGA": "1"},
    ]
    assert devices.profile_groups(groups) == (
        Group.of(
            {"CUSTOM_ACCELERATOR_FPGA": 2, "CUSTOM_LOCAL_MEMORY": 1},
            ["CUSTOM_INTEL_PAC_ARRIA10"],
            ["CUSTOM_OLD"],
        ),
        Group.of({"FPGA": 1}),
    )


@pytest.mark.parametrize(
    "groups",
    [
        None,
        {},
        [],
        ["resources:FPGA"],
        [{}],
        [{"accel:x": "1"}],
        [{"resources:FPGA": "0"}],
        [{"resources:FPGA": "-1"}],
        [{"resources:FPGA": "1.5"}],
        [{"resources:fpga": "1"}],
        [{"resources": "1"}],
        [{"resources:FPGA": True}],
        [{"resources:FPGA": "1", "trait:CUSTOM_X": "preferred"}],
        [{"resources:FPGA": "1", "trait:CUSTOM_X": ["required"]}],
        [{"resources:FPGA": "1"}] * 65,
    ],
)
def test_malformed_profile_is_refused(groups: object):
    with pytest.raises(ValueError, match="expected"):
        devices.profile_groups(groups)


@given(_JSON)
def test_any_profile_is_parsed_or_refused(groups: object):
    try:
        devices.profile_groups(groups)
    except ValueError as error:
        assert str(error)


@given(st.dictionaries(st.sampled_from(["resources:A", "trait:B", "resources", "accel:x"]), _JSON))
def test_any_group_of_a_profile_is_parsed_or_refused(group: dict):
    try:
        parsed = devices.profile_groups([group])
    except ValueError as error:
        assert "expected" in str(error)
        return
    assert [dict(g.resources) for g in parsed] == [{"A": int(group["resources:A"])}]


def test_groups_survive_json():
    groups = (Group.of({"CUSTOM_A": 1}, ["CUSTOM_T"]), Group.of({"CUSTOM_A": 1}, ["CUSTOM_T"]))
    assert devices.of_column(json.loads(json.dumps(devices.to_column(groups)))) == groups
    assert devices.to_column(()) is None
    assert devices.of_column(None) == ()


def test_only_extra_specs_with_a_value_name_devices():
    specs = {"hw:a": "1", "pci_passthrough:alias": "gpu:1", "accel:device_profile": ""}
    assert devices.named(specs) == {"pci_passthrough:alias": "gpu:1"}


def test_devices_of_other_flavors_are_counted_as_far_as_they_are_known():
    specs = {"pci_passthrough:alias": "gpu:2,nic:1", "accel:device_profile": "fpga"}
    gpu, nic = (Group.of({name: 1}) for name in ("CUSTOM_GPU", "pci_alias_nic"))
    rules = Rules({"gpu": gpu}, in_placement=True)
    assert devices.known_groups(specs, rules) == (gpu, gpu)
    by_capability = devices.known_groups(specs, Rules())
    assert by_capability == (*[Group.of({"pci_alias_gpu": 1})] * 2, nic)
    assert devices.known_groups({"pci_passthrough:alias": "gpu:"}, rules) == ()
    assert devices.known_groups({}, rules) == ()
