"""The metadata of a reservation's aggregate, as Nova's filters read them."""

from tests.unit.domain import shapes
from warre_blazar.domain.running import backing_names


def test_only_keys_that_say_nothing_about_hosts_are_copied():
    specs = {"group_policy": "none", "hide_hypervisor_id": "true", "hw:a": "1", "ssd": "yes"}
    shape = shapes.shape(extra_specs={**specs, "reservation": "1", "filter_tenant_id": "x"})
    assert backing_names.aggregate_metadata("id", "project", shape) == {
        "group_policy": "none",
        "hide_hypervisor_id": "true",
        "reservation": "id",
        "filter_tenant_id": "project,reservation",
        "blazar:owner": "project",
    }


def test_confined_project_is_named_alone():
    shape = shapes.shape()
    confined = backing_names.aggregate_metadata("id", "project", shape, is_confined=True)
    assert confined["filter_tenant_id"] == "project"
