"""Finds the host that an operator names, although its name is a part of other names.

Blazar asks Nova for the hosts that have a text anywhere in their names. So ``cmp1`` is ambiguous as
soon as there is a ``cmp10``, when the host is added and when it is removed.
"""

from typing import Any

from blazar.manager import exceptions as manager_exc
from blazar.utils.openstack import nova

#: Blazar's own methods, which read a host, and the servers on a host.
_details = nova.NovaInventory.get_host_details
_servers = nova.NovaInventory.get_servers_per_host
#: The number of names that an error lists.
_SHOWN = 5


def register() -> None:
    """Let Blazar's manager in this process find hosts by their whole names."""
    nova.NovaInventory.get_host_details = _host_details
    nova.NovaInventory.get_servers_per_host = _servers_per_host


def _host_details(inventory: Any, host: str) -> dict[str, Any]:
    try:
        return _details(inventory, host)
    except manager_exc.MultipleHostsFound:
        return _details(inventory, _named(inventory.nova.hypervisors.search(host), host).id)


def _servers_per_host(inventory: Any, host: str) -> list[dict[str, Any]] | None:
    """The servers on a host, or None if there are none."""
    try:
        return _servers(inventory, host)
    except manager_exc.MultipleHostsFound:
        found = _named(inventory.nova.hypervisors.search(host, servers=True), host)
        return getattr(found, "servers", None)


def _named(found: list[Any], host: str) -> Any:
    """The hypervisor with this name among several that have the text in their names.

    :raises MultipleHostsFound: none of them is named so.
    """
    for each in found:
        if each.hypervisor_hostname == host:
            return each
    names = sorted(each.hypervisor_hostname for each in found)
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    raise manager_exc.MultipleHostsFound(
        f"{len(names)} hosts have {host!r} in their names: {shown}; give the whole name of one "
        "(openstack hypervisor list)"
    )
