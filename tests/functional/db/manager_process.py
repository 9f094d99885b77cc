"""A manager in a process of its own: our threads beside Blazar's unchanged executor."""

import configparser
import pathlib
import threading
import time
from typing import Any

from blazar.enforcement import UsageEnforcement
from blazar.manager import service
from blazar.notification import notifier
from blazar.plugins.oshosts.host_plugin import PhysicalHostMonitorPlugin
from oslo_config import cfg

from tests.functional.db import nodes
from warre_blazar.db import session
from warre_blazar.plugins import flavor_slot, monitor
from warre_blazar.services.running import backing

BLAZARS_PAUSE = 10


def written(path: pathlib.Path, options: dict[str, str]) -> str:
    """Write a configuration file with options that are given by ``group.name``."""
    parser = configparser.RawConfigParser()
    for name, value in options.items():
        group, _, option = name.rpartition(".")
        if group and not parser.has_section(group):
            parser.add_section(group)
        parser.set(group or "DEFAULT", option, value)
    with path.open("w") as file:
        parser.write(file)
    return str(path)


def run(config: str) -> None:
    """Run until the process is killed, with the options of a configuration file."""
    nodes.use()
    cfg.CONF(["--config-file", config], project="blazar")
    with session.writer():
        pass  # The facade must be created once, before there are threads.
    notifier.init()
    monitor.Threads(lambda _: []).start()
    threading.Thread(target=_reconcile, daemon=True).start()
    _blazars_executor()


def run_whole(config: str) -> None:
    """The same with Blazar's whole manager, which the threads call by RPC within the process."""
    nodes.use()
    cfg.CONF(["--config-file", config], project="blazar")
    with session.writer():
        pass
    notifier.init()
    service.ManagerService()._server.start()
    monitor.Threads(lambda _: []).start()
    threading.Event().wait()


def _reconcile() -> None:
    while True:
        time.sleep(1)
        backing.reconcile()


def _heal() -> None:
    """Do what Blazar's host monitor does at each healing interval."""
    while True:
        time.sleep(1)
        PhysicalHostMonitorPlugin().heal()


def _blazars_executor() -> None:
    """Do what Blazar's timer does, without the RPC server that Blazar's service has."""
    manager: Any = object.__new__(service.ManagerService)
    plugin = flavor_slot.FlavorSlotPlugin()
    threading.Thread(target=_heal, daemon=True).start()
    manager.plugins = {plugin.resource_type: plugin}
    manager.resource_actions = manager._setup_actions()
    manager.enforcement = UsageEnforcement()
    while True:
        try:
            manager._process_events()
        except Exception as error:
            print(f"Blazar's executor failed: {error!r}", flush=True)
        time.sleep(BLAZARS_PAUSE)
