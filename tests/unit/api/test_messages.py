"""/messages: whether the caller gets messages."""

from typing import Any

import pytest

from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from warre_blazar.services.telling import message_settings


def test_messages_are_on_until_the_user_turns_them_off(alpha: Person, beta: Person):
    assert alpha.get("messages").json == {"enabled": True}
    for enabled in (False, False, True, False):
        assert alpha.patch("messages", {"enabled": enabled}).json == {"enabled": enabled}
        assert alpha.get("messages/").json == {"enabled": enabled}
    assert beta.get("messages").json == {"enabled": True}
    assert not message_settings.is_enabled(alpha.user_id)


def test_setting_is_of_the_user_and_not_of_the_project(alpha: Person, colleague: Person):
    alpha.patch("messages", {"enabled": False})
    assert colleague.get("messages").json == {"enabled": True}


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
