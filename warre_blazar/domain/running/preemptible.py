"""Decides what becomes of preemptible servers on hosts that somebody has reserved."""

import datetime
from collections.abc import Iterable, Iterator, Mapping

from warre_blazar.domain.messages.notices import time_text
from warre_blazar.domain.running.holders import Server

#: The property of a server that says when it may be deleted.
WARNING = "blazar_preempted_at"


def to_delete(
    servers: Iterable[Server], starts: Mapping[str, datetime.datetime], now: datetime.datetime
) -> Iterator[Server]:
    """The servers on hosts on which a reservation runs.

    :param starts: when the first reservation begins or has begun, by the host's service name.
    """
    for server in servers:
        start = starts.get(server.service_name or "")
        if start is not None and start <= now:
            yield server


def to_warn(
    servers: Iterable[Server], starts: Mapping[str, datetime.datetime], now: datetime.datetime
) -> Iterator[tuple[Server, str | None]]:
    """The servers whose warning isn't as it should be, with the right value.

    None: the warning is taken away, because no reservation begins on the host any more. What is to
    be deleted anyhow keeps its warning.
    """
    for server in servers:
        start = starts.get(server.service_name or "")
        if start is None or start > now:
            wanted = time_text(start)
            if wanted != server.properties.get(WARNING):
                yield server, wanted
