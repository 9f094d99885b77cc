"""Reads who holds room on hosts: from Placement's allocations and Nova's servers and migrations.

A host needs the same number of requests, however many servers are there. Every function raises
ServiceUnavailable if Placement or Nova doesn't answer, and ServiceRefused if one of them refuses a
request.
"""

from collections.abc import Collection, Iterable, Mapping
from concurrent import futures

from warre_blazar.domain.running import backing_names, holders
from warre_blazar.domain.running.holders import Holder, Migration, Server, Taken
from warre_blazar.openstack import nova, placement

#: Hosts are given as the host names of their compute services, by their hypervisor hostnames.
Hosts = Mapping[str, str]


def of_hosts(hosts: Hosts) -> dict[str, list[Holder]]:
    """Who holds something of hosts, by hypervisor hostname, whether reserved or not.

    Only the hosts' own providers and Blazar's are looked at. Every server takes something of them.

    :returns: all of these hosts. The list of a host that Placement doesn't know is empty.
    """
    return _by_host(hosts, name_all(taken(hosts), hosts))


def of_class(name: str, hosts: Hosts) -> list[Holder]:
    """Who holds units of a reservation's resource class on these hosts.

    :param name: the name of the resource class.
    """
    providers = {backing_names.PROVIDER_PREFIX + host: host for host in hosts}
    found = {
        providers[provider]: holders.of_class(consumers, name)
        for provider, consumers in placement.allocations(providers).items()
    }
    return name_all(found, hosts)


def taken(hosts: Collection[str]) -> dict[str, Taken]:
    """What is taken of hosts, without the names of those who have taken it.

    :param hosts: the hypervisor hostnames.
    """
    both = {host: (host, backing_names.PROVIDER_PREFIX + host) for host in hosts}
    found = placement.allocations([name for names in both.values() for name in names])
    return {
        host: holders.together(found.get(name, {}) for name in names)
        for host, names in both.items()
    }


def name_all(
    found: Mapping[str, Taken], hosts: Hosts, servers: Collection[Server] | None = None
) -> list[Holder]:
    """Name the consumers on hosts.

    :param found: what is taken, by hypervisor hostname.
    :param servers: all servers. None: Nova is asked for those on these hosts, and then for those on
        the hosts to which servers have moved.
    """
    asked = {hosts[host] for host, consumers in found.items() if consumers}
    known = list(_servers(asked) if servers is None else servers)
    others = holders.unknown(found, known)
    if not others:
        return list(holders.named(found, known, ()))
    with futures.ThreadPoolExecutor(placement.AT_ONCE) as pool:
        read = pool.map(nova.migrations_from, [hosts[h] for h in others], others.values())
        moves = [migration for migrations in read for migration in migrations]
    if servers is None:
        known += _servers(_targets(moves, {server.id for server in known}) - asked)
    return list(holders.named(found, known, moves))


def _targets(moves: Iterable[Migration], known: Collection[str]) -> set[str]:
    """The hosts to which servers have moved whose ids aren't known."""
    return {move.to for move in moves if move.to and move.server_id not in known}


def _servers(services: Collection[str]) -> list[Server]:
    """The servers on hosts. One request per host."""
    with futures.ThreadPoolExecutor(placement.AT_ONCE) as pool:
        read = pool.map(nova.servers_of_host, sorted(services))
        return [server for servers in read for server in servers]


def _by_host(hosts: Iterable[str], found: Iterable[Holder]) -> dict[str, list[Holder]]:
    by_host: dict[str, list[Holder]] = {host: [] for host in hosts}
    for holder in found:
        by_host[holder.host].append(holder)
    return by_host
