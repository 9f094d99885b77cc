"""Connects to the nodes of a Galera cluster in turn, so that every node is written to.

``WARRE_TEST_GALERA_URLS`` names the nodes (``tools/testdb env --galera``). Without this variable,
the tests run as on a single server.
"""

import itertools
import os
import time
from typing import Any

import sqlalchemy as sa

_URLS = os.environ.get("WARRE_TEST_GALERA_URLS", "").split()
#: Whether the tests run on several nodes.
SEVERAL = bool(_URLS)
#: Galera's ``wsrep_sync_wait``: the kinds of statements that wait until the node has everything
#: that other nodes have committed. Tests read with one connection what they wrote with another one.
_SYNC_WAIT = os.environ.get("WARRE_TEST_GALERA_SYNC_WAIT", "7")
#: Seconds until a database that was created on one node exists on all of them.
_PATIENCE = 10


def use() -> None:
    """Let each new connection of this process go to the next node."""
    if not _URLS:
        return
    ports = itertools.cycle([sa.make_url(url).port for url in _URLS])

    @sa.event.listens_for(sa.Engine, "do_connect")
    def connect(dialect: Any, _record: Any, words: Any, options: dict[str, Any]) -> Any:
        if dialect.name != "mysql":
            return None
        arguments = {**options, "init_command": f"SET SESSION wsrep_sync_wait={_SYNC_WAIT}"}
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return dialect.connect(*words, **{**arguments, "port": next(ports)})
            except dialect.dbapi.Error:
                # The node is down, or doesn't have the database yet.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
