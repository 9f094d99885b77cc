"""Templates of messages: the built-in ones, and those of a site, which may have errors."""

import logging
import pathlib
from typing import Any

import pytest

from warre_blazar.conf import messages as options
from warre_blazar.domain.messages import groups
from warre_blazar.services.messages.rendering import Templates

EVIL = '<script>alert("x")</script>{{ 7 * 7 }}'


def values(**changes: Any) -> dict[str, Any]:
    """Variables as a message has them."""
    flavor = {"name": "gpu.large"}
    reservation = {
        "id": "22222222-2222-4222-8222-222222222222",
        "name": "training",
        "flavor": flavor,
        "start": "2026-12-01T09:00:00+00:00",
        "end": "2026-12-01T11:00:00+00:00",
        "status": "EXPIRED",
        "status_reason": "Nova: 403 Forbidden",
        "compute_flavor": "33333333-3333-4333-8333-333333333333",
    }
    usual = {
        "event": "reminded",
        "site": "Cloud",
        "support": "help@example.org",
        "reservation": reservation,
        "reservations": [{**reservation, "before": None}],
        "number": 1,
        "is_alike": True,
        "title": '"training"',
        "project": "alpha",
        "instances": "2 instances",
        "servers": "2 servers",
        "when": str,
        "left": "1 hour",
        "begun": True,
        "before": {"start": "a", "end": "b", "instance_count": 3},
        "after": {
            "start": "a",
            "end": "c",
            "instance_count": 2,
            "idle_counted_from": "monday",
            "ends_at": "tuesday",
            "warning": "too small",
        },
        "is_own": False,
        "by": "operator",
        "is_bad": False,
        "is_saved": False,
        "is_wait": False,
        "boot": None,
        "booking": None,
        "unsaved": [{"server_name": "web\nserver", "error": "It is in ERROR"}],
        "to_contact": False,
        "stop_url": None,
        "last_before": None,
        "extension": {"is_possible": True, "until": "Tuesday", "command": "openstack extend"},
    }
    return {**usual, **changes}


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("by", [None, "operator"])
@pytest.mark.parametrize("event", options.EVENTS)
def test_each_event_has_a_built_in_message(event: str, by: str | None, begun: bool):
    """Undefined variables would be errors."""
    made = Templates().render(event, values(event=event, by=by, begun=begun))
    assert made.subject.startswith("Cloud: ") and '"training"' in made.subject
    for body in (made.text, made.html):
        assert "22222222-2222-4222-8222-222222222222" in body
        assert "openstack reservation message set --off" in body
        assert "help@example.org" in body
        assert "openstack extend" in body
    assert max(map(len, made.text.splitlines())) <= 100


LINK = "https://cloud.example.org/v2/stop-messages/abc.def"


@pytest.mark.parametrize("to_contact", [True, False])
@pytest.mark.parametrize("event", options.EVENTS)
def test_message_to_somebody_else_has_a_link_and_no_command_for_the_user(
    event: str, to_contact: bool
):
    is_wait = event.startswith("wait_")
    booking = "openstack reservation create gpu" if event == "wait_told" else None
    given = values(
        event=event, to_contact=to_contact, stop_url=LINK, is_wait=is_wait, booking=booking
    )
    made = Templates().render(event, given)
    for body in (made.text, made.html):
        assert LINK in body
        assert "contact of this" in body if to_contact else "that of the project of this" in body
        assert "openstack reservation message set" not in body
        assert "--contact" not in body
        assert "To keep the reservation" not in body and "To book it" not in body
        assert "A member of the project can" in body
    assert LINK in made.text.splitlines()


def test_last_message_of_an_hour_says_so():
    made = Templates().render("ended", values(stop_url=LINK, last_before="10:00"))
    for body in (made.text, made.html):
        assert "No more are sent to it before 10:00." in " ".join(body.split())


@pytest.mark.parametrize("name", ["message.txt", "message.html"])
def test_template_of_the_site_without_the_link_is_not_used_for_others(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture, name: str
):
    (tmp_path / name).write_text("of the site {{ paragraphs }}")
    of_site = Templates(str(tmp_path))
    own, others = (of_site.render("ended", values(stop_url=link)) for link in (None, LINK))
    assert "of the site" in own.text + own.html
    assert others == Templates().render("ended", values(stop_url=LINK))
    (line,) = [text for text in caplog.messages if "stop_url" in text]
    assert str(tmp_path) in line


@pytest.mark.parametrize("event", ["created", "started", "reminded", "rescheduled", "resized"])
def test_message_says_whether_images_are_made_before_the_end(event: str):
    saved, lost = (
        Templates().render(event, values(is_saved=is_saved)) for is_saved in (True, False)
    )
    assert "an image of each" in " ".join(saved.text.split())
    assert "image" not in lost.text


def test_message_about_the_start_has_the_command_in_one_line():
    command = (
        "openstack server create --flavor 3333 --image IMAGE --network NETWORK NAME" + 60 * "x"
    )
    for link in (None, LINK):
        made = Templates().render("started", values(boot=command, stop_url=link))
        assert f"\n    {command}\n" in made.text
        assert f">{command}<" in made.html


def test_message_after_the_end_says_where_the_images_are():
    made = Templates().render("ended", values(is_saved=True))
    assert "openstack reservation show 22222222" in " ".join(made.text.split())


def test_message_names_the_servers_that_could_not_be_saved():
    unsaved = values()["unsaved"]
    unknown = {"server_name": None, "error": "Nova didn't answer"}
    made = Templates().render("snapshot", values(unsaved=[*unsaved, unknown]))
    assert "web server: It is in ERROR\n" in made.text
    assert "All servers: Nova didn't answer\n" in made.text


