"""Labels of reservations: given, changed, shown and filtered by."""

from collections.abc import Iterator

import pytest
from oslo_config import cfg

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site

WARRE = "/v2/warre/v1"


@pytest.fixture
def flavor(admin: Person) -> dict:
    return things.add_flavor(admin)


def test_name_and_note_are_shown_and_name_filters(alpha: Person, beta: Person, flavor):
    labels = {"name": "training run", "note": "two lines\nof note"}
    booked = things.book(alpha, flavor, **labels)
    assert {name: booked[name] for name in labels} == labels
    assert alpha.get(f"reservations/{booked['id']}").json == booked
    other = things.book(beta, flavor, name="training run")
    assert other["note"] is None
    assert alpha.get("reservations?name=training%20run").json["results"] == [booked]
    assert alpha.get("reservations?name=Training%20run").json["results"] == []


def test_change_of_name_and_note_needs_no_manager(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor, name="first")
    path = f"reservations/{booked['id']}"
    with site.without_manager():
        changed = alpha.patch(path, {"name": "second", "note": "x"}).json
        assert changed == {**booked, "name": "second", "note": "x"}
        assert alpha.patch(path, {"name": None}).json == {**changed, "name": None}
    assert alpha.get(path).json == {**changed, "name": None}


def test_refused_change_leaves_the_name_unchanged(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor, name="first")
    path = f"reservations/{booked['id']}"
    before = site.rows()
    refused = alpha.patch(path, {"name": "second", "instance_count": 9})
    assert refusal(refused) == (400, "slots_exhausted")
    assert site.rows() == before
    changed = alpha.patch(path, {"name": "second", "instance_count": 2}).json
    assert (changed["name"], changed["instance_count"]) == ("second", 2)


BAD = {
    "name empty": {"name": ""},
    "name too long": {"name": "x" * 256},
    "name of spaces": {"name": " x"},
    "name of lines": {"name": "a\nb"},
    "name a number": {"name": 7},
    "name half a character": {"name": "\ud800"},
    "note empty": {"note": ""},
    "note too long": {"note": "x" * 4097},
    "note with control": {"note": "a\x00"},
    "contact empty": {"contact": ""},
    "contact no address": {"contact": "alpha"},
    "contact with a name": {"contact": "Alpha <alpha@example.org>"},
    "contact two": {"contact": "alpha@example.org,beta@example.org"},
    "contact with a header": {"contact": "alpha@example.org\nBcc: beta@example.org"},
    "contact with an end of line": {"contact": "alpha@example.org\n"},
    "contact with an encoded word": {"contact": "=?utf-8?q?x=0D=0ABcc?=@example.org"},
    "contact by way of a server": {"contact": "beta%example.net@example.org"},
    "contact by a path of servers": {"contact": "example.net!beta@example.org"},
    "contact a command": {"contact": "|sh@example.org"},
    "contact in another script": {"contact": "\u03b1@example.org"},
    "contact too long": {"contact": f"{'x' * 243}@example.org"},
    "contact a list": {"contact": ["alpha@example.org"]},
    "webhook empty": {"webhook": ""},
    "webhook too long": {"webhook": f"https://example.org/{'x' * 1024}"},
    "webhook with a header": {"webhook": "https://example.org/\r\nX: y"},
    "webhook a number": {"webhook": 7},
    "timezone empty": {"timezone": ""},
    "timezone unknown": {"timezone": "Europe/Nowhere"},
    "timezone a directory": {"timezone": "Europe"},
    "timezone a path": {"timezone": "../Europe/Berlin"},
    "timezone absolute": {"timezone": "/etc/passwd"},
    "timezone an offset": {"timezone": "+01:00"},
    "timezone with an end of line": {"timezone": "Europe/Berlin\n"},
    "timezone too long": {"timezone": "x" * 65},
    "timezone a number": {"timezone": 1},
}


@pytest.mark.parametrize("case", [pytest.param(c, id=c.replace(" ", "-")) for c in BAD])
def test_bad_name_or_note_is_refused(site: Site, alpha: Person, flavor, case: str):
    booked = things.book(alpha, flavor)
    before = site.rows()
    (field,) = BAD[case]
    for answer, status in (
        (alpha.post("reservations", things.booking(flavor, **BAD[case])), 422),
        (alpha.patch(f"reservations/{booked['id']}", BAD[case]), 400),
    ):
        assert refusal(answer) == (status, "invalid_field")
        assert answer.json["detail"]["field"] == field
    assert site.rows() == before


