"""A mail server that keeps all mail in a directory, so that people and tests can read it."""

from devcloud_lib import readiness
from devcloud_lib.layout import Layout
from devcloud_lib.service import Service


def services(layout: Layout) -> list[Service]:
    port = layout.ports.mail
    command = (
        *(str(layout.program("python")), "-m", "aiosmtpd", "--nosetuid"),
        *("--listen", f"127.0.0.1:{port}"),
        *("--class", "aiosmtpd.handlers.Mailbox", str(layout.home / "mail")),
    )
    return [Service("mail", layout.home, command, readiness.Tcp(port, greets=True))]
