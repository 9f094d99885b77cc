"""Nova: the API, conductor, scheduler with Blazar's filter, and computes on the fake driver."""

import json
import shutil
from pathlib import Path

from devcloud_lib import console, ini, readiness, shell, wsgi
from devcloud_lib.layout import Layout
from devcloud_lib.service import Service

# The host name of conductor and scheduler, which must not be the name of a compute.
CONTROLLER = "controller"
# Our variant of Nova's fake.MediumFakeDriver.
_CODE = Path(__file__).resolve().parents[1] / "inside" / "nova_compute"
_FILTERS = (
    "ComputeFilter",
    "ComputeCapabilitiesFilter",
    "ImagePropertiesFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
    "AggregateInstanceExtraSpecsFilter",
    "PciPassthroughFilter",
    "BlazarFilter",
)
# The GPUs' vendor and model: an NVIDIA A100. Nova makes the resource class CUSTOM_PCI_10DE_20B0 of
# them, because the alias names no class.
_GPU = {"vendor_id": "10de", "product_id": "20b0"}
#: The line that names the GPUs, in Nova's configuration and in this package's.
GPU_ALIAS = json.dumps({"name": "a100", **_GPU, "device_type": "type-PCI"})
_HOSTS_WITH_GPUS = 2


def configure(layout: Layout) -> None:
    shutil.copytree(layout.venv / "etc" / "nova", layout.etc("nova"), dirs_exist_ok=True)
    ini.write(_config(layout), {**_process_options(layout), **_peer_options(layout)})
    for host in compute_hosts(layout):
        state = layout.state("nova", host)
        state.mkdir(parents=True, exist_ok=True)
        options = {"DEFAULT": {"host": host, "state_path": state}, **_device_options(layout, host)}
        ini.write(_host_config(layout, host), options)


def migrate(layout: Layout) -> None:
    manage: shell.Words = [layout.program("nova-manage"), "--config-file", _config(layout)]
    log = layout.log("nova-manage")
    cell0 = layout.database("nova_cell0")
    shell.run([*manage, "api_db", "sync"], log)
    shell.run([*manage, "cell_v2", "map_cell0", "--database_connection", cell0], log)
    shell.run([*manage, "db", "sync"], log)
    # Status 2 means that the cell exists already.
    shell.run([*manage, "cell_v2", "create_cell", "--name", "cell1"], log, accept=(0, 2))


def discover_hosts(layout: Layout) -> None:
    """Map running computes to the cell. Without that, no server is scheduled to them."""
    manage: shell.Words = [layout.program("nova-manage"), "--config-file", _config(layout)]
    words, log = [*manage, "cell_v2", "discover_hosts"], layout.log("nova-manage")
    try:
        shell.run(words, log)
    except console.Failure:
        # The scheduler maps hosts too. The command fails if both map the same one at once.
        shell.run(words, log)


def compute_hosts(layout: Layout) -> list[str]:
    return [f"cmp{number}" for number in range(1, layout.settings.computes + 1)]


def hosts_with_gpus(layout: Layout) -> list[str]:
    return compute_hosts(layout)[:_HOSTS_WITH_GPUS]


def api(layout: Layout) -> Service:
    return wsgi.service(
        layout,
        "nova-api",
        "nova.wsgi.osapi_compute:application",
        {"OS_NOVA_CONFIG_DIR": str(layout.etc("nova"))},
        (_config(layout),),
    )


def services(layout: Layout) -> list[Service]:
    """Return all services except the API. They are reached over the message bus."""
    workers = [
        _worker(layout, f"nova-{topic}", [layout.program(f"nova-{topic}")], topic, CONTROLLER)
        for topic in ("conductor", "scheduler")
    ]
    program: shell.Words = [layout.program("python"), _CODE / "nova_compute.py"]
    for host in compute_hosts(layout):
        workers.append(_worker(layout, f"nova-compute-{host}", program, "compute", host))
    return workers


def _worker(layout: Layout, name: str, program: shell.Words, topic: str, host: str) -> Service:
    files = [_config(layout)]
    if host != CONTROLLER:
        files.append(_host_config(layout, host))
    words = [word for path in files for word in ("--config-file", str(path))]
    return Service(
        name=name,
        home=layout.home,
        command=(*map(str, program), *words),
        ready=readiness.Rpc("nova", topic, host),
        config=(*files, *sorted(_CODE.glob("*.py"))),
        version=layout.version,
    )


def _config(layout: Layout) -> Path:
    return layout.etc("nova", "nova.conf")


def _host_config(layout: Layout, host: str) -> Path:
    return layout.etc("nova", f"{host}.conf")


def _process_options(layout: Layout) -> dict[str, dict[str, ini.Value]]:
    """Return the options of Nova's processes and of its scheduler."""
    every_filter = "nova.scheduler.filters.all_filters"
    blazar_filter = "blazarnova.scheduler.filters.blazar_filter.BlazarFilter"
    return {
        "DEFAULT": {
            "transport_url": layout.rabbit,
            "state_path": layout.state("nova"),
            "use_rootwrap_daemon": False,
            "compute_driver": "devcloud_driver.DevcloudDriver",
            "host": CONTROLLER,
            "my_ip": "127.0.0.1",
            "rpc_ping_enabled": True,
            "graceful_shutdown_timeout": 5,
        },
        "wsgi": {"api_paste_config": layout.etc("nova", "api-paste.ini")},
        "conductor": {"workers": 1},
        # This Neutron has no agents that would tell of plugged ports.
        "compute": {"live_migration_wait_for_vif_plug": False},
        "scheduler": {
            "workers": 1,
            "discover_hosts_in_cells_interval": 10,
            "placement_aggregate_required_for_tenants": False,
            "limit_tenants_to_placement_aggregate": False,
        },
        "filter_scheduler": {
            "available_filters": [every_filter, blazar_filter],
            "enabled_filters": ",".join(_FILTERS),
            "pci_in_placement": True,
        },
        "pci": {"alias": GPU_ALIAS},
        "oslo_concurrency": {"lock_path": layout.state("nova", "locks")},
        "vnc": {"enabled": False},
        "key_manager": {
            "backend": "nova.keymgr.conf_key_mgr.ConfKeyManager",
            "fixed_key": "0" * 64,
        },
    }


def _device_options(layout: Layout, host: str) -> dict[str, dict[str, ini.Value]]:
    """Return the options of a compute's PCI devices.

    A compute that has reported its devices in Placement once doesn't start without that option.
    """
    gpus = layout.settings.gpus if host in hosts_with_gpus(layout) else 0
    return {
        "pci": {"device_spec": json.dumps(_GPU), "report_in_placement": True},
        "devcloud": {"gpus": gpus},
    }


def _peer_options(layout: Layout) -> dict[str, dict[str, ini.Value]]:
    """Return the options by which Nova finds its databases and the other services."""
    return {
        "api_database": {"connection": layout.database("nova_api")},
        "database": {"connection": layout.database("nova")},
        "placement": layout.login("placement"),
        "glance": {"api_servers": layout.url("glance"), **layout.login("glance")},
        "neutron": layout.login("neutron"),
        "service_user": {"send_service_user_token": True, **layout.login("nova")},
        "keystone_authtoken": layout.token_check("nova"),
    }
