"""A model of what Nova and Placement hold for one reservation, and of the steps that change it."""

import dataclasses
from collections.abc import Iterable

from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.wanted import Backing, Do, NovaAggregate, NovaFlavor, Step


class Gone(Exception):
    """A step needs something that isn't there."""


class ModelCloud:
    """A backing that steps change, as Nova and Placement would."""

    def __init__(self, backing: Backing) -> None:
        self.backing = backing

    def carry_out(self, steps: Iterable[Step]) -> None:
        for step in steps:
            getattr(self, f"_{step.do.name.lower()}")(*step.args)

    def _set(self, **parts: object) -> None:
        self.backing = dataclasses.replace(self.backing, **parts)

    def _inventory(self, host: str, cls: str, amount: int) -> None:
        if amount and self.backing.resource_class != cls:
            raise Gone(cls)
        name = backing_names.PROVIDER_PREFIX + host
        others = {p: i for p, i in self.backing.inventories.items() if p != name}
        self._set(inventories=others | ({name: backing_names.inventory(amount)} if amount else {}))

    _offer = _inventory
    _lower = _inventory

    def _close_offers(self, cls: str, hosts: frozenset[str]) -> None:
        names = {backing_names.PROVIDER_PREFIX + host for host in hosts}
        left = {p: i for p, i in self.backing.inventories.items() if p in names}
        self._set(inventories=left)

    def _make_class(self, name: str) -> None:
        self._set(resource_class=name)

    def _remove_class(self, name: str) -> None:
        self._set(resource_class=None, inventories={})

    def _give_trait(self, name: str, provider_ids: Iterable[str]) -> None:
        self._set(trait=name, carriers=self.backing.carriers.union(provider_ids))

    def _take_trait(self, name: str, keep: frozenset[str]) -> None:
        self._set(carriers=self.backing.carriers & keep)

    def _remove_trait(self, name: str) -> None:
        self._set(trait=None, carriers=frozenset())

    @property
    def _aggregate(self) -> NovaAggregate:
        if self.backing.aggregate is None:
            raise Gone("aggregate")
        return self.backing.aggregate

    def _set_hosts(self, hosts: Iterable[str]) -> None:
        self._set(aggregate=dataclasses.replace(self._aggregate, hosts=frozenset(hosts)))

    def _make_aggregate(self, aggregate: NovaAggregate) -> None:
        has = self.backing.aggregate or NovaAggregate(8, aggregate.name, frozenset(), {})
        metadata = {**has.metadata, **aggregate.metadata}
        hosts = has.hosts | aggregate.hosts
        self._set(aggregate=dataclasses.replace(has, metadata=metadata, hosts=hosts))

    _set_metadata = _make_aggregate

    def _add_hosts(self, aggregate: NovaAggregate, hosts: list[str]) -> None:
        self._set_hosts(self._aggregate.hosts.union(hosts))

    def _keep_hosts(self, aggregate: NovaAggregate, hosts: frozenset[str]) -> None:
        if self.backing.aggregate:
            self._set_hosts(self._aggregate.hosts & hosts)

    def _remove_aggregate(self, aggregate: NovaAggregate) -> None:
        self._set(aggregate=None)

    @property
    def _flavor(self) -> NovaFlavor:
        if self.backing.flavor is None:
            raise Gone("flavor")
        return self.backing.flavor

    def _make_flavor(self, flavor: NovaFlavor) -> None:
        has = self.backing.flavor or dataclasses.replace(flavor, extra_specs={})
        specs = {**has.extra_specs, **flavor.extra_specs}
        projects = has.projects | flavor.projects
        self._set(flavor=dataclasses.replace(has, extra_specs=specs, projects=projects))

    _set_specs = _make_flavor

    def _replace_flavor(self, flavor: NovaFlavor) -> None:
        self._set(flavor=flavor)

    def _remove_flavor(self, flavor_id: str) -> None:
        self._set(flavor=None)

    def _give_up_flavor(self, flavor: NovaFlavor) -> None:
        self._set(flavor=None)

    def _grant(self, flavor_id: str, project_id: str) -> None:
        projects = self._flavor.projects | {project_id}
        self._set(flavor=dataclasses.replace(self._flavor, projects=projects))

    def _revoke(self, flavor_id: str, project_id: str) -> None:
        if self.backing.flavor:
            projects = self.backing.flavor.projects - {project_id}
            self._set(flavor=dataclasses.replace(self.backing.flavor, projects=projects))

    def _delete_server(self, server_id: str) -> None:
        self._set(servers=(self.backing.servers or frozenset()) - {server_id})

    def _free_room(self, flavor: NovaFlavor) -> None:
        self._set(servers=frozenset())


def can_carry_out(do: Do) -> bool:
    """Whether the model knows what a step does."""
    return hasattr(ModelCloud, f"_{do.name.lower()}")
