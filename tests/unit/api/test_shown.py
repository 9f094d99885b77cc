"""``ETag`` and ``If-Match``: a change of what somebody else has changed meanwhile is refused."""

from collections.abc import Iterator
from concurrent import futures
from typing import Any

import pytest
from oslo_config import cfg

from tests.unit.api import things
from tests.unit.api.people import Answer, Person, refusal
from tests.unit.api.site import Site
from tests.unit.api.things import at
from warre_blazar.api import schemas
from warre_blazar.openstack import manager

CODE = (412, "changed_since_shown")


def etag(answer: Answer) -> str:
    tag = answer.headers["ETag"]
    assert tag.startswith('"')
    assert tag.endswith('"')
    return str(tag)


def send(person: Person, path: str, body: dict[str, Any], tag: str) -> Answer:
    return person.send("PATCH", path, body, {"If-Match": tag})


@pytest.fixture(autouse=True)
def any_contact() -> Iterator[None]:
    """Contacts may be any address."""
    cfg.CONF.set_override("contact_domains", ["*"], group="warre_messages")
    yield
    cfg.CONF.clear_override("contact_domains", group="warre_messages")


@pytest.fixture
def paths(site: Site, admin: Person, alpha: Person) -> dict[str, str]:
    """A flavor, a reservation and a window, each of which can be changed."""

    def make() -> dict[str, str]:
        flavor = things.add_flavor(admin, slots=3)
        booked = things.book(alpha, flavor, name="mine")
        window = things.add_window(admin, flavor)
        return {
            "flavors": f"flavors/{flavor['id']}",
            "reservations": f"reservations/{booked['id']}",
            "maintenancewindows": f"maintenancewindows/{window['id']}",
        }

    return site.remembered(make)


#: Two changes of one field, and a change of another field.
CHANGES: dict[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "time": ("reservations", {"end": at(2, 13)}, {"end": at(2, 12)}, {"note": "x"}),
    "count": ("reservations", {"instance_count": 3}, {"instance_count": 2}, {"end": at(2, 12)}),
    "name": ("reservations", {"name": "theirs"}, {"name": "ours"}, {"instance_count": 2}),
    "movable": ("reservations", {"movable_hours": 2}, {"movable_hours": 1}, {"name": None}),
    "contact": (
        *("reservations", {"contact": "a@example.org"}, {"contact": "b@example.org"}),
        {"movable_hours": 1},
    ),
    "flavor": ("flavors", {"description": "a"}, {"description": "b"}, {"slots": 2}),
    "slots": ("flavors", {"slots": 4}, {"slots": 5}, {"extra_specs": {"x:a": "b"}}),
    "specs": ("flavors", {"extra_specs": {"x:a": "b"}}, {"extra_specs": {}}, {"active": False}),
    "start of flavor": ("flavors", {"start": at(1)}, {"start": at(2)}, {"end": at(9)}),
    "window": ("maintenancewindows", {"end": at(7)}, {"end": at(8)}, {"note": "x"}),
    "note": ("maintenancewindows", {"note": "a"}, {"note": "b"}, {"end": at(7)}),
    "hosts": ("maintenancewindows", {"host_ids": ["host-1"]}, {"host_ids": []}, {"note": "x"}),
}


