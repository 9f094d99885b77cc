"""Makes the bytes of a mail, and checks that a mail program reads in them what was meant.

Users write parts of a mail, such as the names of reservations. What they write may look like an
encoded word of RFC 2047. Python's newer mail policies decode such words when a header is set, and
some versions write a line break that was encoded in them. So headers are encoded before a policy
sees them, and the finished mail is read again.
"""

import email
import email.message
import email.policy
import re
from collections.abc import Mapping
from email.charset import QP, Charset
from email.header import Header
from email.mime.multipart import MIMEMultipart
from email.mime.nonmultipart import MIMENonMultipart

#: It writes headers as they are, and adds no line breaks to them.
_POLICY = email.policy.compat32.clone(linesep="\r\n", max_line_length=None)
#: The largest number of characters of a header that isn't encoded. SMTP allows 998 in a line.
_LONGEST = 900
#: The headers that a mail with several parts has in addition.
_OF_PARTS = ("Content-Type", "MIME-Version")
_PARTS = ("plain", "html")
_PLAIN, _QUOTED = Charset("us-ascii"), Charset("utf-8")
#: Most of such a text can be read without decoding it.
_QUOTED.body_encoding = QP
#: What some servers take for the end of a line, although it isn't CR LF.
_ODD_BYTES = re.compile(rb"\r(?!\n)|(?<!\r)\n|\0")


def encoded(text: str) -> str:
    """A text for the subject, encoded unless every mail program shows it as it is."""
    is_plain = text.isascii() and "=?" not in text and len(text) <= _LONGEST
    return text if is_plain else Header(text, "utf-8", header_name="Subject").encode()


def composed(headers: Mapping[str, str], text: str, html: str) -> bytes:
    """The bytes of a mail with a text and an HTML part.

    :param headers: what isn't ASCII has to be encoded.
    :raises Exception: no such mail can be made. Another attempt would fail in the same way.
    """
    mail = MIMEMultipart("alternative")
    for name, value in headers.items():
        mail[name] = value
    for kind, body in zip(_PARTS, (text, html), strict=True):
        mail.attach(_part(body, kind))
    content = mail.as_bytes(policy=_POLICY)
    _check(content, [*headers, *_OF_PARTS])
    return content


def _part(body: str, kind: str) -> email.message.Message:
    """A part of a mail. Python's newer classes take three times as long to make one."""
    is_plain = body.isascii() and max(map(len, body.splitlines()), default=0) <= _LONGEST
    charset = _PLAIN if is_plain else _QUOTED
    part = MIMENonMultipart("text", kind, charset=str(charset))
    part.set_payload(body, charset)
    return part


def _check(content: bytes, names: list[str]) -> None:
    """
    :raises ValueError: a mail program would see other headers or other parts than those that were
        set.
    """
    mail = email.message_from_bytes(content, policy=_POLICY)
    if sorted(mail.keys()) != sorted(names):
        raise ValueError(f"the mail would have the headers {', '.join(mail.keys())}")
    parts = [part.get_content_type() for part in mail.walk()]
    expected = ["multipart/alternative", *(f"text/{kind}" for kind in _PARTS)]
    if parts != expected or any(part.defects for part in mail.walk()) or _ODD_BYTES.search(content):
        raise ValueError(f"the mail would have parts or line breaks that nobody set: {parts}")
