"""Waits for services that can be reached on the message bus only."""

import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from devcloud_lib import readiness
from devcloud_lib.console import Failure
from devcloud_lib.layout import Layout
from devcloud_lib.service import Service

_PING = Path(__file__).resolve().parent / "inside" / "rpc_ping.py"


def wait(layout: Layout, services: Sequence[Service], seconds: float = 120.0) -> None:
    """Wait until every service answers a ping. One process pings all of them."""
    by_address = {_address(service): service for service in services if _address(service)}
    if not by_address:
        return
    words = [str(layout.program("python")), str(_PING), str(seconds), layout.rabbit, *by_address]
    ping = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    over = threading.Event()
    watch = threading.Thread(target=_end_when_one_dies, args=(ping, services, over), daemon=True)
    watch.start()
    _, errors = ping.communicate()
    over.set()
    dead = [service for service in services if not service.running()]
    if dead:
        raise Failure(f"{dead[0].name} ended while it was starting", dead[0].log)
    if ping.returncode != 0:
        silent = [by_address[line] for line in errors.splitlines() if line in by_address]
        if not silent:
            raise Failure(f"rpc_ping.py failed:\n{errors}")
        names = ", ".join(service.name for service in silent)
        raise Failure(f"no answer on the message bus after {seconds:.0f} s: {names}", silent[0].log)


def _address(service: Service) -> str:
    ready = service.ready
    if not isinstance(ready, readiness.Rpc):
        return ""
    return f"{ready.exchange}/{ready.topic}/{ready.server}"


def _end_when_one_dies(
    ping: "subprocess.Popen[str]", services: Sequence[Service], over: threading.Event
) -> None:
    while not over.wait(0.5):
        if not all(service.running() for service in services):
            ping.terminate()
            return
