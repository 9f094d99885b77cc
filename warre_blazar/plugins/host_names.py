"""Finds the host that an operator names, although its name is a part of other names.

Blazar asks Nova for the hosts that have a text anywhere in their names. So ``cmp1`` is ambiguous as
soon as there is a ``cmp10``, when the host is added and when it is removed. An ID isn't found at
all, unless it happens to be in a name.
"""

from typing import Any

from blazar.manager import exceptions as manager_exc
from blazar.utils.openstack import nova
from novaclient import exceptions as nova_exc

#: Blazar's own method, which reads a host.
_details = nova.NovaInventory.get_host_details
#: The number of names that an error lists.
_SHOWN = 5


def register() -> None:
    """Let Blazar's manager in this process find hosts by their whole names and by their IDs."""
    nova.NovaInventory.get_host_details = _host_details
    nova.NovaInventory.get_servers_per_host = _servers


def _host_details(inventory: Any, host: str) -> dict[str, Any]:
    return _details(inventory, _find(inventory.nova, host).id)


def _servers(inventory: Any, host: str) -> list[dict[str, Any]] | None:
    """The servers on a host, or None if there are none."""
    client = inventory.nova
    name = _find(client, host).hypervisor_hostname
    for found in client.hypervisors.search(name, servers=True):
        if found.hypervisor_hostname == name:
            return getattr(found, "servers", None)
    return None


def _find(client: Any, host: str) -> Any:
    """The hypervisor that has an ID or a name, or else the only one with the text in its name.

    :raises HostNotFound:
    :raises MultipleHostsFound: several hosts have the text in their names.
    """
    try:
        return client.hypervisors.get(host)
    except (nova_exc.NotFound, nova_exc.BadRequest):
        pass  # It isn't an ID.
    try:
        found = client.hypervisors.search(host)
    except nova_exc.NotFound:
        found = []
    found = [each for each in found if each.hypervisor_hostname == host] or found
    if not found:
        raise manager_exc.HostNotFound(host=host)
    if len(found) > 1:
        names = sorted(each.hypervisor_hostname for each in found)
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        raise manager_exc.MultipleHostsFound(
            f"{len(names)} hosts have {host!r} in their names: {shown}; give the whole name of "
            "one, or its ID (openstack hypervisor list)"
        )
    return found[0]