@pytest.mark.parametrize("case", [pytest.param(c, id=c.replace(" ", "-")) for c in CHANGES])
def test_change_of_what_was_changed_meanwhile_is_refused_with_both_values(
    site: Site, admin: Person, paths, case
):
    noun, first, second, other = CHANGES[case]
    path = paths[noun]
    shown = etag(admin.get(path))
    assert send(admin, path, first, shown).status_int == 200
    changed, rows = admin.get(path), site.rows()
    assert etag(changed) != shown
    (name,) = second
    for query in ("", "?dry_run=true"):
        refused = send(admin, path + query, second, shown)
        assert refusal(refused) == CODE
        (field,) = refused.json["detail"]["fields"].items()
        assert (field[0], field[1]["sent"]) == (name, second[name])
        assert field[1]["now"] == changed.json.get(name, [h["id"] for h in hosts(changed.json)])
        assert refusal(send(admin, path + query, {**other, **second}, shown)) == CODE
    assert site.rows() == rows
    # A field that nobody else has changed, and the value that is there already.
    assert send(admin, path, other, shown).status_int == 200
    if "host_ids" not in first:
        assert send(admin, path, first, shown).status_int == 200
    # The new ETag.
    again = send(admin, path, second, etag(admin.get(path)))
    assert again.status_int == 200
    assert etag(again) == etag(admin.get(path))


def hosts(document: dict[str, Any]) -> list[dict[str, Any]]:
    return document.get("hosts", [])


def test_etag_has_each_field_that_a_change_may_have(admin: Person, paths):
    """But ``bookings``, which says what is done and isn't kept."""
    bodies = {
        "flavors": schemas.FLAVOR_UPDATE,
        "reservations": schemas.RESERVATION_UPDATE,
        "maintenancewindows": schemas.WINDOW_UPDATE,
    }
    for noun, path in paths.items():
        names = {pair.partition("=")[0] for pair in etag(admin.get(path)).strip('"').split(".")}
        assert names == bodies[noun]["properties"].keys() - {"bookings"}


def test_booking_leaves_the_etag_of_the_flavor(admin: Person, alpha: Person, paths):
    """Each booking increases the flavor's generation."""
    shown = etag(admin.get(paths["flavors"]))
    things.book(alpha, admin.get(paths["flavors"]).json)
    assert etag(admin.get(paths["flavors"])) == shown


def test_creation_is_answered_with_the_etag_that_is_shown_later(admin: Person, alpha: Person):
    flavor = admin.post("flavors", things.FLAVOR)
    booked = alpha.post("reservations", things.booking(flavor.json))
    window = admin.post(
        "maintenancewindows", {"start": at(5), "end": at(6), "flavor_ids": [flavor.json["id"]]}
    )
    made = {"flavors": flavor, "reservations": booked, "maintenancewindows": window}
    for noun, answer in made.items():
        assert etag(answer) == etag(admin.get(f"{noun}/{answer.json['id']}"))


@pytest.mark.parametrize("noun", ["flavors", "reservations", "maintenancewindows"])
@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("*", 200),
        (" * ", 200),
        ('"of-another-service"', CODE),
        ('""', CODE),
        ("W/{etag}", CODE),
        ('"x", {etag}', 200),
        ('"x" , W/"y"', CODE),
        ("{gzip}", 200),
        ("{bare}", (400, "invalid_field")),
        ("", (400, "invalid_field")),
        ('"a" "b"', (400, "invalid_field")),
        ('"a",', (400, "invalid_field")),
    ],
)
def test_form_of_the_header(admin: Person, paths, noun, header, expected):
    path = paths[noun]
    shown = etag(admin.get(path))
    bare = shown.strip('"')
    sent = header.format(etag=shown, bare=bare, gzip=f'"{bare}-gzip"')
    body = {"slots": 2} if noun == "flavors" else {"note": "x"}
    answer = send(admin, path, body, sent)
    if expected == 200:
        assert answer.status_int == 200
        return
    assert refusal(answer) == expected
    if expected[0] == 400:
        assert answer.json["detail"]["field"] == "If-Match"


def test_etag_of_another_item_is_refused(admin: Person, paths):
    """Both are public and have no description."""
    other = things.add_flavor(admin)
    shown = etag(admin.get(f"flavors/{other['id']}"))
    assert refusal(send(admin, paths["flavors"], {"description": "x"}, shown)) == CODE


