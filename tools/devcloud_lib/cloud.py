"""The services of the cloud, and the steps that install, start and stop them."""

import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from devcloud_lib import apt, bus, content, mariadb, processes, rabbitmq, readiness, stamps, venv
from devcloud_lib.layout import Layout
from devcloud_lib.service import Service
from devcloud_lib.services import (
    blazar,
    dashboard,
    glance,
    keystone,
    mail,
    neutron,
    nova,
    placement,
)
from devcloud_lib.steps import Step, run_all

DATABASES = [
    "keystone",
    "placement",
    "glance",
    "neutron",
    "nova_api",
    "nova",
    "nova_cell0",
    "blazar",
]
# Each database migration uses a whole CPU, so more workers only make each step slower.
_WORKERS = 6


def infrastructure(layout: Layout) -> list[Service]:
    """Return database server and message bus, in the order in which they start."""
    home, ports, rabbit = layout.home, layout.ports, layout.home / "rabbitmq"
    return [
        Service(
            "mariadb",
            home,
            mariadb.command(home / "mariadb", ports.mariadb),
            readiness.Tcp(ports.mariadb, greets=True),
            config=(home / "mariadb" / "init.sql",),
        ),
        Service(
            "epmd",
            home,
            rabbitmq.epmd_command(ports),
            readiness.Tcp(ports.epmd),
            {"HOME": str(rabbit)},
        ),
        Service(
            "rabbitmq",
            home,
            rabbitmq.command(),
            readiness.Tcp(ports.rabbitmq),
            rabbitmq.environment(rabbit, ports),
            (rabbit / "rabbitmq.conf",),
        ),
    ]


def openstack(layout: Layout) -> list[Service]:
    """Return OpenStack's services, in the order in which they start."""
    modules = (keystone, placement, glance, neutron)
    first = [service for module in modules for service in module.services(layout)]
    first += mail.services(layout)
    last = dashboard.services(layout)
    return [*first, nova.api(layout), *nova.services(layout), *blazar.services(layout), *last]


def all_services(layout: Layout) -> list[Service]:
    """Return all services of the cloud."""
    return [*infrastructure(layout), *openstack(layout)]


def install(layout: Layout) -> None:
    """Install the Debian packages and the virtual environment."""
    log = layout.log("apt")
    servers = [*mariadb.missing_packages(), *rabbitmq.missing_packages()]
    steps = [
        Step("apt for venv", lambda: _installed(venv.missing_packages(), log)),
        # Two apt-gets can't run at the same time.
        Step("apt", lambda: _installed(servers, log), ("apt for venv",)),
        Step("venv", lambda: _environment(layout), ("apt for venv",)),
    ]
    run_all(steps, 2)


def _environment(layout: Layout) -> str:
    chosen = layout.settings.packages
    packages = venv.cloud_packages(chosen)
    return venv.ensure(layout.venv, layout.log("pip"), packages, chosen.constraints)


def up(layout: Layout) -> None:
    """Start all services that don't run as configured, after what they need has been made."""
    stop_surplus(layout)
    mariadb.create(layout.home / "mariadb", DATABASES, layout.log("mariadb"))
    rabbitmq.create(layout.home / "rabbitmq", layout.ports)
    for module in (keystone, placement, glance, neutron, nova):
        module.configure(layout)
    run_all(_steps(layout), _WORKERS)


def stop_surplus(layout: Layout) -> None:
    """Stop services that the settings no longer ask for, such as a fourth compute."""
    wanted = {service.pid_file for service in all_services(layout)}
    processes.stop([path for path in pid_files(layout.home) if path not in wanted])


def down(home: Path) -> int:
    """Stop all services, those of OpenStack first. Return how many were running."""
    base = [home / "run" / f"{name}.pid" for name in ("mariadb", "epmd", "rabbitmq")]
    above = [path for path in pid_files(home) if path not in base]
    return processes.stop(above, patience=8) + processes.stop(base, patience=30)


def wipe(home: Path) -> None:
    """Remove everything except the virtual environments and uv's environment."""
    for path in home.iterdir() if home.exists() else ():
        if path.is_dir() and path.name not in ("venv", "venv-dashboard", "uv"):
            shutil.rmtree(path)
        elif path.name == "settings.json":
            path.unlink()


