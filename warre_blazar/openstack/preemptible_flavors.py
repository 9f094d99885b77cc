"""Remembers which Nova flavors are for preemptible servers, so that no start has to ask Nova."""

import dataclasses
import math
import time

from oslo_log import log as logging

from warre_blazar.openstack import nova

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class _Read:
    """What was read, and when by the monotonic clock."""

    at: float = -math.inf
    ids: frozenset[str] = frozenset()


#: What was last read is the last item.
_read: list[_Read] = [_Read()]


def known() -> frozenset[str]:
    """The ids of the Nova flavors for preemptible servers, as they were last read."""
    return _read[-1].ids


def read(max_age: float = 0) -> frozenset[str]:
    """Read the ids of the Nova flavors for preemptible servers.

    :param max_age: the age in seconds up to which they aren't read again.
    :raises ServiceUnavailable, ServiceRefused: Nova doesn't answer, or refuses.
    """
    begun, before = time.monotonic(), _read[-1]
    if begun - before.at < max_age:
        return before.ids
    ids = nova.preemptible_flavors()
    _read[:] = [_Read(begun, ids)]
    if ids - before.ids:
        LOG.warning(
            "Nova has flavors for preemptible servers: %s. The servers are deleted when a "
            "reservation begins on their host. Check with warre-blazar-status --nova-conf that "
            "they can't come back while it runs",
            ", ".join(sorted(ids)),
        )
    return ids


def forget() -> None:
    """Forget what was read."""
    _read[:] = [_Read()]
