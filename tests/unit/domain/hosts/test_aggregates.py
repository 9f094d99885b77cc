"""Shapes are matched with the aggregates of hosts as Nova's scheduler does it."""

import itertools

import hypothesis
import pytest
from hypothesis import strategies as st

from warre_blazar.domain.flavors import nova_requests
from warre_blazar.domain.hosts.aggregates import AggregateRule, HostAggregates, SiteAggregates
from warre_blazar.domain.running.wanted import NovaAggregate

ALL = frozenset(AggregateRule)
SSD = {"ssd": "true", "size": "10, 20"}


def fits(extra_specs, *metadata, required=(), rules=ALL):
    host = HostAggregates.of(metadata, rules)
    return host.admit(nova_requests.aggregate_specs(extra_specs), frozenset(required))


@pytest.mark.parametrize(
    ("extra_specs", "metadata", "expected"),
    [
        ({}, [], True),
        ({"hw:cpu_policy": "dedicated", "quota:x": "1"}, [], True),
        ({"ssd": "true"}, [], False),
        ({"ssd": "true"}, [SSD], True),
        ({"ssd": "True"}, [SSD], False),
        ({"aggregate_instance_extra_specs:ssd": "true"}, [SSD], True),
        ({"aggregate_instance_extra_specs:ssd": "true"}, [{"other": "true"}], False),
        ({"aggregate_instance_extra_specs:a:b": "1"}, [{"a:b": "1"}], True),
        ({"ssd": "true", "net": "fast"}, [SSD], False),
        ({"ssd": "true", "net": "fast"}, [SSD, {"net": "fast"}], True),
        # Several aggregates with the same key: one of the values suffices.
        ({"ssd": "false"}, [SSD, {"ssd": "false"}], True),
        ({"ssd": "s!= true"}, [SSD, {"ssd": "false"}], True),
        ({"size": "20"}, [SSD], True),
        ({"size": "10, 20"}, [SSD], False),
        # Two keys without a colon aren't about hosts.
        ({"group_policy": "none", "hide_hypervisor_id": "true"}, [], True),
        ({"aggregate_instance_extra_specs:group_policy": "none"}, [], False),
    ],
)
def test_extra_specs_are_compared_with_metadata(extra_specs, metadata, expected):
    assert fits(extra_specs, *metadata) is expected


@pytest.mark.parametrize(
    ("wanted", "values", "expected"),
    [
        ("= 9", "10", True),
        ("= 10", "9", False),
        ("== 10", "10.0", True),
        ("!= 10", "9", True),
        (">= 9", "10", True),
        ("<= 9", "10", False),
        # Nova's filter fails if one of the values isn't a number.
        (">= 9", "10, many", False),
        (">= many", "10", False),
        ("s== a", "a", True),
        ("s!= a", "a", False),
        ("s< b", "a", True),
        ("s<= a", "a", True),
        ("s> b", "a", False),
        ("s>= a", "b", True),
        ("<in> bc", "abcd", True),
        ("<in> cb", "abcd", False),
        ("<all-in> ab cd", "abcd", True),
        ("<all-in> ab dc", "abcd", False),
        ("<or> a <or> b", "b", True),
        ("<or> a <or> b", "c", False),
        ("<or> a b", "b", False),
        ("<or>", "a", False),
        ("s==", "", False),
        ("<all-in>", "a", False),
        # An unknown operator belongs to the value.
        ("~ a", "~ a", True),
        ("~ a", "a", False),
        ("", "", True),
    ],
)
def test_operators_are_those_of_nova(wanted, values, expected):
    assert fits({"key": wanted}, {"key": values}) is expected


@pytest.mark.parametrize(
    ("required", "expected"), [((), False), (("A",), False), (("A", "B", "C"), True)]
)
def test_isolated_host_fits_shapes_that_require_all_its_traits(required, expected):
    metadata = [{"trait:A": "required", "trait:C": "no"}, {"trait:B": "required"}]
    assert fits({}, *metadata, required=required) is expected


@pytest.mark.parametrize("rule", sorted(ALL))
def test_rule_that_is_off_decides_nothing(rule):
    metadata = [{"trait:A": "required", "filter_tenant_id": "alpha,beta"}]
    host = HostAggregates.of(metadata, ALL - {rule}, frozenset({"beta"}))
    decides = {
        AggregateRule.EXTRA_SPECS: host.lacks(("ssd", "true")),
        AggregateRule.ISOLATION: not host.admit((), ()),
        AggregateRule.TENANT_ISOLATION: not host.admit_project("gamma"),
        AggregateRule.TENANT_LIMIT: not host.admit_project("beta"),
    }
    assert decides == {each: each is not rule for each in AggregateRule}


def test_text_is_read_back():
    for tenants, rules in itertools.product(({}, {"filter_tenant_id": "a, b"}), (ALL, ())):
        metadata = [SSD, {"trait:A": "required"}, tenants]
        host = HostAggregates.of(metadata, rules, frozenset({"c"}))
        assert HostAggregates.from_text(host.to_text()) == host


def aggregate(hosts, metadata):
    return NovaAggregate(1, "name", frozenset(hosts), metadata)


SITE = SiteAggregates(
    (
        aggregate({"a"}, {"ssd": "true"}),
        aggregate({"a", "b"}, {"net": "fast"}),
    ),
    ALL,
)


def test_host_has_what_its_aggregates_say():
    assert SITE.of_host("a").facts == {"ssd=true", "net=fast"}
    assert SITE.of_host("d") == HostAggregates()


PROJECTS = ("alpha", "beta", "gamma")
METADATA = st.dictionaries(
    st.sampled_from(["filter_tenant_id", "filter_tenant_id_2", "owner"]),
    st.sampled_from(["", *PROJECTS, "alpha,beta", "beta, gamma"]),
    max_size=2,
)
AGGREGATES = st.lists(st.builds(aggregate, st.sets(st.sampled_from("abc")), METADATA), max_size=4)


def is_isolated(aggregates, host, project):
    """What AggregateMultiTenancyIsolation decides."""
    named = {
        each.strip()
        for known in aggregates
        if host in known.hosts
        for key, value in known.metadata.items()
        if key.startswith("filter_tenant_id")
        for each in value.split(",")
    }
    return bool(named) and project not in named


def is_limited(aggregates, host, project):
    """What the pre-filter for tenants' aggregates decides."""
    own = [
        known
        for known in aggregates
        for key, value in known.metadata.items()
        if key.startswith("filter_tenant_id") and value == project
    ]
    return bool(own) and not any(host in known.hosts for known in own)


@hypothesis.settings(deadline=None, derandomize=True)
@hypothesis.given(AGGREGATES, st.sets(st.sampled_from(sorted(ALL))))
def test_projects_are_kept_off_hosts_as_by_nova(aggregates, rules):
    site = SiteAggregates(tuple(aggregates), frozenset(rules))
    for host, project in itertools.product("abc", PROJECTS):
        expected = not (
            (AggregateRule.TENANT_ISOLATION in rules and is_isolated(aggregates, host, project))
            or (AggregateRule.TENANT_LIMIT in rules and is_limited(aggregates, host, project))
        )
        assert site.of_host(host).admit_project(project) is expected
        assert site.of_host(host).admit_project(None)


def test_keys_that_no_aggregate_has_are_unknown():
    wanted = [("ssd", "false"), ("net", "fast"), ("nvme", "true")]
    assert SITE.unknown(wanted) == ["nvme"]
    assert SiteAggregates(SITE.aggregates, frozenset()).unknown(wanted) == []
