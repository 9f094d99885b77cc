"""The messenger that sends mail."""

import contextlib
import email.utils
import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator

from oslo_config import cfg

from warre_blazar import texts, times
from warre_blazar.errors import exceptions
from warre_blazar.fields.kinds import Email
from warre_blazar.messengers import Message, Messenger, Undeliverable, mail, required

_PORTS = {"starttls": 587, "tls": 465, "none": 25}


class SmtpMessenger(Messenger):
    """Sends mail with a text and an HTML part, over one connection for each mail."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        options = conf.warre_messages
        self._sender = required(conf, "sender")
        self._from = email.utils.parseaddr(self._sender)[1]
        _check_sender(self._sender, self._from)
        self._host, self._security = required(conf, "smtp_host"), options.smtp_security
        self._port = options.smtp_port or _PORTS[self._security]
        self._timeout = options.smtp_timeout
        self._user, self._password = options.smtp_username, options.smtp_password
        if self._user and self._security == "none":
            raise exceptions.Misconfigured(
                "[warre_messages] smtp_security", texts.services.LOGIN_NEEDS_TLS()
            )
        if self._user:
            required(conf, "smtp_password")
        self._tls = _tls(options.smtp_ca_file)

    def send(self, message: Message) -> None:
        assert message.to is not None  # the messenger needs an address
        content = self._mail(message, message.to)
        with self._connected() as server:
            # From here on, a failure may be due to this mail: a filter may break off the
            # connection. So other mail isn't held up.
            try:
                server.sendmail(self._from, [message.to], content)
            except smtplib.SMTPRecipientsRefused as error:
                raise _refused(*error.recipients[message.to]) from error
            except smtplib.SMTPDataError as error:
                raise _refused(error.smtp_code, error.smtp_error) from error

    def _mail(self, message: Message, to: str) -> bytes:
        """
        :raises Undeliverable: the message can't be put into a mail.
        """
        headers = {
            "From": email.utils.formataddr(email.utils.parseaddr(self._sender)),
            "To": to,
            "Subject": mail.encoded(message.subject),
            "Date": email.utils.format_datetime(email.utils.localtime()),
            # A mail that arrives twice has the same id, so that mail programs can show it once.
            "Message-ID": f"<{message.id}@{self._from.rpartition('@')[2]}>",
            # Vacation responders and the like don't answer such mail.
            "Auto-Submitted": "auto-generated",
        }
        if message.stop_url:
            # Mail programs offer a button for it (RFC 8058).
            headers["List-Unsubscribe"] = f"<{message.stop_url}>"
            headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        try:
            return mail.composed(headers, message.text, message.html)
        except Exception as error:
            raise Undeliverable(f"It can't be put into a mail: {error!r}") from error

    @contextlib.contextmanager
    def _connected(self) -> Iterator[smtplib.SMTP]:
        """A connection to the mail server, which has accepted the login.

        :raises ServiceUnavailable: there is none, so no mail can be sent.
        """
        with contextlib.ExitStack() as stack:
            try:
                # When the stack ends, smtplib says goodbye to the server.
                server = stack.enter_context(self._connect())
                stack.enter_context(_broken_off(server))
                if self._security == "starttls":
                    server.starttls(context=self._tls)
                server.ehlo_or_helo_if_needed()
                if self._user:
                    server.login(self._user, self._password)
            except (OSError, smtplib.SMTPException) as error:
                raise exceptions.ServiceUnavailable(
                    "The mail server", texts.services.SAID(said=str(error))
                ) from error
            yield server

    def _connect(self) -> smtplib.SMTP:
        if self._security == "tls":
            return smtplib.SMTP_SSL(
                self._host, self._port, timeout=self._timeout, context=self._tls
            )
        return smtplib.SMTP(self._host, self._port, timeout=self._timeout)


@contextlib.contextmanager
def _broken_off(server: smtplib.SMTP) -> Iterator[None]:
    """Break off a connection if the ``with`` block takes too long."""

    def close() -> None:
        # STARTTLS replaces the socket.
        if server.sock is not None:
            with contextlib.suppress(OSError):
                server.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(times.SMTP_BROKEN_OFF_AFTER, close)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _refused(code: int, answer: bytes | str) -> Exception:
    """The error for a mail that the server hasn't taken."""
    said = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
    text = f"The mail server answers: {code} {said}"
    return Undeliverable(text) if code >= 500 else RuntimeError(text)


def _tls(ca_file: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise exceptions.Misconfigured(
            "[warre_messages] smtp_ca_file", texts.services.FILE_SAID(said=str(error))
        ) from error


def _check_sender(sender: str, address: str) -> None:
    option = "[warre_messages] sender"
    if not sender.isprintable():
        raise exceptions.Misconfigured(option, texts.services.ONE_LINE())
    try:
        Email().validate(address)
    except texts.NotValid as error:
        raise exceptions.Misconfigured(
            option, texts.services.ADDRESS(address=error.expected)
        ) from error
