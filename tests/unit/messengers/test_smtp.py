"""The messenger smtp, with a real mail server."""

import dataclasses
import smtplib
import socket
import threading
from typing import Any

import pytest
from devcloud_lib.ports import free_port
from oslo_config import cfg

from tests.fakes.certificate import Certificate
from tests.unit.messengers import mail_server
from tests.unit.messengers.conftest import MESSAGE
from warre_blazar import times
from warre_blazar.messengers import Message, Misconfigured, ServiceUnavailable, Undeliverable
from warre_blazar.messengers.smtp import SmtpMessenger

SENDER = "Réservations <reservations@example.org>"
LOGIN = {"smtp_username": mail_server.USER, "smtp_password": mail_server.PASSWORD}


@pytest.fixture
def made(conf: Any) -> Any:
    """A function that makes a messenger with options."""

    def make(port: int, **options: Any) -> SmtpMessenger:
        usual = {"sender": SENDER, "smtp_host": "127.0.0.1", "smtp_security": "none"}
        conf.config(group="warre_messages", smtp_port=port, **{**usual, **options})
        return SmtpMessenger(cfg.CONF)

    return make


def test_mail_has_both_parts_and_headers_for_programs(made: Any):
    with mail_server.serving() as (mailbox, port):
        made(port).send(MESSAGE)
    (mail,) = mailbox.mails
    assert mailbox.receivers == [["alpha@example.org"]]
    assert (mail["From"], mail["To"]) == (SENDER, "alpha@example.org")
    assert mail["Subject"] == MESSAGE.subject
    assert mail["Message-ID"] == "<warre-7-r1@example.org>"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Date"].datetime.tzinfo is not None
    plain, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert plain is not None and plain.get_content().splitlines() == MESSAGE.text.splitlines()
    assert html is not None and html.get_content().splitlines() == MESSAGE.html.splitlines()


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_mail_is_sent_over_tls_after_a_login(made: Any, certificate: Certificate, security: str):
    with mail_server.serving(security, certificate.server_context()) as (mailbox, port):
        options = {"smtp_security": security, "smtp_ca_file": str(certificate.path), **LOGIN}
        made(port, **options).send(MESSAGE)
    assert len(mailbox.mails) == 1
    assert mailbox.logins == [mail_server.USER]


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_server_whose_certificate_is_not_known_gets_no_mail(
    made: Any, certificate: Certificate, security: str
):
    running = mail_server.serving(security, certificate.server_context())
    refused = pytest.raises(ServiceUnavailable, match="certificate")
    with running as (mailbox, port), refused:
        made(port, smtp_security=security, **LOGIN).send(MESSAGE)
    assert mailbox.mails == mailbox.logins == []


def test_server_that_offers_no_starttls_gets_no_mail(made: Any):
    refused = pytest.raises(ServiceUnavailable, match="STARTTLS")
    with mail_server.serving() as (mailbox, port), refused:
        made(port, smtp_security="starttls", **LOGIN).send(MESSAGE)
    assert mailbox.mails == []


def test_refused_login_loses_nothing(made: Any, certificate: Certificate):
    with mail_server.serving("starttls", certificate.server_context()) as (_, port):
        options = {"smtp_security": "starttls", "smtp_ca_file": str(certificate.path)}
        messenger = made(port, **options, smtp_username="warre", smtp_password="wrong")
        with pytest.raises(ServiceUnavailable):
            messenger.send(MESSAGE)


@pytest.mark.parametrize("phase", ["rcpt_answer", "data_answer"])
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("450 mailbox busy", RuntimeError),
        ("550 no such user", Undeliverable),
        ("421 closing", RuntimeError),
    ],
)
def test_refused_mail_is_given_up_or_tried_again(
    made: Any, phase: str, answer: str, error: type[Exception]
):
    with mail_server.serving() as (mailbox, port):
        messenger = made(port)
        setattr(mailbox, phase, answer)
        with pytest.raises(error, match=answer.partition(" ")[2]) as refused:
            messenger.send(MESSAGE)
        assert type(refused.value) is error
        setattr(mailbox, phase, None)
        messenger.send(MESSAGE)
    assert len(mailbox.mails) == 1


