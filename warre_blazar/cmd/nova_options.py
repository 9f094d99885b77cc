"""Options of Nova that don't go with reservations, in a table.

Nova's API doesn't show its options, so they are read from a file.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from oslo_config import cfg

from warre_blazar import conf
from warre_blazar.domain.hosts.aggregates import AggregateRule

cfg.CONF.import_group("nova", "blazar.utils.openstack.nova")
cfg.CONF.import_group("physical:host", "blazar.plugins.oshosts.host_plugin")
conf.register(cfg.CONF)

_UNIFIED = "nova.quota.UnifiedLimitsDriver"
#: The group of the options of blazar-nova.
_FILTER = "blazar:physical:host"
_NOVA_FILTERS = [
    "ComputeFilter",
    "ComputeCapabilitiesFilter",
    "ImagePropertiesFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
]
#: Filters that may refuse hosts on which a reservation has room. No booking knows their rules.
_BLIND_FILTERS = frozenset(
    {
        *("AggregateImagePropertiesIsolation", "AggregateIoOpsFilter"),
        *("AggregateNumInstancesFilter", "AggregateTypeAffinityFilter", "IoOpsFilter"),
        *("IsolatedHostsFilter", "MetricsFilter", "NumInstancesFilter"),
    }
)


_FILTERS = cfg.ListOpt("enabled_filters", default=_NOVA_FILTERS)


@dataclasses.dataclass(frozen=True)
class Expectation:
    """What an option of Nova should be.

    :ivar option: the option, with the type and the default that it has in Nova or blazar-nova.
    :ivar is_met: whether a value goes with reservations. It also gets all options of Nova.
    :ivar why: what happens otherwise.
    :ivar advice: what to set.
    :ivar is_vital: whether reservations fail otherwise, or harm others.
    """

    group: str
    option: cfg.Opt
    is_met: Callable[[Any, cfg.ConfigOpts], bool]
    why: str
    advice: str
    is_vital: bool = True

    def finding(self, nova: cfg.ConfigOpts) -> str | None:
        """What is wrong with the option, or None."""
        value = nova[self.group][self.option.dest]
        if self.is_met(value, nova):
            return None
        shown = ",".join(value) if isinstance(value, list) else value
        return f"[{self.group}] {self.option.dest} is {shown}: {self.why}; {self.advice}"


def _freepool(value: str, _nova: cfg.ConfigOpts) -> bool:
    return value == cfg.CONF.nova.aggregate_freepool_name


def _no_preemptibles(value: bool, nova: cfg.ConfigOpts) -> bool:
    aggregate = nova[_FILTER].preemptible_aggregate
    return not value or aggregate != cfg.CONF.nova.aggregate_freepool_name


def _is_known(rule: AggregateRule) -> bool:
    return rule in cfg.CONF.warre.nova_aggregate_rules


def _no_project_required(value: bool, nova: cfg.ConfigOpts) -> bool:
    return not value or not nova.scheduler.limit_tenants_to_placement_aggregate


def _same_devices(value: bool, _nova: cfg.ConfigOpts) -> bool:
    ours = cfg.CONF.warre
    return value == ours.pci_in_placement or not ours.pci_alias


def _no_ignored_limits(value: str, nova: cfg.ConfigOpts) -> bool:
    return value != "ignore" or nova.quota.driver != _UNIFIED


EXPECTATIONS: tuple[Expectation, ...] = (
    Expectation(
        "filter_scheduler",
        _FILTERS,
        lambda value, _: "BlazarFilter" in value,
        "servers without a reservation are booted on hosts that are registered in Blazar",
        "add BlazarFilter",
    ),
    Expectation(
        "filter_scheduler",
        cfg.MultiStrOpt("available_filters", default=["nova.scheduler.filters.all_filters"]),
        lambda value, _: any(name.endswith(".BlazarFilter") for name in value),
        "nova-scheduler doesn't start with BlazarFilter in enabled_filters",
        "add a line with blazarnova.scheduler.filters.blazar_filter.BlazarFilter",
    ),
    Expectation(
        _FILTER,
        cfg.StrOpt("aggregate_freepool_name", default="freepool"),
        _freepool,
        "BlazarFilter doesn't keep other servers off the hosts in Blazar's freepool",
        "set it to [nova] aggregate_freepool_name of blazar.conf",
    ),
    Expectation(
        _FILTER,
        cfg.StrOpt("blazar_az_prefix", default="blazar_"),
        lambda value, _: value == cfg.CONF["physical:host"].blazar_az_prefix,
        "BlazarFilter doesn't know the hosts that are reserved as a whole",
        "set it to [physical:host] blazar_az_prefix of blazar.conf",
    ),
    Expectation(
        _FILTER,
        cfg.BoolOpt("allow_preemptibles", default=False),
        _no_preemptibles,
        "preemptible servers come onto hosts while reservations run there, and take what is booked",
        "set it to false, or set preemptible_aggregate to an aggregate without hosts for flavors",
    ),
    Expectation(
        "scheduler",
        cfg.BoolOpt("placement_aggregate_required_for_tenants", default=False),
        _no_project_required,
        "a project that no aggregate of the site names in filter_tenant_id can boot no server of a "
        "reservation",
        "set it to false, or give each project such an aggregate",
        is_vital=False,
    ),
    Expectation(
        "filter_scheduler",
        _FILTERS,
        lambda value, _: (
            "AggregateInstanceExtraSpecsFilter" not in value or _is_known(AggregateRule.EXTRA_SPECS)
        ),
        "servers of a reservation can't be booted on hosts whose aggregates don't satisfy the "
        "extra specs of the flavor",
        "add extra_specs to [warre] nova_aggregate_rules of blazar.conf",
    ),
    Expectation(
        "DEFAULT",
        cfg.IntOpt("reclaim_instance_interval", default=0),
        lambda value, _: value <= 0,
        "a server that its user has deleted keeps its place and its room until this time is over, "
        "even after the end of its reservation",
        "set it to 0",
    ),
    Expectation(
        "quota",
        cfg.StrOpt("unified_limits_resource_strategy", default="require"),
        _no_ignored_limits,
        "no server of a reservation can be booted, since its resource class has no limit",
        "set it to require",
    ),
    Expectation(
        "filter_scheduler",
        cfg.BoolOpt("pci_in_placement", default=False),
        _same_devices,
        "devices of flavors are counted in another way than Nova counts them",
        "set [warre] pci_in_placement of blazar.conf to the same value, and run "
        "warre-blazar-manage flavor recount",
    ),
    Expectation(
        "scheduler",
        cfg.BoolOpt("enable_isolated_aggregate_filtering", default=False),
        lambda value, _: not value or _is_known(AggregateRule.ISOLATION),
        "servers of a reservation can't be booted on hosts in an aggregate that requires traits "
        "which the flavor doesn't require",
        "add isolation to [warre] nova_aggregate_rules of blazar.conf",
    ),
    Expectation(
        "filter_scheduler",
        _FILTERS,
        lambda value, _: (
            "AggregateMultiTenancyIsolation" not in value
            or _is_known(AggregateRule.TENANT_ISOLATION)
        ),
        "projects can book hosts in aggregates that name only other projects in filter_tenant_id",
        "add tenant_isolation to [warre] nova_aggregate_rules of blazar.conf",
        is_vital=False,
    ),
    Expectation(
        "scheduler",
        cfg.BoolOpt("limit_tenants_to_placement_aggregate", default=False),
        lambda value, _: not value or _is_known(AggregateRule.TENANT_LIMIT),
        "projects with aggregates of their own can book other hosts, too",
        "add tenant_limit to [warre] nova_aggregate_rules of blazar.conf",
        is_vital=False,
    ),
    Expectation(
        "DEFAULT",
        cfg.StrOpt("default_schedule_zone"),
        lambda value, _: not value,
        "servers of a reservation on hosts of another zone can only be booted with "
        "--availability-zone",
        "leave it out, or tell users to pass the zone that reservation show names",
        is_vital=False,
    ),
    Expectation(
        "cinder",
        cfg.BoolOpt("cross_az_attach", default=True),
        lambda value, _: value,
        "servers can only use volumes of the zone that their reservation's hosts are in",
        "leave it at true, or tell users to make volumes in the zone that reservation show names",
        is_vital=False,
    ),
    Expectation(
        "scheduler",
        cfg.BoolOpt("query_placement_for_routed_network_aggregates", default=False),
        lambda value, _: not value,
        "servers with a port in a routed network can't be booted on hosts outside of its segment",
        "set it to false, or give flavors a zone whose hosts are all in the same segments",
        is_vital=False,
    ),
    Expectation(
        "filter_scheduler",
        _FILTERS,
        lambda value, _: not _BLIND_FILTERS.intersection(value),
        "some of these filters may refuse hosts on which a reservation has room: "
        f"{', '.join(sorted(_BLIND_FILTERS))}",
        "leave these filters out",
        is_vital=False,
    ),
)

#: What the conditions of the table read in addition.
_FURTHER = (
    ("quota", cfg.StrOpt("driver", default="nova.quota.DbQuotaDriver")),
    (_FILTER, cfg.StrOpt("preemptible_aggregate", default="freepool")),
)


@dataclasses.dataclass(frozen=True)
class Findings:
    """What doesn't go with reservations."""

    vital: list[str]
    others: list[str]


def read(paths: Sequence[str]) -> Findings:
    """Read configuration files of Nova as one service of it reads them: later values win.

    :raises cfg.Error: a file can't be read.
    """
    nova = cfg.ConfigOpts()
    for expected in EXPECTATIONS:
        nova.register_opt(expected.option, group=expected.group)
    for group, option in _FURTHER:
        nova.register_opt(option, group=group)
    nova([], default_config_files=list(paths), default_config_dirs=[])
    found = [(e.is_vital, text) for e in EXPECTATIONS if (text := e.finding(nova))]
    return Findings(
        [text for is_vital, text in found if is_vital],
        [text for is_vital, text in found if not is_vital],
    )
