"""A real mail server on this machine."""

import contextlib
import email
import email.header
import email.message
import email.policy
import re
import ssl
from collections.abc import Iterator
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from devcloud_lib.ports import free_port

USER, PASSWORD = "warre", "secret word"


def subject_of(content: bytes) -> str:
    """The subject as a mail program shows it.

    The parser of ``email.policy.default`` would decode what is encoded once more.
    """
    mail = email.message_from_bytes(content, policy=email.policy.compat32)
    unfolded = re.sub(r"\r?\n(?=[ \t])", "", mail["Subject"]).strip()
    return str(email.header.make_header(email.header.decode_header(unfolded)))


class Mailbox:
    """What a mail server has received, and how it answers."""

    def __init__(self) -> None:
        self.mails: list[email.message.EmailMessage] = []
        #: The bytes of each mail.
        self.contents: list[bytes] = []
        #: The receivers of each mail, as the client has named them to the server.
        self.receivers: list[list[str]] = []
        self.logins: list[str] = []
        #: How many connections have said hello.
        self.connections = 0
        #: The largest number of mails that the server takes over one connection. None: any number.
        self.most: int | None = None
        #: The answers to RCPT and to the end of DATA. None: the server accepts it.
        self.rcpt_answer: str | None = None
        self.data_answer: str | None = None

    async def handle_EHLO(
        self, server: Any, session: Any, envelope: Any, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        session.mails = 0
        self.connections += 1
        return responses

    async def handle_MAIL(
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if session.mails == self.most:
            return "421 too many mails over one connection"
        session.mails += 1
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if self.rcpt_answer:
            return self.rcpt_answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.data_answer:
            return self.data_answer
        self.contents.append(envelope.content)
        policy = email.policy.default
        self.mails.append(email.message_from_bytes(envelope.content, policy=policy))
        self.receivers.append(envelope.rcpt_tos)
        return "250 OK"

    def log_in(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> Any:
        """aiosmtpd calls this for each login."""
        given = isinstance(data, LoginPassword) and (data.login, data.password)
        if given != (USER.encode(), PASSWORD.encode()):
            return AuthResult(success=False, handled=False)
        self.logins.append(USER)
        return AuthResult(success=True)


class _StartTls(Controller):
    """A server that offers STARTTLS, and takes nothing without it."""

    def __init__(self, mailbox: Mailbox, tls: ssl.SSLContext, **options: Any) -> None:
        self._tls = tls
        super().__init__(mailbox, **options)

    def factory(self) -> SMTP:
        return SMTP(
            self.handler,
            tls_context=self._tls,
            require_starttls=True,
            auth_required=True,
            authenticator=self.handler.log_in,
        )


@contextlib.contextmanager
def serving(
    security: str = "none", tls: ssl.SSLContext | None = None, port: int | None = None
) -> Iterator[tuple[Mailbox, int]]:
    """A mail server, and the port on which it listens.

    With TLS of either kind, it takes mail only after a login.

    :param security: "none", "starttls" or "tls".
    """
    mailbox, port = Mailbox(), port or free_port()
    options: dict[str, Any] = {"hostname": "127.0.0.1", "port": port, "ready_timeout": 120}
    if security == "starttls":
        assert tls is not None
        controller: Controller = _StartTls(mailbox, tls, **options)
    elif security == "tls":
        login = {"auth_required": True, "auth_require_tls": False, "authenticator": mailbox.log_in}
        controller = Controller(mailbox, ssl_context=tls, **options, **login)
    else:
        controller = Controller(mailbox, **options)
    controller.start()
    try:
        yield mailbox, port
    finally:
        controller.stop()
