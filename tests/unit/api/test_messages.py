"""/messages: whether the caller gets messages."""

import re
from typing import Any

import pytest
from oslo_config import cfg

from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from warre_blazar import texts
from warre_blazar.errors import exceptions
from warre_blazar.openstack import people
from warre_blazar.services.messages import message_settings


def test_messages_are_on_until_the_user_turns_them_off(alpha: Person, beta: Person):
    assert alpha.get("messages").json["enabled"]
    for enabled in (False, False, True, False):
        assert alpha.patch("messages", {"enabled": enabled}).json["enabled"] == enabled
        assert alpha.get("messages/").json["enabled"] == enabled
    assert beta.get("messages").json["enabled"]
    assert not message_settings.is_enabled(alpha.user_id)


def test_setting_is_of_the_user_and_not_of_the_project(alpha: Person, colleague: Person):
    alpha.patch("messages", {"enabled": False})
    assert colleague.get("messages").json["enabled"]


@pytest.mark.parametrize(
    ("user", "project", "address"),
    [
        ({"email": "ada@example.org"}, {"email": "team@example.org"}, "ada@example.org"),
        ({"email": "nonsense"}, {"email": "team@example.org"}, "team@example.org"),
        ({}, {"contact": "team@example.org"}, "team@example.org"),
        ({}, {}, None),
    ],
    ids=["own", "project's", "project's contact", "none"],
)
def test_user_sees_whether_and_where_messages_are_sent(
    site: Site,
    alpha: Person,
    monkeypatch: pytest.MonkeyPatch,
    user: dict[str, str],
    project: dict[str, str],
    address: str | None,
):
    keystone = site.cloud.keystone
    monkeypatch.setitem(keystone.users, alpha.user_id, {"name": "Alpha", **user})
    monkeypatch.setitem(keystone.projects, alpha.project_id, {"name": "alpha", **project})
    expected = {"enabled": True, "address": address}
    assert alpha.get("messages").json == {**expected, "sends": False}
    cfg.CONF.set_override("messengers", ["smtp"], group="warre")
    try:
        assert alpha.patch("messages", {"enabled": True}).json == {**expected, "sends": True}
    finally:
        cfg.CONF.clear_override("messengers", group="warre")


def test_settings_are_shown_and_changed_without_keystone(
    alpha: Person, monkeypatch: pytest.MonkeyPatch
):
    def away(user_id: str) -> None:
        raise exceptions.ServiceUnavailable("Keystone", texts.services.SAID(said="away"))

    monkeypatch.setattr(people, "find_project", away)
    assert alpha.patch("messages", {"enabled": False}).json == {"enabled": False, "sends": False}
    assert alpha.get("messages").json == {"enabled": False, "sends": False}


def test_those_who_may_book_see_the_key_of_their_projects_webhooks(
    alpha: Person, beta: Person, colleague: Person, reader: Person
):
    assert "webhook_key" not in alpha.get("messages").json
    cfg.CONF.set_override("project_webhook_hosts", ["*"], group="warre_messages")
    try:
        keys = [p.get("messages").json["webhook_key"] for p in (alpha, colleague, beta, alpha)]
        assert alpha.patch("messages", {"enabled": True}).json["webhook_key"] == keys[0]
        assert "webhook_key" not in reader.get("messages").json
    finally:
        cfg.CONF.clear_override("project_webhook_hosts", group="warre_messages")
    assert keys[0] == keys[1] == keys[3] != keys[2]
    assert re.fullmatch("[0-9a-f]{64}", keys[0])


def test_reader_can_turn_messages_off_and_user_without_a_role_can_not(
    site: Site, reader: Person, nobody: Person
):
    assert reader.patch("messages", {"enabled": False}).status_int == 200
    before = site.rows()
    assert refusal(nobody.patch("messages", {"enabled": False})) == (403, "forbidden")
    assert refusal(nobody.get("messages")) == (403, "forbidden")
    assert site.rows() == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"enabled": None}, "enabled"),
        ({"enabled": "no"}, "enabled"),
        ({"enabled": 0}, "enabled"),
        ({"user_id": "user-beta", "enabled": False}, "user_id"),
        ({"x": 1}, "x"),
    ],
)
def test_bad_setting_is_refused(site: Site, alpha: Person, body: Any, field: str):
    before = site.rows()
    answer = alpha.patch("messages", body)
    assert refusal(answer) == (400, "invalid_field")
    assert answer.json["detail"]["field"] == field
    assert site.rows() == before


def test_there_are_no_settings_with_an_id(site: Site, admin: Person, alpha: Person):
    before = site.rows()
    assert admin.patch(f"messages/{alpha.user_id}", {"enabled": False}).status_int == 404
    assert admin.get(f"messages/{alpha.user_id}").status_int in (404, 405)
    assert refusal(admin.get("messages?user_id=user-alpha")) == (422, "invalid_field")
    assert site.rows() == before
