"""The page on which the owner of an address stops messages.

A link in the messages leads there. Whoever opens it may have no account, so the page is answered
before Keystone's middleware asks for a token. Opening the page changes nothing, because programs
that look for malware open all links of a mail.
"""

from typing import Any
from urllib.parse import parse_qs

import jinja2
import webob
from oslo_config import cfg

from warre_blazar import conf
from warre_blazar.db import session
from warre_blazar.errors import exceptions
from warre_blazar.services.messages import message_settings
from warre_blazar.wsgi import request_bodies

conf.register(cfg.CONF)

ROOT = f"/v2{message_settings.PATH}"
_METHODS = ("GET", "HEAD", "POST")
#: The page runs nothing, loads nothing and isn't shown inside another page.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_PAGE = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>Messages of {{ site }}</title>
</head>
<body style="max-width: 36em; margin: 3em auto; padding: 0 1em; font: 16px/1.5 sans-serif">
<h1 style="font-size: 1.3em">Messages of {{ site }}</h1>
{% if mailbox is none %}
<p>This link isn't valid here. Open the link as it is in the message, up to its last character.</p>
{% elif is_stopped %}
<p>No messages about the reservations of others are sent to <b>{{ mailbox }}</b>.</p>
<p>If you want them again, press this button:</p>
<form method="post"><button name="messages" value="on">Send messages again</button></form>
{% else %}
<p>{{ site }} sends messages to <b>{{ mailbox }}</b>, because users have named this address for
their reservations.</p>
<p>If you press this button, {{ site }} sends no messages about the reservations of others to this
address any more, whoever names it. If you have an account there, you still get the messages about
your own reservations. You can undo this on this page.</p>
<form method="post"><button name="messages" value="off">Stop messages</button></form>
{% endif %}
</body>
</html>
"""
)


def is_for(environ: dict[str, Any]) -> bool:
    """Whether a request is for the page."""
    return bool(environ.get("PATH_INFO", "").startswith(ROOT))


def answer(environ: dict[str, Any]) -> webob.Response:
    """Show the page, and do what its buttons say.

    A POST of a mail program that has the body of RFC 8058 stops messages too.

    :raises Refused: the body is too long.
    :raises ServiceUnavailable: the database can't be reached.
    """
    body = request_bodies.read(environ, request_bodies.MAX_BODY)
    method = environ["REQUEST_METHOD"]
    if method not in _METHODS:
        return webob.Response(status=405, headerlist=[("Allow", ", ".join(_METHODS))])
    try:
        mailbox = message_settings.mailbox_of_token(environ["PATH_INFO"].removeprefix(ROOT))
        is_stopped = mailbox is not None and message_settings.is_stopped(mailbox)
        if mailbox is not None and method == "POST":
            is_stopped = not _wants_messages(body)
            (message_settings.stop if is_stopped else message_settings.resume)(mailbox)
    except session.FAILURES as error:
        raise exceptions.DatabaseUnavailable(error) from error
    site = cfg.CONF.warre_messages.site_name
    page = _PAGE.render(site=site, mailbox=mailbox, is_stopped=is_stopped)
    made = webob.Response(page, status=404 if mailbox is None else 200, charset="UTF-8")
    made.headers.update(_HEADERS)
    return made


def _wants_messages(body: bytes) -> bool:
    """Whether the body of a POST is that of the button that lets messages be sent again."""
    return parse_qs(body.decode("latin-1")).get("messages") == ["on"]
