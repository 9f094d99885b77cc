"""Matches shapes with the aggregates that hosts are in, as Nova's scheduler does.

The rules are those of Nova 34:

* AggregateInstanceExtraSpecsFilter compares extra specs with the metadata of the host's aggregates
  (``nova/scheduler/filters/aggregate_instance_extra_specs.py`` and ``extra_specs_ops.py``).
* The pre-filter for isolated aggregates leaves out aggregates that require a trait which the server
  doesn't require (``isolate_aggregates`` in ``nova/scheduler/request_filter.py``).
* AggregateMultiTenancyIsolation keeps projects off hosts whose aggregates name only other projects
  (``nova/scheduler/filters/aggregate_multitenancy_isolation.py``).
* The pre-filter for tenants' aggregates keeps a project on the hosts of the aggregates that are its
  own (``require_tenant_aggregate`` in ``nova/scheduler/request_filter.py``).

Only aggregates of the site count, not those of reservations, and not Blazar's freepool.
"""

import dataclasses
import enum
import functools
import json
import operator
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Self

from warre_blazar.domain.running.backing_names import PROJECT_KEY
from warre_blazar.domain.running.wanted import NovaAggregate

_TRAIT_PREFIX = "trait:"


class AggregateRule(enum.StrEnum):
    """A rule of Nova's scheduler about aggregates, which an option of Nova turns on."""

    EXTRA_SPECS = "extra_specs"
    ISOLATION = "isolation"
    TENANT_ISOLATION = "tenant_isolation"
    TENANT_LIMIT = "tenant_limit"


@dataclasses.dataclass(frozen=True)
class HostAggregates:
    """What the aggregates of a host say, as far as Nova's scheduler reads it."""

    #: By key, the values that the metadata of all these aggregates have. Nova divides a value at
    #: commas.
    values: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict)
    #: The traits that a shape must require so that its instances may be on the host.
    isolating: frozenset[str] = frozenset()
    #: Whether extra specs are compared with ``values``.
    is_compared: bool = True
    #: The projects whose servers may be on the host. None: all projects but the strangers.
    tenants: frozenset[str] | None = None
    #: Projects whose servers may only be on other hosts.
    strangers: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        metadata: Sequence[Mapping[str, str]],
        rules: Collection[AggregateRule],
        confined: frozenset[str] = frozenset(),
    ) -> Self:
        """What aggregates with these metadata say.

        :param rules: the rules that are on in Nova.
        :param confined: all projects that have aggregates of their own.
        """
        values: dict[str, set[str]] = defaultdict(set)
        isolating = set()
        for each in metadata:
            for key, text in each.items():
                values[key].update(part.strip() for part in text.split(","))
                if key.startswith(_TRAIT_PREFIX) and text == "required":
                    isolating.add(key.removeprefix(_TRAIT_PREFIX))
        named = [found for key, found in values.items() if key.startswith(PROJECT_KEY)]
        is_closed = bool(named) and AggregateRule.TENANT_ISOLATION in rules
        is_limited = AggregateRule.TENANT_LIMIT in rules
        return cls(
            {key: frozenset(found) for key, found in values.items()},
            frozenset(isolating if AggregateRule.ISOLATION in rules else ()),
            AggregateRule.EXTRA_SPECS in rules,
            frozenset().union(*named) if is_closed else None,
            confined.difference(_owners(metadata)) if is_limited else frozenset(),
        )

    def admit_project(self, project_id: str | None) -> bool:
        """Whether Nova lets a project's servers on the host.

        :param project_id: None: whether it lets those of any project there.
        """
        if project_id is None:
            return True
        return project_id not in self.strangers and (
            self.tenants is None or project_id in self.tenants
        )

    @property
    def tells_projects_apart(self) -> bool:
        """Whether the host is for some projects only."""
        return self.tenants is not None or bool(self.strangers)

    def admit(self, wanted: Iterable[tuple[str, str]], required: Collection[str]) -> bool:
        """Whether Nova lets servers on the host.

        :param wanted: the keys and values that ``nova_requests.aggregate_specs`` returns.
        :param required: the traits that the servers require.
        """
        return self.isolating.issubset(required) and not any(map(self.lacks, wanted))

    def lacks(self, spec: tuple[str, str]) -> bool:
        """Whether Nova keeps servers off the host because of an extra spec."""
        key, wanted = spec
        return self.is_compared and not _satisfied(wanted, self.values.get(key, ()))

    @property
    def facts(self) -> frozenset[str]:
        """The metadata as texts such as ``ssd=true``."""
        return frozenset(f"{key}={value}" for key in self.values for value in self.values[key])

    def to_text(self) -> str:
        """The value as JSON. Equal values give equal texts."""
        projects = {
            "tenants": None if self.tenants is None else sorted(self.tenants),
            "strangers": sorted(self.strangers),
        }
        return json.dumps(
            {
                "values": {key: sorted(found) for key, found in self.values.items()},
                "isolating": sorted(self.isolating),
                "is_compared": self.is_compared,
                # Left out for all projects, so that texts from before these keys stay equal.
                **(projects if self.tells_projects_apart else {}),
            },
            sort_keys=True,
        )

    @classmethod
    @functools.lru_cache(maxsize=1024)
    def from_text(cls, text: str) -> Self:
        """The value that ``to_text`` wrote. Many hosts are in the same aggregates."""
        read = json.loads(text)
        return cls(
            {key: frozenset(found) for key, found in read["values"].items()},
            frozenset(read["isolating"]),
            read["is_compared"],
            None if read.get("tenants") is None else frozenset(read["tenants"]),
            frozenset(read.get("strangers", ())),
        )