def pid_files(home: Path) -> list[Path]:
    """Return the pid files of all services that have been started."""
    return sorted((home / "run").glob("*.pid"))


def _installed(packages: list[str], log: Path) -> str:
    apt.install(packages, log)
    return f"installed {' '.join(packages)}" if packages else ""


def _steps(layout: Layout) -> list[Step]:
    """Return the steps of `up`. Steps that don't need each other run at the same time."""
    database, epmd, rabbit = infrastructure(layout)
    steps = [
        _start(database),
        _start(epmd),
        _start(rabbit, "epmd"),
        *(_start(service) for service in mail.services(layout)),
        _migrate(layout, keystone, "mariadb"),
        _start(keystone.services(layout)[0], "keystone database"),
        Step("identity", lambda: content.identity(layout), ("keystone",)),
        *_web_steps(layout),
        *_nova_steps(layout),
        *_blazar_steps(layout),
        *_dashboard_steps(layout),
    ]
    needed = ("identity", "glance", "neutron", "nova hosts")
    return [*steps, Step("resources", lambda: content.resources(layout), needed)]


def _web_steps(layout: Layout) -> list[Step]:
    steps = []
    for module, needs in ((placement, ()), (glance, ()), (neutron, ("rabbitmq",))):
        (service,) = module.services(layout)
        # Keystone's tables are made first, because all other steps wait for its users.
        steps.append(_migrate(layout, module, "mariadb", "keystone database"))
        steps.append(_start(service, f"{service.name} database", "identity", *needs))
    return steps


def _nova_steps(layout: Layout) -> list[Step]:
    needs = ("nova database", "rabbitmq", "identity")
    return [
        _migrate(layout, nova, "mariadb", "keystone database"),
        _start(nova.api(layout), *needs),
        Step(
            "nova workers",
            lambda: _bring_up_workers(layout, nova.services(layout)),
            (*needs, "placement"),
        ),
        Step("nova hosts", lambda: _discover(layout), ("nova workers",)),
    ]


def _blazar_steps(layout: Layout) -> list[Step]:
    def configure() -> str:
        blazar.configure(layout)
        return ""

    def start() -> str:
        # The services are built here, so that their fingerprints include the new configuration.
        api, *managers = blazar.services(layout)
        outcomes = (_bring_up_workers(layout, managers), api.bring_up())
        return "started" if any(outcomes) else ""

    return [
        Step("blazar configuration", configure, ("identity",)),
        _migrate(layout, blazar, "mariadb", "blazar configuration"),
        Step("warre setup", lambda: blazar.set_up_project(layout), ("blazar database",)),
        Step("blazar", start, ("warre setup", "rabbitmq", "nova-api", "placement")),
    ]


def _dashboard_steps(layout: Layout) -> list[Step]:
    services = dashboard.services(layout)
    if not services:
        return []
    # After the other services, because its installation and its style sheets take a whole CPU.
    return [
        Step("dashboard files", lambda: dashboard.install(layout), ("blazar",)),
        *(_start(service, "dashboard files") for service in services),
    ]


def _start(service: Service, *needs: str) -> Step:
    return Step(service.name, service.bring_up, needs)


def _migrate(layout: Layout, module: ModuleType, *needs: str) -> Step:
    name = module.__name__.rpartition(".")[2]
    return Step(f"{name} database", functools.partial(_once, layout, name, module.migrate), needs)


def _once(layout: Layout, name: str, migrate: Callable[[Layout], None]) -> str:
    stamp = stamps.digest(layout.version)
    if layout.stamps.current(f"{name}-database", stamp):
        return ""
    migrate(layout)
    layout.stamps.set(f"{name}-database", stamp)
    return "migrated"


def _bring_up_workers(layout: Layout, services: list[Service]) -> str:
    started = [service.name for service in services if service.start()]
    bus.wait(layout, services)
    return f"started {', '.join(started)}" if started else ""


def _discover(layout: Layout) -> str:
    stamp = stamps.digest(*nova.compute_hosts(layout))
    if layout.stamps.current("nova-hosts", stamp):
        return ""
    nova.discover_hosts(layout)
    layout.stamps.set("nova-hosts", stamp)
    return "mapped to their cell"