def test_server_that_breaks_off_at_a_mail_holds_up_no_other_mail(
    made: Any, monkeypatch: pytest.MonkeyPatch
):
    """A filter may do so because of what a user has written."""
    with mail_server.serving() as (mailbox, port):
        messenger = made(port)

        async def break_off(_: Any, server: Any, session: Any, envelope: Any) -> str:
            server.transport.close()
            return "250 OK"

        with monkeypatch.context() as patch:
            patch.setattr(mail_server.Mailbox, "handle_DATA", break_off)
            with pytest.raises(smtplib.SMTPServerDisconnected):
                messenger.send(MESSAGE)
        messenger.send(MESSAGE)
    assert len(mailbox.mails) == 1


def numbered(number: int) -> Message:
    return dataclasses.replace(MESSAGE, id=f"warre-{number}")


def numbers(mailbox: mail_server.Mailbox) -> list[str]:
    return [mail["Message-ID"].partition("@")[0] for mail in mailbox.mails]


def test_batch_of_mails_needs_one_connection(made: Any):
    with mail_server.serving() as (mailbox, port), made(port).opened() as send:
        assert mailbox.connections == 0
        for number in range(20):
            send(numbered(number))
    assert numbers(mailbox) == [f"<warre-{number}" for number in range(20)]
    assert mailbox.connections == 1


@pytest.mark.parametrize("phase", ["rcpt_answer", "data_answer"])
@pytest.mark.parametrize("answer", ["450 mailbox busy", "550 no such user"])
def test_refused_mail_in_a_batch_needs_no_other_connection(made: Any, phase: str, answer: str):
    with mail_server.serving() as (mailbox, port), made(port).opened() as send:
        send(numbered(0))
        setattr(mailbox, phase, answer)
        with pytest.raises((RuntimeError, Undeliverable)):
            send(numbered(1))
        setattr(mailbox, phase, None)
        send(numbered(2))
    assert numbers(mailbox) == ["<warre-0", "<warre-2"]
    assert mailbox.connections == 1


def test_batch_goes_on_after_the_server_has_closed_the_connection(made: Any):
    port = free_port()
    with made(port).opened() as send:
        for number in range(2):
            with mail_server.serving(port=port) as (mailbox, _):
                send(numbered(number))
            assert numbers(mailbox) == [f"<warre-{number}"]


def test_server_that_takes_few_mails_over_a_connection_gets_all(made: Any):
    with mail_server.serving() as (mailbox, port), made(port).opened() as send:
        mailbox.most = 3
        for number in range(7):
            send(numbered(number))
    assert numbers(mailbox) == [f"<warre-{number}" for number in range(7)]
    assert mailbox.connections == 3


def test_mail_at_which_the_server_breaks_off_is_not_sent_again_in_its_batch(
    made: Any, monkeypatch: pytest.MonkeyPatch
):
    """The server may have taken it."""
    asked: list[Any] = []
    take = mail_server.Mailbox.handle_DATA

    async def break_off(mailbox: Any, server: Any, session: Any, envelope: Any) -> str:
        asked.append(envelope)
        if len(asked) == 2:
            server.transport.close()
            return "250 OK"
        return await take(mailbox, server, session, envelope)

    monkeypatch.setattr(mail_server.Mailbox, "handle_DATA", break_off)
    with mail_server.serving() as (mailbox, port), made(port).opened() as send:
        send(numbered(0))
        with pytest.raises(smtplib.SMTPServerDisconnected):
            send(numbered(1))
        send(numbered(2))
    assert len(asked) == 3
    assert numbers(mailbox) == ["<warre-0", "<warre-2"]


def test_server_that_is_away_loses_nothing(made: Any):
    port = free_port()
    messenger = made(port)
    with pytest.raises(ServiceUnavailable, match="refused"):
        messenger.send(MESSAGE)
    with mail_server.serving(port=port) as (mailbox, _):
        messenger.send(MESSAGE)
    assert len(mailbox.mails) == 1