@pytest.mark.parametrize(
    ("extension", "text"),
    [
        (None, None),
        ({"is_possible": False}, "can't be extended"),
        (
            {"is_possible": True, "until": None, "command": "x --end END", "example": "e.g."},
            "END is the new end",
        ),
    ],
)
def test_message_says_how_to_extend(extension: dict[str, Any] | None, text: str | None):
    made = Templates().render("reminded", values(extension=extension))
    plain = made.html.replace("&#39;", "'")
    assert text is None or (text in made.text and text in plain)
    assert text is not None or "exten" not in made.text


def test_what_users_wrote_is_escaped_and_never_a_template():
    usual = values()
    reservation = {**usual["reservation"], "name": EVIL, "status_reason": EVIL}
    made = Templates().render(
        "refused", {**usual, "reservation": reservation, "title": EVIL, "by": EVIL}
    )
    assert EVIL in made.text and EVIL in made.subject
    assert "<script" not in made.html
    assert "&lt;script&gt;" in made.html
    assert "{{ 7 * 7 }}" in made.html


def test_name_with_lines_does_not_change_the_subject():
    made = Templates().render("ended", values(title="a\nBcc: b"))
    assert "\n" not in made.subject


def test_site_replaces_templates_by_name(tmp_path: pathlib.Path):
    (tmp_path / "ended.txt").write_text("Over: {{ title }}\n\nIt is over.\n\nReally.\n")
    (tmp_path / "message.html").write_text("<b>{{ paragraphs[0] }}</b>{{ reservation.name }}")
    made = Templates(str(tmp_path)).render("ended", values())
    assert made.subject == 'Over: "training"'
    assert made.html == "<b>It is over.</b>training\n"
    assert made.text.startswith("It is over.\n\nReally.\n\n")
    # What isn't replaced is built in.
    assert "ends in 1 hour" in Templates(str(tmp_path)).render("reminded", values()).subject
    # A template that is changed while the manager runs is read again.
    (tmp_path / "message.html").unlink()
    assert "<h1" in Templates(str(tmp_path)).render("ended", values()).html


@pytest.mark.parametrize(
    ("source", "error"),
    [
        pytest.param("Over\n\n{% if %}\n", "Expected an expression", id="syntax"),
        pytest.param("Over\n\n{{ nothing }}\n", "'nothing' is undefined", id="undefined"),
        pytest.param("Over\n\n{{ reservation.nothing.x }}\n", "no attribute", id="attribute"),
        pytest.param("Over\n\n{{ 1 / 0 }}\n", "division by zero", id="arithmetic"),
        pytest.param("Over\n\n{{ ().__class__.__mro__ }}\n", "unsafe", id="sandbox"),
        pytest.param("Over\n\n{{ before.update({}) }}\n", "unsafe", id="changes"),
        pytest.param(
            "Over\n\n{% for i in range(10**9) %}{% endfor %}\n", "Range too big", id="long"
        ),
        pytest.param("Over\n\n{% include 'no.txt' %}\n", "no.txt", id="include"),
    ],
)
def test_error_in_a_template_of_the_site_is_logged_with_its_line(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture, source: str, error: str
):
    path = tmp_path / "ended.txt"
    path.write_text(source)
    with caplog.at_level(logging.ERROR):
        made = Templates(str(tmp_path)).render("ended", values())
    assert made == Templates().render("ended", values())
    (line,) = caplog.messages
    assert line.startswith(f"{path}, line 3: ")
    assert error in line


@pytest.mark.parametrize("content", [b"\n\nNo subject.\n", b"Subject \xff\n\nText.\n"])
def test_template_without_a_subject_or_in_another_encoding_is_not_used(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture, content: bytes
):
    (tmp_path / "ended.txt").write_bytes(content)
    assert Templates(str(tmp_path)).render("ended", values()) == Templates().render(
        "ended", values()
    )
    assert str(tmp_path) in caplog.text


def several(event: str, **changes: Any) -> dict[str, Any]:
    """Variables of a message about three reservations."""
    usual = values(event=event, extension=None, **changes)
    before = usual["before"] if event == "maintenance" else None
    before = before and {**before, "instances": None}
    ids = [f"{number}2222222-2222-4222-8222-222222222222" for number in range(3)]
    more = {"before": before, "begun": usual["begun"], "instances": usual["instances"]}
    items = [{**usual["reservation"], "id": each, **more} for each in ids]
    return {**usual, "reservations": items, "number": len(items)}


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("event", sorted(kind.value for kind in groups._TOGETHER | groups.CHANGED))
def test_message_about_several_reservations_shows_each(event: str, begun: bool):
    given = several(event, begun=begun)
    made = Templates().render(event, given)
    assert made.subject.startswith("Cloud: ") and '3 reservations "training"' in made.subject
    for body in (made.text, made.html):
        assert all(body.count(each["id"]) == 1 for each in given["reservations"])
        assert body.count("2026-12-01T09:00:00+00:00") == 3
        assert "this reservation" not in body.partition("You get this message")[0]


@pytest.mark.parametrize("is_wait", [True, False])
def test_message_names_what_its_id_is_of(is_wait: bool):
    made = Templates().render("wait_told", values(event="wait_told", is_wait=is_wait))
    assert ("Wait:        training" in made.text) is is_wait
    assert (">Wait<" in made.html) is is_wait
    assert ("Reservation: training" in made.text) is not is_wait


@pytest.mark.parametrize("name", ["message.txt", "message.html"])
def test_template_of_the_site_that_shows_one_reservation_is_not_used_for_several(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture, name: str
):
    (tmp_path / name).write_text("of the site {{ reservation.id }}")
    made = Templates(str(tmp_path)).render("created", several("created"))
    assert made == Templates().render("created", several("created"))
    (line,) = [text for text in caplog.messages if "all reservations" in text]
    assert str(tmp_path) in line
