"""Placement, which keeps inventories and allocations."""

from devcloud_lib import ini, shell, wsgi
from devcloud_lib.layout import Layout
from devcloud_lib.service import Service


def configure(layout: Layout) -> None:
    ini.write(
        layout.etc("placement", "placement.conf"),
        {
            "placement_database": {"connection": layout.database("placement")},
            "api": {"auth_strategy": "keystone"},
            "keystone_authtoken": layout.token_check("placement"),
        },
    )


def migrate(layout: Layout) -> None:
    config = layout.etc("placement", "placement.conf")
    manage: shell.Words = [layout.program("placement-manage"), "--config-file", config]
    shell.run([*manage, "db", "sync"], layout.log("placement-manage"))


def services(layout: Layout) -> list[Service]:
    return [
        wsgi.service(
            layout,
            "placement",
            "placement.wsgi.api:application",
            {"OS_PLACEMENT_CONFIG_DIR": str(layout.etc("placement"))},
            (layout.etc("placement", "placement.conf"),),
        )
    ]
