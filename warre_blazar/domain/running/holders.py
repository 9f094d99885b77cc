"""Who holds room on hosts: the consumers that Placement lists, as Nova knows them.

A consumer is a server, or the migration of a server. While a resize or a cold migration isn't
confirmed, the migration holds what the server had before, on the host that the server has left. So
Nova's list of servers of a flavor or a host doesn't say who holds room there.
"""

import dataclasses
import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence

from oslo_utils import strutils

from warre_blazar.domain.running import backing_names

#: What is taken of one provider, or of one host: amounts by resource class, by consumer.
Taken = Mapping[str, Mapping[str, int]]

#: The extra spec of Nova flavors whose servers may be deleted when a reservation needs their room.
#: Blazar's own host reservations know it too.
PREEMPTIBLE = "blazar:preemptible"
#: Nova's status of a server that uses no host.
SHELVED = "SHELVED_OFFLOADED"


def is_preemptible(extra_specs: Mapping[str, str]) -> bool:
    """Whether servers of a Nova flavor may be deleted when somebody has reserved their room."""
    return strutils.bool_from_string(extra_specs.get(PREEMPTIBLE))


class HolderKind(enum.StrEnum):
    """What a consumer is."""

    SERVER = "server"
    #: Of a server that is moved, or that was moved and whose owner can still take the move back.
    MIGRATION = "migration"
    #: Nova knows no such server or migration. It may just be making or deleting the server.
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True)
class Server:
    """A server as Nova shows it now, which after a resize isn't as it was booted."""

    id: str
    name: str
    project_id: str
    #: The name and the extra specs of its Nova flavor.
    flavor: str
    extra_specs: Mapping[str, str]
    status: str
    #: The host name of the compute service. None: no host has been chosen, or it is shelved.
    service_name: str | None
    #: What people and programs have written about it ("metadata" in Nova's API).
    properties: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Whether its disk is a volume. An image of such a server doesn't have its data.
    on_volume: bool = False

    @property
    def reservation_id(self) -> str | None:
        """The reservation on whose Nova flavor the server is now."""
        return backing_names.of_flavor(self.flavor, self.extra_specs)

    @property
    def is_shelved(self) -> bool:
        """Whether it uses no host."""
        return self.status == SHELVED

    @property
    def needs_no_place(self) -> bool:
        """Whether Nova found no host for it. It holds no room then, and never will."""
        return self.service_name is None and self.status == "ERROR"

    @property
    def is_preemptible(self) -> bool:
        """Whether it may be deleted when somebody has reserved its room."""
        return is_preemptible(self.extra_specs)


@dataclasses.dataclass(frozen=True)
class Migration:
    """A move of a server to another host or flavor."""

    id: str
    server_id: str
    #: "resize", "migration" (cold), "live-migration" or "evacuation".
    type: str
    status: str
    #: The host name of the compute service to which the server is moved. None: not chosen yet.
    to: str | None

    @property
    def is_confirmable(self) -> bool:
        """Whether only its confirmation is missing. That frees what the server had before."""
        return self.status == "finished" and self.type in ("resize", "migration")


@dataclasses.dataclass(frozen=True)
class Holder:
    """A consumer that holds room on a host."""

    consumer: str
    #: The hypervisor hostname.
    host: str
    #: What it holds there, by resource class.
    resources: Mapping[str, int]
    #: The server that is the consumer, or whose migration is. None: Nova knows none.
    server: Server | None = None
    #: None: the consumer is a server, or isn't known.
    migration: Migration | None = None

    @property
    def kind(self) -> HolderKind:
        """What the consumer is."""
        if self.migration is not None:
            return HolderKind.MIGRATION
        return HolderKind.UNKNOWN if self.server is None else HolderKind.SERVER

    @property
    def server_id(self) -> str | None:
        """The id of the server that is the consumer, or whose migration is."""
        if self.migration is not None:
            return self.migration.server_id
        return None if self.server is None else self.server.id

    @property
    def reservation_ids(self) -> frozenset[str]:
        """The reservations of whose resource classes it holds something."""
        return frozenset(filter(None, map(backing_names.of_class, self.resources)))

    @property
    def is_confirmable(self) -> bool:
        """Whether the confirmation of a resize or a cold migration frees what is held."""
        return self.migration is not None and self.migration.is_confirmable

    @property
    def is_preemptible(self) -> bool:
        """Whether it may be deleted when somebody has reserved its room."""
        return self.server is not None and self.server.is_preemptible

    def __str__(self) -> str:
        """Who holds the room, for logs and operators."""
        if self.server is None and self.migration is None:
            return f"consumer {self.consumer} on {self.host}, which Nova doesn't know"
        told = f"server {self.server_id}"
        if self.server is not None:
            server = self.server
            told += f" ({server.name}, {server.status}, project {server.project_id}"
            told += f", Nova flavor {server.flavor}{', preemptible' * server.is_preemptible})"
        told += f" on {self.host}"
        if self.is_confirmable:
            return f"{told}, which was moved away, but whose move isn't confirmed"
        if self.migration is not None:
            return f"{told}, whose {self.migration.type} is {self.migration.status}"
        return told


@dataclasses.dataclass(frozen=True)
class Inside:
    """Who is in a reservation."""

    #: The servers on its Nova flavor, be they shelved or in ERROR.
    listed: Sequence[Server]
    #: Those who hold room of it besides them.
    hidden: Sequence[Holder] = ()

    @property
    def servers(self) -> list[Server]:
        """The servers that are deleted when the reservation ends."""
        arriving = [h.server for h in self.hidden if h.kind is HolderKind.SERVER and h.server]
        return [*self.listed, *arriving]

    @property
    def moved_out(self) -> list[Holder]:
        """The unconfirmed moves out of it. Its end confirms them, and the servers stay."""
        return [holder for holder in self.hidden if holder.kind is HolderKind.MIGRATION]


def unknown(taken: Mapping[str, Taken], servers: Iterable[Server]) -> dict[str, set[str]]:
    """The consumers on each host that are none of these servers. Hosts without any are left out."""
    known = {server.id for server in servers}
    others = {host: set(consumers) - known for host, consumers in taken.items()}
    return {host: consumers for host, consumers in others.items() if consumers}


def named(
    taken: Mapping[str, Taken], servers: Iterable[Server], migrations: Iterable[Migration]
) -> Iterator[Holder]:
    """Name the consumers on hosts.

    :param taken: by hypervisor hostname.
    """
    by_id = {server.id: server for server in servers}
    moves = {migration.id: migration for migration in migrations}
    for host, consumers in sorted(taken.items()):
        for consumer, resources in sorted(consumers.items()):
            move = moves.get(consumer)
            server = by_id.get(move.server_id if move else consumer)
            yield Holder(consumer, host, resources, server, move)


def together(taken: Iterable[Taken]) -> dict[str, dict[str, int]]:
    """What consumers hold of several providers together. No two have the same resource class."""
    held: dict[str, dict[str, int]] = {}
    for consumers in taken:
        for consumer, resources in consumers.items():
            held.setdefault(consumer, {}).update(resources)
    return held


def of_class(taken: Taken, name: str) -> Taken:
    """Only what is taken of one resource class."""
    return {
        consumer: {name: resources[name]}
        for consumer, resources in taken.items()
        if resources.get(name)
    }


def units(holders: Iterable[Holder], name: str) -> int:
    """How many units of a resource class are held."""
    return sum(holder.resources.get(name, 0) for holder in holders)
