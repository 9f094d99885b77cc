"""The subcommands of tools/devcloud. Each returns the exit status."""

import argparse
import fcntl
import fnmatch
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devcloud_lib import bus, cloud, content, environment, processes, settings
from devcloud_lib.console import Failure, say
from devcloud_lib.layout import Layout
from devcloud_lib.service import Service
from devcloud_lib.services import dashboard


def up(home: Path, options: argparse.Namespace) -> int:
    home.mkdir(parents=True, exist_ok=True)
    with _locked(home):
        chosen = settings.choose(
            home,
            computes=options.computes,
            api_workers=options.api_workers,
            managers=options.managers,
            port_offset=options.port_offset,
            gpus=options.gpus,
            password_rounds=options.password_rounds,
            dashboard=options.dashboard,
            host_plugins=options.host_plugins,
            release=options.release,
        )
        layout = Layout(home, chosen)
        say(f"cloud in {home}: {chosen.computes} computes, {chosen.managers} managers")
        cloud.install(layout)
        settings.save(home, chosen)
        before = _processes(layout)
        cloud.up(layout)
        after = _processes(layout)
        state = "was up already" if before == after else "is up"
        say(f"the cloud {state}: {len(after)} services answer")
        has_hosts = content.has_hosts(layout)
    program = settings.REPOSITORY / "tools" / "devcloud"
    print(f'to use it: eval "$({program} env --home {home})"')
    if chosen.dashboard:
        print(dashboard.greeting(layout))
    if not has_hosts:
        print(
            "no hosts are registered in Blazar yet, so nothing can be booked; "
            f"to register all computes: {program} hosts --home {home}"
        )
    return 0


def down(home: Path, options: argparse.Namespace) -> int:
    if not home.exists():
        say(f"no cloud in {home}")
        return 0
    with _locked(home):
        say(f"{cloud.down(home)} services stopped")
        if options.wipe:
            cloud.wipe(home)
            say("databases, configuration and logs removed")
    return 0


def status(home: Path, _options: argparse.Namespace) -> int:
    """Print a line for each service. The exit status is 0 if all run."""
    services = cloud.all_services(_layout(home))
    for service in services:
        record = processes.running(service.pid_file)
        print(f"{service.name:20} {f'up, pid {record.pid}' if record else 'down'}")
    return 0 if all(service.running() for service in services) else 1


def hosts(home: Path, _options: argparse.Namespace) -> int:
    content.register_hosts(_layout(home))
    return 0


def env(home: Path, options: argparse.Namespace) -> int:
    print(environment.exports(_layout(home), options.user))
    return 0


def log(home: Path, options: argparse.Namespace) -> int:
    """List the logs, or show the end of one. With -f, follow it."""
    if options.service is None:
        for path in sorted((home / "log").glob("*.log")):
            print(f"{path.stem:20} {path}")
        return 0
    path = home / "log" / f"{options.service}.log"
    if not path.exists():
        raise Failure(f"no log {path}; `log` without a service lists them")
    print(path, flush=True)
    os.execvp("tail", ["tail", "-n", "50", *(["-F"] if options.follow else []), str(path)])


def start(home: Path, options: argparse.Namespace) -> int:
    layout = _layout(home)
    with _locked(home):
        _start(layout, _chosen(layout, options.service))
    return 0


def stop(home: Path, options: argparse.Namespace) -> int:
    layout = _layout(home)
    with _locked(home):
        _stop(_chosen(layout, options.service), options.kill9)
    return 0


def restart(home: Path, options: argparse.Namespace) -> int:
    layout = _layout(home)
    with _locked(home):
        chosen = _chosen(layout, options.service)
        _stop(chosen, options.kill9)
        _start(layout, chosen)
    return 0


def _processes(layout: Layout) -> set[processes.Record | None]:
    """Return the running processes, so that `up` can tell whether it started any."""
    return {processes.running(service.pid_file) for service in cloud.all_services(layout)}


def _stop(services: list[Service], kill: bool) -> None:
    for service in services:
        say(f"{service.name}: {'stopped' if service.stop(kill) else 'did not run'}")


def _start(layout: Layout, services: list[Service]) -> None:
    for service in services:
        say(f"{service.name}: {'started' if service.start() else 'runs already'}")
    for service in services:
        service.wait()
    bus.wait(layout, services)
    say("all of them answer")


def _layout(home: Path) -> Layout:
    chosen = settings.load(home)
    if chosen is None:
        raise Failure(f"no cloud in {home}: run `up` first")
    return Layout(home, chosen)


def _chosen(layout: Layout, pattern: str) -> list[Service]:
    """Return the services whose names match a shell pattern, such as nova-compute-*."""
    services = cloud.all_services(layout)
    chosen = [service for service in services if fnmatch.fnmatch(service.name, pattern)]
    if not chosen:
        names = ", ".join(service.name for service in services)
        raise Failure(f"no service matches {pattern}; there are: {names}")
    return chosen


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Let only one command at a time change a cloud. Others wait."""
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
