"""The messenger that sends mail."""

import contextlib
import email.utils
import smtplib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator

from oslo_config import cfg

from warre_blazar import texts, times
from warre_blazar.errors import exceptions
from warre_blazar.fields.kinds import Email
from warre_blazar.messengers import Message, Messenger, Undeliverable, mail, required

_PORTS = {"starttls": 587, "tls": 465, "none": 25}
#: The status with which a mail server accepts a command.
_OK = 250


class SmtpMessenger(Messenger):
    """Sends mail with a text and an HTML part, over one connection for each batch of mails."""

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
        with self.opened() as send:
            send(message)

    @contextlib.contextmanager
    def opened(self) -> Iterator[Callable[[Message], None]]:
        connection = _Connection(self._connect, self._log_in)

        def send(message: Message) -> None:
            assert message.to is not None  # the messenger needs an address
            connection.send(self._from, message.to, self._mail(message, message.to))

        try:
            yield send
        finally:
            connection.close()

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

    def _connect(self) -> smtplib.SMTP:
        if self._security == "tls":
            return smtplib.SMTP_SSL(
                self._host, self._port, timeout=self._timeout, context=self._tls
            )
        return smtplib.SMTP(self._host, self._port, timeout=self._timeout)

    def _log_in(self, server: smtplib.SMTP) -> None:
        if self._security == "starttls":
            server.starttls(context=self._tls)
        server.ehlo_or_helo_if_needed()
        if self._user:
            server.login(self._user, self._password)


class _Connection:
    """A connection to the mail server, which is made when the first mail is sent.

    The server may close it after some mails, or because of a mail that it doesn't like. Then the
    next mail gets a new connection.
    """

    def __init__(
        self, connect: Callable[[], smtplib.SMTP], log_in: Callable[[smtplib.SMTP], None]
    ) -> None:
        self._connect, self._log_in = connect, log_in
        self._server: smtplib.SMTP | None = None
        #: Whether the connection is broken off, because it has taken too long.
        self._is_late = False

    def send(self, sender: str, to: str, content: bytes) -> None:
        """Send a mail.

        :raises ServiceUnavailable: there is no connection, so no mail can be sent.
        :raises Undeliverable: the server never takes this mail.
        :raises Exception: the server hasn't taken this mail. This may be due to what is in it: a
            filter may break off the connection. So other mail isn't held up.
        """
        with self._in_time():
            server = self._living()
            try:
                try:
                    (server or self._new()).sendmail(sender, [to], content)
                except smtplib.SMTPSenderRefused:
                    if server is None:
                        raise
                    # Some servers take only so many mails over one connection.
                    self._new().sendmail(sender, [to], content)
            except smtplib.SMTPRecipientsRefused as error:
                raise _refused(*error.recipients[to]) from error
            except smtplib.SMTPDataError as error:
                raise _refused(error.smtp_code, error.smtp_error) from error

    def close(self) -> None:
        """Say goodbye to the server."""
        if self._server is not None:
            with contextlib.suppress(OSError, smtplib.SMTPException), self._in_time():
                self._server.quit()
            self._server.close()
            self._server = None

    def _living(self) -> smtplib.SMTP | None:
        """The connection over which the last mail was sent, if it can be used again."""
        if self._server is not None:
            with contextlib.suppress(OSError, smtplib.SMTPException):
                if self._server.rset()[0] == _OK:
                    return self._server
        return None

    def _new(self) -> smtplib.SMTP:
        """A new connection, over which the server has accepted the login.

        :raises ServiceUnavailable: there is none.
        """
        if self._server is not None:
            self._server.close()
            self._server = None
        try:
            self._server = self._connect()
            if self._is_late:
                raise TimeoutError("timed out")
            self._log_in(self._server)
        except (OSError, smtplib.SMTPException) as error:
            raise exceptions.ServiceUnavailable(
                "The mail server", texts.services.SAID(said=str(error))
            ) from error
        return self._server

    @contextlib.contextmanager
    def _in_time(self) -> Iterator[None]:
        """Break off the connection if the ``with`` block takes too long."""
        self._is_late = False
        timer = threading.Timer(times.SMTP_BROKEN_OFF_AFTER, self._break_off)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _break_off(self) -> None:
        self._is_late = True
        # STARTTLS replaces the socket.
        if self._server is not None and self._server.sock is not None:
            with contextlib.suppress(OSError):
                self._server.sock.shutdown(socket.SHUT_RDWR)


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
