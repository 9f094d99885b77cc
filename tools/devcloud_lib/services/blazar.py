"""Blazar with the plugin of this repository."""

from pathlib import Path

from devcloud_lib import ini, readiness, shell, stamps, venv, wsgi
from devcloud_lib.layout import PASSWORD, Layout
from devcloud_lib.service import Service
from devcloud_lib.services import nova
from devcloud_lib.settings import REPOSITORY

_STOCK_PLUGINS = ("physical.host.plugin", "virtual.instance.plugin", "flavor.instance.plugin")
_HOST_PLUGINS = {
    "stock": _STOCK_PLUGINS,
    "exact": tuple(f"exact.{name}" for name in _STOCK_PLUGINS),
    "alone": _STOCK_PLUGINS,
}
#: Everything else of this repository follows from this plugin.
_OURS = "flavor.slot.plugin"
_INSIDE = Path(__file__).resolve().parents[1] / "inside"
#: The tables of this repository are described in here.
_TABLES = REPOSITORY / "warre_blazar" / "db"


def configure(layout: Layout) -> None:
    """Write the configuration files.

    They have no options of oslo.limit and no region, because both follow from
    ``[keystone_authtoken]``.
    """
    ours = () if _is_alone(layout) else (_OURS,)
    plugins = (*_HOST_PLUGINS[layout.settings.host_plugins], *ours)
    ini.write(
        _config(layout),
        {
            **_peer_options(layout),
            "manager": {
                "plugins": ",".join(plugins),
                "minutes_before_end_lease": 0,
            },
            "warre": {
                # These two determine when a half-finished lease is repaired: after three minutes,
                # for which a test can wait.
                "request_timeout": 15,
                "server_deletion_timeout": 30,
                # The same as in Nova's configuration.
                "pci_alias": nova.GPU_ALIAS,
                "pci_in_placement": True,
                # Rare, so that a test sees what its own "host refresh" finds.
                "provider_poll_interval": 3600,
                "messengers": "smtp",
                # So often that a test, or the demo, sees which servers were in use.
                "usage_interval": 15,
            },
            "warre_messages": {
                "site_name": "dev cloud",
                "sender": "Reservations <reservations@example.org>",
                "smtp_host": "127.0.0.1",
                "smtp_port": layout.ports.mail,
                "smtp_security": "none",
            },
        },
    )
    for host in _manager_hosts(layout):
        ini.write(_host_config(layout, host), {"DEFAULT": {"host": host}})


def migrate(layout: Layout) -> None:
    """Make Blazar's own tables."""
    words: shell.Words = [layout.program("blazar-db-manage"), "--config-file", _config(layout)]
    shell.run([*words, "upgrade", "head"], layout.log("blazar-db-manage"))


def set_up_project(layout: Layout) -> str:
    """Make this repository's tables, and what it needs in Keystone.

    The tables of a commit that described other tables are dropped.
    """
    program = layout.program("warre-blazar-manage")
    if not program.exists() or _is_alone(layout):
        return ""
    log = layout.log("warre-blazar-manage")
    tables = stamps.digest(*sorted(_TABLES.glob("*models.py")), *sorted(_TABLES.rglob("0*.py")))
    if not layout.stamps.current("warre-tables", tables):
        url = layout.database("blazar", charset="utf8")
        shell.run([layout.program("python"), _INSIDE / "drop_tables.py", url], log)
    words: shell.Words = [program, "--config-file", _config(layout), "setup"]
    shell.run(words, log)
    layout.stamps.set("warre-tables", tables)
    return "tables, role and limits made or found"


def _is_alone(layout: Layout) -> bool:
    """Whether Blazar runs as it does without this package, which is installed nevertheless."""
    return layout.settings.host_plugins == "alone"


def services(layout: Layout) -> list[Service]:
    api = [
        wsgi.service(
            layout,
            "blazar-api",
            "blazar.wsgi.api:application",
            {"OS_BLAZAR_CONFIG_DIR": str(layout.etc("blazar"))},
            (_config(layout),),
            version=venv.project_version(),
            # With eventlet, a process serves requests in one thread only.
            workers=wsgi.Workers(
                layout.settings.api_workers, threads=1 if layout.settings.packages.eventlet else 16
            ),
        )
    ]
    return api + [_manager(layout, host) for host in _manager_hosts(layout)]


def _manager(layout: Layout, host: str) -> Service:
    files = (_config(layout), _host_config(layout, host))
    words = [word for path in files for word in ("--config-file", str(path))]
    return Service(
        name=f"blazar-{host}",
        home=layout.home,
        command=(str(layout.program("blazar-manager")), *words),
        ready=readiness.Rpc("openstack", "blazar.manager", host),
        config=files,
        version=layout.version + venv.project_version(),
    )


def _manager_hosts(layout: Layout) -> list[str]:
    return [f"manager{number}" for number in range(1, layout.settings.managers + 1)]


def _config(layout: Layout) -> Path:
    return layout.etc("blazar", "blazar.conf")


def _host_config(layout: Layout, host: str) -> Path:
    return layout.etc("blazar", f"{host}.conf")


def _peer_options(layout: Layout) -> dict[str, dict[str, ini.Value]]:
    """Return the options by which Blazar finds its database and the other services."""
    return {
        "DEFAULT": {
            "transport_url": layout.rabbit,
            "rpc_ping_enabled": True,
            "os_auth_version": "v3",
            "os_auth_protocol": "http",
            "os_auth_host": "127.0.0.1",
            "os_auth_port": layout.ports.keystone,
            "os_auth_prefix": "",
            "os_admin_username": "blazar",
            "os_admin_password": PASSWORD,
            "os_admin_project_name": "service",
            "identity_service": "identity",
            "host": "127.0.0.1",
            "port": layout.ports.blazar,
        },
        "oslo_messaging_notifications": {"driver": "messagingv2"},
        # Blazar's tables have utf8mb3's collation.
        "database": {"connection": layout.database("blazar", charset="utf8")},
        "keystone_authtoken": {**layout.token_check("blazar"), "service_type": "reservation"},
        "nova": {"aggregate_freepool_name": "freepool", "endpoint_type": "public"},
        "placement": {"endpoint_type": "public"},
        "oslo_policy": {"enforce_scope": False},
    }