#: A host that is in no aggregate, or of which it isn't known yet.
NO_AGGREGATES = HostAggregates()


@dataclasses.dataclass(frozen=True)
class SiteAggregates:
    """The aggregates of the site, and the rules that are on in Nova."""

    aggregates: tuple[NovaAggregate, ...]
    rules: frozenset[AggregateRule]

    def of_host(self, service_name: str) -> HostAggregates:
        """What the aggregates of a host say.

        :param service_name: the host's name in Nova's aggregates.
        """
        own = [each.metadata for each in self.aggregates if service_name in each.hosts]
        return HostAggregates.of(own, self.rules, self.confined)

    def unknown(self, wanted: Iterable[tuple[str, str]]) -> list[str]:
        """The keys among ``wanted`` that no aggregate has, so that no server could ever boot."""
        if AggregateRule.EXTRA_SPECS not in self.rules:
            return []
        known = {key for each in self.aggregates for key in each.metadata}
        return [key for key, _ in wanted if key not in known]

    @functools.cached_property
    def confined(self) -> frozenset[str]:
        """The projects whose servers Nova may keep on the hosts of their aggregates."""
        return _owners(each.metadata for each in self.aggregates)


def _owners(metadata: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """The projects to which aggregates belong, if Nova limits projects to aggregates.

    In an aggregate of a project, a key that begins with ``filter_tenant_id`` has the project's id
    as its whole value.
    """
    named = {
        value.strip()
        for each in metadata
        for key, value in each.items()
        if key.startswith(PROJECT_KEY)
    }
    return frozenset(named - {""})


def _satisfied(wanted: str, values: Collection[str]) -> bool:
    """Whether one of the values that a host's aggregates have for a key satisfies an extra spec.

    If Nova can't compare one of the values with the extra spec, its filter fails for the host.
    """
    try:
        return any([_matches(wanted, value) for value in values])
    except ValueError:
        return False


def _matches(wanted: str, value: str) -> bool:
    """Whether a value in metadata satisfies the value of an extra spec, which may have an operator.

    :raises ValueError: the operator compares numbers, and one of the values isn't a number.
    """
    name, *operands = wanted.split() or [""]
    if name == "<or>":
        # Between two operands, Nova skips a word, which should be another <or>.
        return value in operands[::2]
    if name == "<all-in>":
        return bool(operands) and all(operand in value for operand in operands)
    if name in _OF_NUMBERS:
        return bool(operands) and _OF_NUMBERS[name](float(value), float(operands[0]))
    if name in _OF_TEXTS:
        return bool(operands) and _OF_TEXTS[name](value, operands[0])
    return value == wanted


_OF_NUMBERS: dict[str, Callable[[float, float], bool]] = {
    "=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
}
_OF_TEXTS: dict[str, Callable[[str, str], bool]] = {
    "s==": operator.eq,
    "s!=": operator.ne,
    "s<": operator.lt,
    "s<=": operator.le,
    "s>": operator.gt,
    "s>=": operator.ge,
    "<in>": operator.contains,
}