def test_server_that_does_not_answer_counts_as_away(made: Any):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        messenger = made(silent.getsockname()[1], smtp_timeout=1)
        with pytest.raises(ServiceUnavailable, match="timed out"):
            messenger.send(MESSAGE)


def test_connection_to_a_slow_server_is_broken_off(made: Any, monkeypatch: pytest.MonkeyPatch):
    """A server that says something, but never all, doesn't hold up the channel."""
    monkeypatch.setattr(times, "SMTP_BROKEN_OFF_AFTER", 0.5)
    done = threading.Event()

    def dawdle(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"220 hello\r\n")
            while not done.wait(0.1):
                try:
                    connection.sendall(b"250-one more\r\n")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=dawdle, args=(server,))
        thread.start()
        try:
            with pytest.raises(ServiceUnavailable):
                made(server.getsockname()[1]).send(MESSAGE)
        finally:
            done.set()
            thread.join()


HEADERS = {
    *("From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted"),
    *("MIME-Version", "Content-Type"),
}

#: Texts that a mail program, or a library that writes mails, may read as something else.
ODD_SUBJECTS = [
    "=?utf-8?q?a=0D=0ABcc:_evil=40example.com?=",
    "=?utf-8?b?YQoKaHR0cDovL2V2aWwuZXhhbXBsZS9sb2dpbg==?=",
    'Cloud: your reservation "=?utf-8?q?a=0AReply-To:e=40evil.example=0A=0A?=" is booked',
    "=?iso-8859-1?Q?a=0D=0A?= =?utf-8?q?b?=",
    "\u00fc =?utf-8?q?a=0D=0ABcc:x?=",
    "\u540d" * 80,
    "x" * 300,
    "x" * 3000,
    "word " * 60 + "end",
]


@pytest.mark.parametrize("subject", ODD_SUBJECTS)
def test_subject_is_received_as_it_is_and_adds_no_header(made: Any, subject: str):
    with mail_server.serving() as (mailbox, port):
        made(port).send(dataclasses.replace(MESSAGE, subject=subject))
    (mail,) = mailbox.mails
    assert set(mail.keys()) == HEADERS and len(mail.keys()) == len(HEADERS)
    assert mail_server.subject_of(mailbox.contents[0]) == subject
    assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]


def test_mail_program_finds_the_page_that_stops_messages(made: Any):
    url = f"https://cloud.example.org/reservation/v2/stop-messages/{'x' * 340}.{'y' * 43}"
    with mail_server.serving() as (mailbox, port):
        made(port).send(dataclasses.replace(MESSAGE, stop_url=url))
    (mail,) = mailbox.mails
    assert set(mail.keys()) == HEADERS | {"List-Unsubscribe", "List-Unsubscribe-Post"}
    assert mail["List-Unsubscribe"] == f"<{url}>"
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


@pytest.mark.parametrize("part", ["to", "subject", "id"])
def test_mail_with_a_header_that_is_not_ours_is_not_sent(made: Any, part: str):
    evil = dataclasses.replace(MESSAGE, **{part: "x@example.org\r\nBcc: beta@example.org"})
    with mail_server.serving() as (mailbox, port), pytest.raises(Undeliverable, match="header"):
        made(port).send(evil)
    assert mailbox.mails == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"sender": None}, "sender"),
        ({"sender": "nobody"}, "sender"),
        ({"sender": "a@example.org\nBcc: b@example.org"}, "sender"),
        ({"smtp_host": None}, "smtp_host"),
        ({"smtp_security": "none", **LOGIN}, "smtp_security"),
        ({"smtp_security": "tls", "smtp_username": "warre"}, "smtp_password"),
        ({"smtp_ca_file": "/nowhere"}, "smtp_ca_file"),
    ],
)
def test_option_that_can_not_be_used_is_named(made: Any, options: dict[str, Any], named: str):
    with pytest.raises(Misconfigured, match=rf"\[warre_messages\] {named} "):
        made(25, **options)
