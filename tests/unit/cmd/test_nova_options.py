"""Each option of Nova that doesn't go with reservations is found in a file, and only these."""

import pathlib

import pytest
from oslo_config import cfg
from oslo_config import fixture as config_fixture

from warre_blazar.cmd import nova_options

#: What the installation page asks for.
SUITABLE = """
[filter_scheduler]
available_filters = nova.scheduler.filters.all_filters
available_filters = blazarnova.scheduler.filters.blazar_filter.BlazarFilter
enabled_filters = ComputeFilter,BlazarFilter
"""
VITAL = {
    "[filter_scheduler]\nenabled_filters = ComputeFilter": "enabled_filters is ComputeFilter:",
    "[blazar:physical:host]\naggregate_freepool_name = pool": "aggregate_freepool_name is pool:",
    "[blazar:physical:host]\nblazar_az_prefix = other_": "blazar_az_prefix is other_:",
    "[blazar:physical:host]\nallow_preemptibles = yes": "allow_preemptibles is True:",
    "[quota]\ndriver = nova.quota.UnifiedLimitsDriver\n"
    "unified_limits_resource_strategy = ignore": "strategy is ignore:",
    "[filter_scheduler]\npci_in_placement = true": "pci_in_placement is True:",
    "[DEFAULT]\nreclaim_instance_interval = 60": "reclaim_instance_interval is 60:",
}
OTHERS = {
    "[scheduler]\nlimit_tenants_to_placement_aggregate = true\n"
    "placement_aggregate_required_for_tenants = true": "for_tenants is True:",
    "[DEFAULT]\ndefault_schedule_zone = az1": "default_schedule_zone is az1:",
    "[cinder]\ncross_az_attach = false": "cross_az_attach is False:",
    "[scheduler]\nquery_placement_for_routed_network_aggregates = 1": "aggregates is True:",
    "[filter_scheduler]\nenabled_filters = BlazarFilter,IoOpsFilter": "Filter,IoOpsFilter:",
}
HARMLESS = [
    "[quota]\nunified_limits_resource_strategy = ignore",
    "[quota]\ndriver = nova.quota.UnifiedLimitsDriver",
    "[blazar:physical:host]\nallow_preemptibles = true\npreemptible_aggregate = other",
    "[scheduler]\nlimit_tenants_to_placement_aggregate = true",
    "[scheduler]\nplacement_aggregate_required_for_tenants = true",
    "[scheduler]\nenable_isolated_aggregate_filtering = true",
    "[filter_scheduler]\nenabled_filters = BlazarFilter,AggregateInstanceExtraSpecsFilter",
    "[filter_scheduler]\nenabled_filters = BlazarFilter,AggregateMultiTenancyIsolation",
]

PAGE = pathlib.Path(__file__).parents[3] / "doc/source/nova-options.rst"


@pytest.fixture
def read(conf: config_fixture.Config, tmp_path: pathlib.Path):
    """Reads files with these texts, after one that is suitable."""
    conf.config(pci_alias=["{}"], group="warre")

    def read(*texts: str) -> nova_options.Findings:
        paths = []
        for number, text in enumerate((SUITABLE, *texts)):
            paths.append(tmp_path / f"{number}.conf")
            paths[-1].write_text(text)
        return nova_options.read([str(path) for path in paths])

    return read


def test_suitable_file_has_no_finding(read):
    assert read() == nova_options.Findings([], [])


@pytest.mark.parametrize("text", VITAL)
def test_option_that_breaks_reservations_is_vital(read, text: str):
    found = read(text)
    assert [VITAL[text] in said for said in found.vital] == [True]
    assert found.others == []


@pytest.mark.parametrize("text", OTHERS)
def test_option_that_hinders_some_servers_is_told(read, text: str):
    found = read(text)
    assert found.vital == []
    assert [OTHERS[text] in said for said in found.others] == [True]


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_option_is_not_told(read, text: str):
    assert read(text) == nova_options.Findings([], [])


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("[scheduler]\nenable_isolated_aggregate_filtering = true", "add isolation"),
        (
            "[filter_scheduler]\nenabled_filters = BlazarFilter,AggregateInstanceExtraSpecsFilter",
            "add extra_specs",
        ),
        ("[scheduler]\nlimit_tenants_to_placement_aggregate = true", "add tenant_limit"),
        (
            "[filter_scheduler]\nenabled_filters = BlazarFilter,AggregateMultiTenancyIsolation",
            "add tenant_isolation",
        ),
    ],
)
def test_rules_about_aggregates_must_be_told(read, conf: config_fixture.Config, text, advice):
    conf.config(nova_aggregate_rules=[], group="warre")
    found = read(text)
    (said,) = found.vital + found.others
    assert advice in said


def test_stock_file_lacks_the_filter_twice(conf: config_fixture.Config, tmp_path: pathlib.Path):
    path = tmp_path / "nova.conf"
    path.write_text("[DEFAULT]\n")
    found = nova_options.read([str(path)])
    assert len(found.vital) == 2
    assert "available_filters is nova.scheduler.filters.all_filters:" in found.vital[1]


def test_devices_are_compared_only_if_there_are_aliases(read, conf: config_fixture.Config):
    conf.config(pci_alias=[], group="warre")
    assert read("[filter_scheduler]\npci_in_placement = true").vital == []


def test_file_that_is_not_there_is_an_error(conf: config_fixture.Config):
    with pytest.raises(cfg.Error, match="nowhere"):
        nova_options.read(["/nowhere/nova.conf"])


@pytest.mark.parametrize("expected", nova_options.EXPECTATIONS, ids=lambda e: e.option.dest)
def test_page_names_the_option(expected: nova_options.Expectation):
    assert f"``[{expected.group}] {expected.option.dest}``" in " ".join(PAGE.read_text().split())
