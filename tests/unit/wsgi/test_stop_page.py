"""The page on which the owner of an address stops messages, without a token."""

import re
from typing import Any

import pytest
from blazar.db.sqlalchemy import facade_wrapper
from oslo_config import cfg
from oslo_db import exception as db_exc

from tests.unit.wsgi import sending
from tests.unit.wsgi.whole import WholeSite
from warre_blazar.db import session
from warre_blazar.db.messages import message_settings as stored_secrets
from warre_blazar.db.tables import secrets
from warre_blazar.services.messages import message_settings

ADDRESS = "o'brien&co+gpu@Stranger.example"
MAILBOX = "o'brien&co@stranger.example"
FORM = "application/x-www-form-urlencoded"


def ask(site: WholeSite, method: str, token: str, body: bytes = b"", **headers: str) -> Any:
    path = f"/v2/stop-messages/{token}"
    return sending.send(site.app, method, path, body, who=None, **headers)


@pytest.fixture
def token(site: WholeSite) -> str:
    return message_settings.token_for(ADDRESS)


def test_opening_the_page_changes_nothing_and_the_button_stops_messages(
    site: WholeSite, token: str
):
    before = site.rows()
    for method in ("GET", "HEAD", "GET"):
        shown = ask(site, method, token)
        assert (shown.status_int, shown.content_type) == (200, "text/html")
    assert site.rows() == before
    assert "Stop messages</button>" in shown.text
    assert "<b>o&#39;brien&amp;co@stranger.example</b>" in shown.text
    assert not message_settings.is_stopped(MAILBOX)
    for _ in range(2):
        stopped = ask(site, "POST", token, b"messages=off", Content_Type=FORM)
        assert stopped.status_int == 200
        assert "Send messages again</button>" in stopped.text
        assert message_settings.is_stopped(MAILBOX)
    assert ask(site, "GET", token).text == stopped.text
    again = ask(site, "POST", token, b"messages=on", Content_Type=FORM)
    assert again.text == shown.text
    assert not message_settings.is_stopped(MAILBOX)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (FORM, b"List-Unsubscribe=One-Click"),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\nOne-Click\r\n--x--\r\n"),
        ("", b""),
        (FORM, b"\xff\x00&messages=o%ffn"),
    ],
    ids=["one click", "multipart", "nothing", "nonsense"],
)
def test_mail_program_stops_messages_with_one_request(
    site: WholeSite, token: str, kind: str, body: bytes
):
    assert ask(site, "POST", token, body, Content_Type=kind).status_int == 200
    assert message_settings.is_stopped(MAILBOX)


def test_page_needs_no_keystone_and_no_other_page_can_use_it(site: WholeSite, token: str):
    site.cloud.keystone.fail(status=503)
    shown = ask(site, "GET", token)
    assert shown.status_int == 200
    policy = shown.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert shown.headers["Referrer-Policy"] == "no-referrer"
    assert not re.search(r"src=|href=|<script", shown.text)


def test_name_of_the_site_is_escaped(site: WholeSite, token: str):
    cfg.CONF.set_override("site_name", "A <b> & {{ 7 * 7 }}", group="warre_messages")
    try:
        shown = ask(site, "GET", token).text
    finally:
        cfg.CONF.clear_override("site_name", group="warre_messages")
    assert "A &lt;b&gt; &amp; {{ 7 * 7 }}" in shown


def odd_parts(token: str, other: str) -> list[str]:
    """The last parts of links that this site hasn't made, from two that it has made."""
    name, _, signature = token.partition(".")
    return [
        *("", ".", "x", "x.y", name, f"{name}.", f".{signature}", f"{token}/", f"/{token}"),
        *(f"{other.partition('.')[0]}.{signature}", f"{name}.{other.partition('.')[2]}"),
        *(f"{name}.{signature[:-4]}", f"{name}.{signature}AAAA", f"{token}.{signature}"),
        *(f"{name}.{signature.swapcase()}", "\u00e4.\u00fc", "%00", f"{name}\r\nX: y.{signature}"),
        f"{'A' * 4000}.{signature}",
    ]


def test_link_that_was_changed_or_is_for_another_address_does_nothing(site: WholeSite, token: str):
    tokens = odd_parts(token, message_settings.token_for("victim@stranger.example"))
    before = site.rows()
    for each in tokens:
        for method in ("GET", "POST"):
            path = f"/v2/stop-messages/{each}".encode().decode("latin-1")
            answer = sending.send(site.app, method, path, b"messages=off", who=None)
            assert answer.status_int == 404, each
            assert "isn't valid" in answer.text and "button" not in answer.text
    assert site.rows() == before


def test_link_of_another_site_does_nothing(site: WholeSite, token: str):
    with session.writer() as db:
        db.execute(secrets.delete())
    assert message_settings.token_for(ADDRESS) != token
    assert ask(site, "POST", token).status_int == 404
    assert not message_settings.is_stopped(MAILBOX)


def test_managers_and_api_share_the_key(
    site: WholeSite, token: str, monkeypatch: pytest.MonkeyPatch
):
    """A process may have looked for the key just before another one has made it."""
    find, looks = stored_secrets.find_key, iter([None, None])
    monkeypatch.setattr(stored_secrets, "find_key", lambda *args: next(looks, find(*args)))
    assert message_settings.token_for(ADDRESS) == token
    assert next(looks, "both") == "both"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "get"])
def test_page_has_no_other_methods(site: WholeSite, token: str, method: str):
    before = site.rows()
    answer = ask(site, method, token)
    assert (answer.status_int, answer.headers["Allow"]) == (405, "GET, HEAD, POST")
    assert site.rows() == before


def test_long_body_is_refused(site: WholeSite, token: str):
    answer = ask(site, "POST", token, b"x" * (128 * 1024 + 1), Content_Type=FORM)
    assert sending.refused(answer) == (413, "body_too_large")
    assert not message_settings.is_stopped(MAILBOX)


def test_database_that_is_away_is_said(
    site: WholeSite, token: str, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: Any, **__: Any) -> None:
        raise db_exc.DBConnectionError

    monkeypatch.setattr(facade_wrapper, "session_for_read", fail)
    assert sending.refused(ask(site, "GET", token)) == (503, "service_unavailable")
