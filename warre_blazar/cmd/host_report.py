"""Says what has become of the reservations and servers on a host, for people and as JSON."""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from warre_blazar.domain.hosts.host_marks import OnHost
from warre_blazar.domain.running.holders import Server
from warre_blazar.domain.wording import counted
from warre_blazar.errors import exceptions
from warre_blazar.openstack import people
from warre_blazar.services.moves.emptying import Emptied
from warre_blazar.services.moves.server_migrations import Attempt

#: The exit statuses: nothing is left on the host, something is left on it, or the command failed.
EMPTY, LEFT, FAILED = 0, 1, 2


@dataclasses.dataclass(frozen=True)
class HostReport:
    """What has become of the reservations and servers on a host, or would."""

    reservations: Emptied
    is_dry_run: bool = False
    #: The ids of moved reservations that run and aren't open on their new hosts yet.
    unopened: Sequence[str] = ()
    #: The servers that have left the host, and those that should have.
    attempts: Sequence[Attempt] = ()
    #: The servers that the operator has to migrate, or that would be migrated.
    servers: Sequence[Server] = ()

    @property
    def status(self) -> int:
        """The exit status."""
        failed = [each for each in self.attempts if each.why]
        todo = () if self.is_dry_run else self.servers
        return LEFT if self.reservations.left or self.unopened or failed or todo else EMPTY

    def lines(self, projects: Mapping[str, str]) -> Iterator[str]:
        """What has become of the reservations, and which servers must leave the host.

        :param projects: the names of projects by id.
        """
        dry = self.is_dry_run
        move, stay, migrate = (
            ("would move", "would stay", "would migrate") if dry else ("moved", "left ", "migrate")
        )
        for each in self.reservations.moved:
            yield f"{move}  {_line(each.on_host, projects)}, to {', '.join(each.new_hosts)}"
        for left in self.reservations.left:
            yield f"{stay}  {_line(left.on_host, projects)}"
            yield f"    {left.why}"
        for reservation_id in self.unopened:
            yield f"closed  {reservation_id}  a manager opens it on its new hosts later"
        for server in self.servers:
            yield f"{migrate}  {_server(server, projects)}"
            if not dry:
                yield f"    openstack server migrate --live-migration {server.id}"

    def counts(self) -> str:
        """The numbers of reservations and servers, as the rest of a sentence."""
        moved, left = len(self.reservations.moved), len(self.reservations.left)
        text = f"moved: {moved}, left: {left}"
        if self.attempts or self.servers:
            gone = len([each for each in self.attempts if not each.why])
            stay = len(self.servers) + len(self.attempts) - gone
            would = "to be migrated" if self.is_dry_run else "left"
            text += f". Servers that were migrated: {gone}, {would}: {stay}"
        return text

    def document(self, projects: Mapping[str, str]) -> dict[str, Any]:
        """The same for programs."""
        emptied = self.reservations
        done = [(a.server, "left" if a.why else "migrated", a.why or None) for a in self.attempts]
        todo = [(server, "to_migrate", None) for server in self.servers]
        return {
            "host_id": emptied.host_id,
            "moved": [
                {**_document(each.on_host, projects), "new_hosts": each.new_hosts}
                for each in emptied.moved
            ],
            "left": [
                {**_document(left.on_host, projects), "why": left.why} for left in emptied.left
            ],
            "unopened": list(self.unopened),
            "servers": [
                {
                    "id": server.id,
                    "name": server.name,
                    "project_id": server.project_id,
                    "reservation_id": server.reservation_id,
                    "outcome": outcome,
                    "why": why,
                }
                for server, outcome, why in (*done, *todo)
            ],
        }


def project_names(emptied: Emptied, servers: Iterable[Server] = ()) -> dict[str, str]:
    """The names of projects by id, as far as Keystone tells them."""
    names: dict[str, str] = {}
    moved, left = (each.on_host for each in emptied.moved), (each.on_host for each in emptied.left)
    ids = {each.project_id for each in (*moved, *left)} | {each.project_id for each in servers}
    with contextlib.suppress(exceptions.WarreError):
        for project_id in sorted(ids):
            if project := people.find_project(project_id):
                names[project_id] = project["name"]
    return names


def attempt(each: Attempt, projects: Mapping[str, str]) -> str:
    """What has become of a server that should leave the host."""
    text = f"{'left ' if each.why else 'migrated'}  {_server(each.server, projects)}"
    return f"{text}\n    {each.why}" if each.why else text


def _server(server: Server, projects: Mapping[str, str]) -> str:
    return (
        f"server {server.id} ({server.name}) of {server.reservation_id}, "
        f"project {projects.get(server.project_id, server.project_id)}"
    )


def _line(each: OnHost, projects: Mapping[str, str]) -> str:
    of_flavor = f" of {each.flavor_name}" if each.flavor_name else ""
    return (
        f"{each.shown_id}  {each.start:%Y-%m-%d %H:%M} to {each.end:%Y-%m-%d %H:%M} UTC, "
        f"{counted(each.instances, 'instance')}{of_flavor}, "
        f"project {projects.get(each.project_id, each.project_id)}"
    )


def _document(each: OnHost, projects: Mapping[str, str]) -> dict[str, Any]:
    return {
        "reservation_id": each.shown_id,
        "resource_type": each.resource_type,
        "flavor": each.flavor_name,
        "project": projects.get(each.project_id),
        "project_id": each.project_id,
        "status": each.status,
        "instances": each.instances,
        "start": each.start.isoformat(timespec="seconds") + "+00:00",
        "end": each.end.isoformat(timespec="seconds") + "+00:00",
    }
