"""A list of everything that the clients keep for as long as the process lives.

Keystone sessions and cached answers belong to the process and not to a caller. The manager's
threads, the API, the commands and Blazar's own executor all reach Nova and Placement through the
same functions. If callers had to pass a session, nearly every function of ``services`` would need a
parameter for the session. The locks of ``locks`` aren't in the list, because they hold no data.
"""

from warre_blazar.openstack import (
    host_trees,
    keystone,
    limits,
    manager,
    nova_quotas,
    people,
    trusts,
)

_CACHES = (keystone.service_session, limits._enforcer, manager._client, trusts._trustee)


def forget() -> None:
    """Drop everything that clients keep, for instance because the configuration has changed."""
    for cached in _CACHES:
        cached.cache_clear()
    limits._remembered.clear()
    host_trees._read.clear()
    nova_quotas._asked.clear()
    people._read.clear()