def test_contact_can_be_changed_and_removed(site: Site, alpha: Person, flavor, domains):
    given = {"contact": "team+gpu@example.org", "timezone": "Europe/Berlin"}
    booked = things.book(alpha, flavor, **given)
    assert booked.items() >= given.items()
    path = f"reservations/{booked['id']}"
    with site.without_manager():
        changed = alpha.patch(path, {"contact": "other@example.org"}).json
        assert changed == {**booked, "contact": "other@example.org"}
        assert alpha.patch(path, {"contact": None}).json == {**booked, "contact": None}
    log = alpha.get(f"{path}?detail=log").json["log"]
    assert [(c["change"], c["after"]) for c in log[1:]] == [
        ("renamed", {"contact": "other@example.org"}),
        ("renamed", {"contact": None}),
    ]
    assert alpha.delete(path).status_int == 204
    deleted = alpha.get(f"{path}?detail=log").json
    assert (deleted["contact"], deleted["timezone"]) == (None, "Europe/Berlin")


@pytest.fixture
def domains(site: Site) -> Iterator[None]:
    """Contacts may be in two domains."""
    group, name = "warre_messages", "contact_domains"
    cfg.CONF.set_override(name, ["Example.org", "example.net"], group=group)
    yield
    cfg.CONF.clear_override(name, group=group)


def test_contact_in_a_domain_that_the_site_does_not_allow_is_refused(
    site: Site, alpha: Person, flavor, domains
):
    booked = things.book(alpha, flavor)
    before = site.rows()
    for answer, status in (
        (alpha.post("reservations", things.booking(flavor, contact="a@b.example.org")), 422),
        (alpha.patch(f"reservations/{booked['id']}", {"contact": "a@example.com"}), 400),
    ):
        assert refusal(answer) == (status, "invalid_field")
        assert "@example.org, @example.net" in answer.json["error_message"]
    assert site.rows() == before
    allowed = alpha.patch(f"reservations/{booked['id']}", {"contact": "a@EXAMPLE.org"})
    assert allowed.json["contact"] == "a@EXAMPLE.org"


def test_refusal_of_a_contact_names_the_option_that_allows_others(alpha: Person, flavor):
    answer = alpha.post("reservations", things.booking(flavor, contact="a@example.com"))
    assert "[warre_messages] contact_domains" in answer.json["error_message"]


def test_longest_name_and_note_are_accepted(alpha: Person, flavor):
    labels = {"name": "\u00fc" * 255, "note": "\U0001f600" * 4096}
    assert things.book(alpha, flavor, **labels).items() >= labels.items()


def test_warres_path_has_no_name_note_and_flags(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor, name="training")
    warre = Person(site.app, "alpha", WARRE)
    shown = warre.get(f"reservations/{booked['id']}").json
    labels = {"name", "note", "contact", "timezone", "webhook"}
    hidden = labels | {"before_end", "movable_hours", "series_id", "handle", "visible_before_start"}
    hidden |= {"missing_resources", "resources_changed"}
    assert hidden <= booked.keys()
    assert warre.get("reservations").json["results"] == [shown]
    assert booked.pop("flavor").items() >= shown.pop("flavor").items()
    assert shown == {k: v for k, v in booked.items() if k not in hidden}
    for field in labels:
        refused = warre.post("reservations", things.booking(flavor, **{field: "x"}))
        assert refusal(refused) == (422, "invalid_field")
        refused = warre.patch(f"reservations/{booked['id']}", {field: "x"})
        assert refusal(refused) == (400, "invalid_field")


def test_user_who_may_not_change_can_not_set_the_name(
    site: Site, alpha: Person, beta: Person, reader, flavor
):
    path = f"reservations/{things.book(alpha, flavor)['id']}"
    before = site.rows()
    assert refusal(beta.patch(path, {"name": "x"})) == (404, "reservation_not_found")
    assert refusal(reader.patch(path, {"name": "x"})) == (403, "forbidden")
    assert site.rows() == before
