"""Neutron without agents: networks and ports exist in its database only."""

import shutil
from pathlib import Path

from devcloud_lib import ini, shell, wsgi
from devcloud_lib.layout import Layout
from devcloud_lib.service import Service

# The application, with a workaround, and the ML2 mechanism driver that binds ports without agents.
_CODE = Path(__file__).resolve().parents[1] / "inside" / "neutron_api"
_MECHANISM = "devcloud"


def configure(layout: Layout) -> None:
    paste = layout.etc("neutron", "api-paste.ini")
    ini.write(
        layout.etc("neutron", "neutron.conf"),
        {
            "DEFAULT": {
                "transport_url": layout.rabbit,
                "state_path": layout.state("neutron"),
                "api_paste_config": paste,
                "core_plugin": "ml2",
                "service_plugins": "router,port_forwarding",
                "auth_strategy": "keystone",
                "notify_nova_on_port_status_changes": False,
                "notify_nova_on_port_data_changes": False,
            },
            "database": {"connection": layout.database("neutron")},
            "ml2": {
                "type_drivers": "local,flat",
                "tenant_network_types": "local",
                "mechanism_drivers": _MECHANISM,
            },
            "oslo_concurrency": {"lock_path": layout.state("neutron", "locks")},
            "keystone_authtoken": layout.token_check("neutron"),
        },
    )
    shutil.copy(layout.venv / "etc" / "neutron" / paste.name, paste)
    _register_mechanism(layout)


def migrate(layout: Layout) -> None:
    config = layout.etc("neutron", "neutron.conf")
    manage: shell.Words = [layout.program("neutron-db-manage"), "--config-file", config]
    shell.run([*manage, "upgrade", "head"], layout.log("neutron-db-manage"))


def services(layout: Layout) -> list[Service]:
    directory = layout.etc("neutron")
    config = directory / "neutron.conf"
    environment = {
        "PYTHONPATH": f"{directory}:{_CODE}",
        "OS_NEUTRON_CONFIG_DIR": str(directory),
        "OS_NEUTRON_CONFIG_FILES": str(config),
    }
    module = "neutron_application:application"
    files = (config, *sorted(_CODE.glob("*.py")))
    return [wsgi.service(layout, "neutron", module, environment, files)]


def _register_mechanism(layout: Layout) -> None:
    """Write package metadata of our mechanism driver. Neutron finds drivers by entry point."""
    package = layout.etc("neutron", "devcloud_neutron-1.0.dist-info")
    package.mkdir(exist_ok=True)
    (package / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: devcloud-neutron\nVersion: 1.0\n"
    )
    points = f"[neutron.ml2.mechanism_drivers]\n{_MECHANISM} = neutron_binding:AlwaysBinds\n"
    (package / "entry_points.txt").write_text(points)
