"""A manager in a process of its own: our threads, beside Blazar's executor as it is."""

import threading
import time
from typing import Any

from blazar.enforcement import UsageEnforcement
from blazar.manager import service
from blazar.notification import notifier
from oslo_config import cfg

from warre_blazar.db import session
from warre_blazar.plugins import flavor_slot, monitor
from warre_blazar.services import backing

BLAZARS_PAUSE = 10


def run(config: str) -> None:
    """Work until killed, by a configuration file."""
    cfg.CONF(["--config-file", config], project="blazar")
    with session.writer():
        pass  # the facade is made once, before there are threads
    notifier.init()
    monitor.Threads(lambda _: []).start()
    threading.Thread(target=_reconcile, daemon=True).start()
    _blazars_executor()


def _reconcile() -> None:
    while True:
        time.sleep(1)
        backing.reconcile()


def _blazars_executor() -> None:
    """What Blazar's timer does. It would be built with an RPC server, which isn't needed here."""
    manager: Any = object.__new__(service.ManagerService)
    plugin = flavor_slot.FlavorSlotPlugin()
    manager.plugins = {plugin.resource_type: plugin}
    manager.resource_actions = manager._setup_actions()
    manager.enforcement = UsageEnforcement()
    while True:
        try:
            manager._process_events()
        except Exception as error:
            print(f"Blazar's executor failed: {error!r}", flush=True)
        time.sleep(BLAZARS_PAUSE)
