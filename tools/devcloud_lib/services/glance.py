"""Glance, which keeps images in files."""

import shutil

from devcloud_lib import ini, shell, wsgi
from devcloud_lib.layout import Layout
from devcloud_lib.service import Service


def configure(layout: Layout) -> None:
    images = layout.state("glance")
    paste = layout.etc("glance", "glance-api-paste.ini")
    ini.write(
        layout.etc("glance", "glance-api.conf"),
        {
            "DEFAULT": {"enabled_backends": "local:file"},
            "glance_store": {"default_backend": "local"},
            "local": {"filesystem_store_datadir": images / "images"},
            "os_glance_tasks_store": {"filesystem_store_datadir": images / "tasks"},
            "os_glance_staging_store": {"filesystem_store_datadir": images / "staging"},
            "database": {"connection": layout.database("glance")},
            "paste_deploy": {"flavor": "keystone", "config_file": paste},
            "keystone_authtoken": layout.token_check("glance"),
        },
    )
    shutil.copy(layout.venv / "etc" / "glance" / paste.name, paste)


def migrate(layout: Layout) -> None:
    config = layout.etc("glance", "glance-api.conf")
    manage: shell.Words = [layout.program("glance-manage"), "--config-file", config]
    shell.run([*manage, "db", "sync"], layout.log("glance-manage"))


def services(layout: Layout) -> list[Service]:
    return [
        wsgi.service(
            layout,
            "glance",
            "glance.wsgi.api:application",
            {"OS_GLANCE_CONFIG_DIR": str(layout.etc("glance"))},
            (layout.etc("glance", "glance-api.conf"),),
        )
    ]
