"""Blazar finds our filters by name, in the same way as its own."""

import pytest
from blazar.enforcement import enforcement as blazar_enforcement
from blazar.enforcement import filters
from oslo_config import cfg

from warre_blazar import enforcement


@pytest.fixture(autouse=True)
def registered():
    enforcement.register()


@pytest.fixture
def enabling():
    """A function that enables a filter until the end of the test."""
    yield lambda name: cfg.CONF.set_override("enabled_filters", [name], "enforcement")
    cfg.CONF.clear_override("enabled_filters", "enforcement")


def test_filters_are_listed():
    assert "FlavorMaxLengthFilter" in enforcement.FILTERS


@pytest.mark.parametrize("name", enforcement.FILTERS)
def test_filter_is_found_by_name(name):
    assert getattr(filters, name).__name__ == name
    assert name in filters.all_filters


def test_second_registration_changes_nothing():
    before = list(filters.all_filters)
    enforcement.register()
    assert filters.all_filters == before
    assert len(set(before)) == len(before)


def test_blazars_own_filters_stay():
    assert {"ExternalServiceFilter", "MaxLeaseDurationFilter"} <= set(filters.all_filters)


@pytest.mark.parametrize("name", enforcement.FILTERS)
def test_blazar_enables_the_filter(enabling, name):
    enabling(name)
    enabled = blazar_enforcement.UsageEnforcement().enabled_filters
    assert [type(one).__name__ for one in enabled] == [name]


@pytest.mark.parametrize(
    ("others", "is_quick"),
    [(["MaxLeaseDurationFilter"], True), (["CreditsFilter"], False), (["TheirFilter"], False)],
)
def test_bookings_queue_only_if_no_filter_waits_for_a_service(conf, others, is_quick):
    conf.config(enabled_filters=[*enforcement.FILTERS, *others], group="enforcement")
    assert enforcement.is_quick() is is_quick


STRICT, LENGTH, QUOTA = enforcement.FILTERS


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        pytest.param([], [STRICT, LENGTH, QUOTA], id="nothing"),
        pytest.param(
            ["MaxLeaseDurationFilter"],
            ["MaxLeaseDurationFilter", STRICT, LENGTH, QUOTA],
            id="a filter of Blazar's",
        ),
        pytest.param([QUOTA, "Other", STRICT, LENGTH], [QUOTA, "Other", STRICT, LENGTH], id="all"),
        pytest.param([STRICT], [STRICT], id="without quotas"),
        pytest.param([QUOTA], [QUOTA, STRICT], id="without what the plugin needs"),
    ],
)
def test_filters_are_enabled_with_the_plugin(named, expected):
    assert enforcement.enabled(named) == expected
    assert enforcement.enabled(expected) == expected
