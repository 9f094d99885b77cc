"""What an instance of a flavor takes from a host."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warre_blazar.domain import flavor
from warre_blazar.domain.flavor import Shape

_PLAIN = {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 15}


def shape(extra_specs: dict[str, str] | None = None, **changes: Any) -> Shape:
    values = {
        "vcpu": 2,
        "memory_mb": 512,
        "disk_gb": 10,
        "ephemeral_gb": 5,
        "extra_specs": extra_specs or {},
        "properties": None,
        "availability_zone": None,
    }
    return Shape(**{**values, **changes})


@pytest.mark.parametrize(
    ("specs", "resources"),
    [
        pytest.param({}, _PLAIN, id="disk and ephemeral together"),
        pytest.param({"resources:VGPU": "1"}, _PLAIN | {"VGPU": 1}, id="a class more"),
        pytest.param({"resources:VCPU": "4"}, _PLAIN | {"VCPU": 4}, id="overridden"),
        pytest.param(
            {"resources:VCPU": "0"}, {"MEMORY_MB": 512, "DISK_GB": 15}, id="nothing of it"
        ),
        pytest.param(
            {"hw:cpu_policy": "dedicated"},
            {"PCPU": 2, "MEMORY_MB": 512, "DISK_GB": 15},
            id="dedicated processors",
        ),
        pytest.param(
            {"resources1:VGPU": "1", "resources_b:VGPU": "2"},
            _PLAIN | {"VGPU": 3},
            id="groups add up",
        ),
        pytest.param({"hw:watchdog_action": "reset"}, _PLAIN, id="another spec"),
    ],
)
def test_resources(specs: dict[str, str], resources: dict[str, int]) -> None:
    assert shape(specs).resources == resources


def test_traits() -> None:
    found = shape({"trait:A": "required", "trait1:B": "required", "trait:C": "forbidden"}).traits()
    assert found == ({"A", "B"}, {"C"})


@given(st.dictionaries(st.text(max_size=9), st.text(max_size=9)), st.integers(0, 99))
def test_a_booked_shape_is_read_as_it_was_written(specs: dict[str, str], vcpu: int) -> None:
    one = shape(specs, vcpu=vcpu)
    assert Shape.from_json(one.to_json()) == one


@pytest.mark.parametrize(
    "specs",
    [
        pytest.param({"resources:VGPU": "x"}, id="no number"),
        pytest.param({"resources:VGPU": "-1"}, id="negative"),
        pytest.param({"resources:VGPU": "1" * 40}, id="beyond all"),
        pytest.param({"resources:vgpu": "1"}, id="no class"),
        pytest.param({"resources:": "1"}, id="no class at all"),
        pytest.param({"trait:A": "maybe"}, id="no such wish"),
        pytest.param({"trait:a": "required"}, id="no trait"),
        pytest.param({"a\x00b": "1"}, id="no key"),
        pytest.param({"": "1"}, id="empty key"),
    ],
)
def test_refused_specs(specs: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="expected"):
        flavor.check_extra_specs(specs)


@given(st.dictionaries(st.text(max_size=30), st.text(max_size=9)))
def test_what_passes_can_be_counted(specs: dict[str, str]) -> None:
    try:
        flavor.check_extra_specs(specs)
    except ValueError:
        return
    assert all(amount > 0 for amount in shape(specs).resources.values())