def test_field_that_the_etag_lacks_can_be_changed(admin: Person, paths):
    """A page that an older release has shown, which didn't have the field."""
    path = paths["reservations"]
    pairs = etag(admin.get(path)).strip('"').split(".")
    shown = ".".join(pair for pair in pairs if not pair.startswith("movable_hours="))
    admin.patch(path, {"movable_hours": 2, "note": "x"})
    assert send(admin, path, {"movable_hours": 1}, f'"{shown}"').status_int == 200
    assert refusal(send(admin, path, {"note": "y"}, f'"{shown}"')) == CODE


def apart(person: Person, path: str, *changes: dict[str, Any]) -> None:
    """Make changes in another thread. Pecan keeps one request for each thread."""
    with futures.ThreadPoolExecutor(1) as pool:
        for body in changes:
            assert pool.submit(person.patch, path, body).result().status_int == 200


def overtake(
    monkeypatch: pytest.MonkeyPatch, admin: Person, path: str, *changes: dict[str, Any]
) -> None:
    """Let somebody else make changes after the API's check of the next one."""
    update = manager.update_lease

    def late(*args: Any) -> None:
        monkeypatch.setattr(manager, "update_lease", update)
        apart(admin, path, *changes)
        update(*args)

    monkeypatch.setattr(manager, "update_lease", late)


@pytest.mark.parametrize("other", [{"end": at(2, 13)}, {"note": "theirs"}, {"name": "theirs"}])
def test_manager_refuses_what_was_changed_after_the_check_of_the_api(
    site: Site, admin: Person, alpha: Person, paths, monkeypatch: pytest.MonkeyPatch, other
):
    path = paths["reservations"]
    shown = etag(alpha.get(path))
    overtake(monkeypatch, admin, path, other)
    sent = {"end": at(2, 12), "note": "ours", "name": "ours"}
    refused = send(alpha, path, sent, shown)
    assert refusal(refused) == CODE
    (name,) = other
    assert refused.json["detail"]["fields"] == {name: {"now": other[name], "sent": sent[name]}}
    present = alpha.get(path).json
    assert present == {**present, "note": None, "name": "mine", "end": at(2, 11), **other}


def test_manager_takes_a_change_of_what_nobody_else_has_changed(
    admin: Person, alpha: Person, paths, monkeypatch: pytest.MonkeyPatch
):
    path = paths["reservations"]
    shown = etag(alpha.get(path))
    overtake(monkeypatch, admin, path, {"instance_count": 2}, {"note": "theirs"})
    assert send(alpha, path, {"end": at(2, 12)}, shown).status_int == 200
    present = alpha.get(path).json
    assert present == {**present, "end": at(2, 12), "instance_count": 2, "note": "theirs"}


def test_name_that_was_changed_after_the_time_was_written_is_refused(
    admin: Person, alpha: Person, paths, monkeypatch: pytest.MonkeyPatch
):
    path = paths["reservations"]
    shown = etag(alpha.get(path))
    update = manager.update_lease

    def then_renamed(*args: Any) -> None:
        update(*args)
        apart(admin, path, {"name": "theirs"})

    monkeypatch.setattr(manager, "update_lease", then_renamed)
    refused = send(alpha, path, {"end": at(2, 12), "name": "ours"}, shown)
    assert refusal(refused) == CODE
    assert "the rest of the change is done" in refused.json["error_message"]
    present = alpha.get(path).json
    assert (present["end"], present["name"]) == (at(2, 12), "theirs")


def test_warres_path_gets_etags_too(site: Site, admin: Person, paths):
    warre = Person(site.app, "admin", "/v2/warre/v1")
    shown = etag(warre.get(paths["reservations"]))
    assert shown == etag(admin.get(paths["reservations"]))
    admin.patch(paths["reservations"], {"end": at(2, 13)})
    assert refusal(send(warre, paths["reservations"], {"end": at(2, 12)}, shown)) == CODE
    assert warre.patch(paths["reservations"], {"end": at(2, 12)}).status_int == 200
