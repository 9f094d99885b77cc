"""The metadata of a reservation's aggregate that let Nova's filter accept its hosts."""

import pytest

from tests.unit.domain import shapes
from warre_blazar.domain.running import backing_names


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        pytest.param("group_policy", "isolate", "isolate", id="a plain value"),
        pytest.param("hw:a", "1", None, id="a key with a colon"),
        pytest.param("empty", "", "", id="no value"),
        pytest.param("cores", ">= 4", "4", id="a number at least"),
        pytest.param("ssd", "<or> fast <or> faster", "fast", id="one of two"),
        pytest.param("flags", "<all-in> aes avx", "aes avx", id="all of two"),
        pytest.param("ssd", "s!= slow", None, id="anything else"),
        pytest.param("cores", ">=", None, id="an operator without an operand"),
    ],
)
def test_metadata_for_extra_spec(key, value, expected):
    assert backing_names.metadata_for(key, value) == expected


def test_extra_specs_do_not_replace_what_nova_reads_otherwise():
    specs = {"reservation": "1", "filter_tenant_id": "x", "filter_tenant_id2": "x", "ssd": "yes"}
    shape = shapes.shape(extra_specs={**specs, "availability_zone": "z"})
    assert backing_names.aggregate_metadata("id", "project", shape) == {
        "ssd": "yes",
        "reservation": "id",
        "filter_tenant_id": "project",
        "blazar:owner": "project",
    }
