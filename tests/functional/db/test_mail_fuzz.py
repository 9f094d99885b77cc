"""Whatever users write, a mail server receives the mail that was meant, and nothing else."""

import email
import re
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import sqlalchemy as sa
from hypothesis import strategies as st
from oslo_config import cfg

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.test_messages import ADDRESS, CHANNEL, book, channel, channel_of
from tests.functional.db.test_outbox import beat
from tests.unit.messengers import mail_server
from warre_blazar.db import session, tables
from warre_blazar.db.messages import deliveries, outbox
from warre_blazar.domain.messages import messages
from warre_blazar.domain.messages.messages import one_line
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.messengers.smtp import SmtpMessenger
from warre_blazar.services.messages.delivery import Delivery

__all__ = ["channel"]

# SQLite alone: what is tried here doesn't depend on the database.
pytestmark = [
    pytest.mark.usefixtures("database", "channel"),
    pytest.mark.parametrize("kind", ["sqlite"], indirect=True, scope="session"),
]

HEADERS = {
    *("From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted"),
    *("MIME-Version", "Content-Type"),
}
#: Those of a mail to an address that isn't the user's.
OF_OTHERS = {*HEADERS, "List-Unsubscribe", "List-Unsubscribe-Post"}
#: Parts of headers, of encoded words and of mails with several parts.
_PIECES = [
    *("=?utf-8?q?", "=?UTF-8?B?", "=?iso-8859-1?Q?", "=?us-ascii?x?", "=?", "?=", "?", "="),
    *("=0D=0A", "=0A", "=0D", "=00", "=20", "=3D=3F", "DQpCY2M6IGV2aWxAZXhhbXBsZS5jb20="),
    *("YQoKaHR0cDovL2V2aWwuZXhhbXBsZQ==", "Bcc:", "Bcc:_evil=40example.com", "Reply-To: x"),
    *("\\r\\n", "--", "--===============", "Content-Type: text/html", "MIME-Version: 1.0"),
    *(" ", "  ", '"', "<", ">", "\\\\", "(", ")", ",", ";", "{{ 7 * 7 }}", "{% raw %}"),
    *("\u00fc", "\u540d", "\U0001f600", "\u2028", "\u0085", "\u202e", "\ufeff"),
]
TEXTS = st.one_of(
    st.lists(st.sampled_from(_PIECES), min_size=1, max_size=30).map("".join),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=200),
    st.builds(
        lambda text, code: f"=?utf-8?{code}?{text}?=",
        st.text("aZ09=_+/", max_size=60),
        st.just("b"),
    ),
).map(lambda text: text[:255])
CONTACTS = st.one_of(
    st.none(),
    st.emails(),
    TEXTS,
    st.builds(lambda local: f"{local}@example.org"[:254], TEXTS),
)


@pytest.fixture
def mailing(conf: Any, cloud: Cloud) -> Iterator[mail_server.Mailbox]:
    """A mail server to which the channel of the messages sends."""
    with mail_server.serving() as (mailbox, port):
        given = {"sender": "a@example.org", "smtp_host": "127.0.0.1", "smtp_security": "none"}
        conf.config(group="warre_messages", smtp_port=port, **given)
        yield mailbox


def test_mail_is_received_as_it_was_meant(
    cloud: Cloud, database: sa.Engine, mailing: mail_server.Mailbox
):
    lease = book(cloud)
    delivery = Delivery(channel_of(SmtpMessenger(cfg.CONF)), beat("one"))
    delivery.run()

    @hypothesis.given(TEXTS, CONTACTS, TEXTS, st.sampled_from([Kind.CREATED, Kind.ENDED]))
    def check(name: str, contact: str | None, project: str, kind: Kind) -> None:
        mailing.contents.clear()
        mailing.receivers.clear()
        cloud.keystone.projects[world.PROJECT] = {"name": project}
        with database.begin() as connection:
            connection.execute(tables.bookings.update().values(name=name, contact=contact))
        news = News(kind, world.NOW)
        session.change(outbox.add, outbox.of_reservations([lease.reservation_id]), news)
        delivery.run()
        (content,) = mailing.contents
        receiver = contact if messages.is_address(contact) else ADDRESS
        assert mailing.receivers == [[receiver]]
        _check(content, name, project, receiver)

    check()
    with session.reader() as db:
        assert deliveries.backlogs(db)[CHANNEL] == deliveries.Backlog()


def _check(content: bytes, name: str, project: str, receiver: str | None) -> None:
    # As a strict and as a lenient program read it.
    heads = [content.partition(b"\r\n\r\n")[0], re.split(rb"\r?\n\r?\n|\r\r", content)[0]]
    for head in heads:
        lines = [line for line in re.split(rb"\r\n|\r|\n", head) if not line.startswith(b" ")]
        names = [line.partition(b":")[0].decode() for line in lines]
        assert sorted(names) == sorted(HEADERS if receiver == ADDRESS else OF_OTHERS)
    mail = email.message_from_bytes(content)
    assert mail["To"] == receiver
    title = one_line(name)
    shown = f'"{title}"' if len(title) <= 60 else f'"{title[:60]}..."'
    subject = mail_server.subject_of(content)
    assert (shown if title else "reservation of ") in subject
    parts = list(mail.walk())[1:]
    assert [part.get_content_type() for part in parts] == ["text/plain", "text/html"]
    text = parts[0].get_payload(decode=True).decode()
    assert re.search(r"\r\nID: ", text)
    assert f"Project:     {one_line(project)}".strip() in text
