"""Keystone: users, roles, limits and the service catalog."""

import getpass
import grp
import os
from pathlib import Path

from devcloud_lib import ini, shell, wsgi
from devcloud_lib.layout import PASSWORD, REGION, Layout
from devcloud_lib.service import Service

# The application, with a workaround.
_CODE = Path(__file__).resolve().parents[1] / "inside" / "keystone_api"


def configure(layout: Layout) -> None:
    ini.write(
        layout.etc("keystone", "keystone.conf"),
        {
            "database": {"connection": layout.database("keystone")},
            "identity": {"password_hash_rounds": str(layout.settings.password_rounds)},
            "token": {"provider": "fernet"},
            # Without its cache, Keystone computes for 70 ms to check any token. The cache is in
            # memory, so there must be a single process. If a request reads a user while another
            # one changes the user, the cache can keep what was before until it expires. By default
            # that takes ten minutes.
            "cache": {
                "enabled": True,
                "backend": "dogpile.cache.memory",
                "expiration_time": 60,
            },
            "fernet_tokens": {"key_repository": layout.state("keystone", "fernet")},
            "credential": {"key_repository": layout.state("keystone", "credential")},
        },
    )


def migrate(layout: Layout) -> None:
    """Make the tables, the keys, and the user admin with its project and endpoint."""
    for keys in ("fernet", "credential"):
        layout.state("keystone", keys).mkdir(parents=True, exist_ok=True)
    manage: shell.Words = [
        layout.program("keystone-manage"),
        "--config-file",
        layout.etc("keystone", "keystone.conf"),
    ]
    log = layout.log("keystone-manage")
    shell.run([*manage, "db_sync"], log)
    owner = [
        f"--keystone-user={getpass.getuser()}",
        f"--keystone-group={grp.getgrgid(os.getgid()).gr_name}",
    ]
    shell.run([*manage, "fernet_setup", *owner], log)
    shell.run([*manage, "credential_setup", *owner], log)
    urls = [f"--bootstrap-{name}-url={layout.auth_url}" for name in ("admin", "internal", "public")]
    password = f"--bootstrap-password={PASSWORD}"
    region = f"--bootstrap-region-id={REGION}"
    shell.run([*manage, "bootstrap", password, region, *urls], log)


def services(layout: Layout) -> list[Service]:
    return [
        wsgi.service(
            layout,
            "keystone",
            "keystone_application:application",
            {"PYTHONPATH": str(_CODE), "OS_KEYSTONE_CONFIG_DIR": str(layout.etc("keystone"))},
            (layout.etc("keystone", "keystone.conf"), *sorted(_CODE.glob("*.py"))),
            workers=wsgi.Workers(1, threads=8),
        )
    ]
