"""Notifications on a real message bus, with two managers, and with ceilometer as a consumer."""

import pathlib
import time
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import pytest
from oslo_utils import timeutils

from tests.functional.cloud import bus, ceilometer, devcloud, messages, nova_side, world
from tests.functional.cloud.bus import Heard
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import until

T = TypeVar("T")

LIFE = ["reservation.create", "reservation.start", "reservation.update", "reservation.delete"]
#: What is also told regularly, whatever happens.
_REGULAR = ("reservation.exists", "reservation.in_use")


@pytest.fixture
def heard() -> Iterator[Heard]:
    with bus.listening() as found:
        yield found


def about(heard: Heard, reservation: dict[str, Any]) -> list[str]:
    """The types of this package's notifications about what happened to a reservation."""
    return [kind for kind, _ in _of(heard, reservation) if kind not in _REGULAR]


def _of(heard: Heard, reservation: dict[str, Any]) -> Heard:
    ours = [(k, p) for k, p in heard if k.startswith("reservation.")]
    return once([(k, p) for k, p in ours if p["reservation"]["id"] == reservation["id"]])


def once(sent: Sequence[T]) -> list[T]:
    """What a channel has sent. A manager that is killed may send one thing twice."""
    different = [each for number, each in enumerate(sent) if each not in sent[:number]]
    assert len(sent) <= len(different) + 1, sent
    return different


@pytest.mark.whole
def test_life_is_told_by_each_channel_although_a_manager_is_killed(
    alpha: Person, admin: Person, offer: Offer, heard: Heard
):
    flavor = offer()
    with devcloud.two_managers(), messages.receiving() as hook, devcloud.options(hooked(hook)):
        made = world.booked_now(alpha, flavor, 2)
        world.becomes(alpha, made, "ACTIVE")
        until("the start to be told", lambda: about(heard, made) == LIFE[:2])
        devcloud.stop("blazar-manager1", kill=True)
        later = world.Period.of(made).moved(end=1)
        admin.asks("PATCH", f"/v2/reservations/{made['id']}/", {"end": later.v2["end"]})
        # The turns of the manager that was killed are taken by the other one.
        until("the extension to be told", lambda: about(heard, made) == LIFE[:3])
        devcloud.start("blazar-manager1")
        world.delete_lease(admin, made["lease_id"])
        until("the deletion to be told", lambda: "reservation.delete" in about(heard, made))
        until("the hook to be told", lambda: posted(hook, made)[-1:] == ["deleted"])
        until("the mails", lambda: "deleted" in mailed(made))
    assert about(heard, made) == LIFE
    events = ["created", "started", "rescheduled", "deleted"]
    assert posted(hook, made) == events
    # One mail for each event, to the user who has booked.
    assert sorted(mailed(made)) == sorted(events)
    assert {str(mail["To"]) for mail in messages.mails(made)} == {"alpha@example.org"}
    exists = [p["period"] for k, p in _of(heard, made) if k == "reservation.exists"]
    assert exists
    assert all(p["instance_seconds"] == 2 * p["seconds"] for p in exists)
    assert [p["start"] for p in exists[1:]] == [p["end"] for p in exists[:-1]]


def posted(hook: messages.Receiver, reservation: dict[str, Any]) -> list[str]:
    """The events of a reservation that the webhook was told."""
    return [event for _, event in once([(d["id"], d["event"]) for d in hook.about(reservation)])]


def mailed(reservation: dict[str, Any]) -> list[str]:
    """The events of a reservation about which mails have arrived, in any order."""
    ids = once([str(mail["Message-ID"]) for mail in messages.mails(reservation)])
    begin = f"<warre-{reservation['id']}-"
    return [message_id.removeprefix(begin).partition("-")[0] for message_id in ids]


def hooked(hook: messages.Receiver) -> dict[str, dict[str, str]]:
    """The options by which managers send mail and call a webhook."""
    return {
        "warre": {"messengers": "smtp,webhook"},
        "warre_messages": {"webhook_url": hook.url, "webhook_secret": messages.SECRET},
    }


@pytest.mark.whole
def test_course_is_told_in_one_message(alpha: Person, offer: Offer):
    start = world.far().start
    body = {
        "flavor_id": offer()["id"],
        "start": f"{start:%Y-%m-%dT%H:%M}",
        "timezone": "UTC",
        "hours": 1,
        "rrule": "FREQ=WEEKLY;COUNT=15",
    }
    with messages.receiving() as hook, devcloud.options(hooked(hook)):
        series = alpha.asks("POST", "/v2/series/", body)
        query = f"/v2/reservations/?series_id={series['id']}"
        lessons = sorted(alpha.asks("GET", query)["results"], key=lambda each: each["start"])
        assert len(lessons) == 15
        until("the hook to be told", lambda: hook.about(lessons[-1]))
        until("the mail", lambda: mailed(lessons[0]))
    (document,) = once(hook.about(lessons[0]))
    told = [event["data"]["reservation"]["id"] for event in document["events"]]
    assert told == [lesson["id"] for lesson in lessons]
    # The id of a mail begins with the first lesson's.
    assert [len(mailed(lesson)) for lesson in lessons] == [1, *14 * [0]]
    plain = messages.mails(lessons[0])[0].get_body(("plain",))
    assert plain is not None
    assert all(lesson["id"] in plain.get_content() for lesson in lessons)
    alpha.ask("DELETE", f"/v2/series/{series['id']}/")


@pytest.mark.whole
def test_bus_that_is_away_loses_nothing(
    admin: Person, alpha: Person, offer: Offer, records: Records
):
    made = world.booked(alpha, offer(), world.far())

    def waiting() -> list[str]:
        # The log is read first: an entry that becomes a delivery in between is then seen twice, and
        # not missed.
        entries = records.rows("warre_log", subject=made["id"])
        notices = records.rows("warre_deliveries", channel="notifications", subject=made["id"])
        written = {notice["entry_id"] for notice in notices}
        return [
            entry["kind"]
            for entry in entries
            if (entry["id"] in written or entry["telling"] == "new") and entry["kind"] != "in_use"
        ]

    until("the booking to be told", lambda: not waiting())
    with devcloud.away("rabbitmq"):
        records.start_now([made["lease_id"]], ahead=8)
        world.becomes(alpha, made, "ACTIVE")
        # Nova needs the same bus to open the reservation, so it is usually opened later.
        assert {"started", "refused"} & set(waiting())
    back = timeutils.utcnow()
    until("the start to be told", lambda: not waiting())
    world.delete_lease(alpha, made["lease_id"])
    nova_side.computes_report(admin, back)


def test_ceilometer_makes_samples_that_bills_can_use(
    alpha: Person, offer: Offer, tmp_path: pathlib.Path
):
    flavor = offer(category="gpu")
    with ceilometer.running(tmp_path) as agent:
        made = world.booked_now(alpha, flavor, 2)
        world.becomes(alpha, made, "ACTIVE")
        # Bills have whole seconds: what ran for less than one has no sample.
        time.sleep(1)
        world.delete_lease(alpha, made["lease_id"])
        wanted = {
            *("reservation.create", "reservation.start", "reservation.delete"),
            "reservation.instance_seconds",
        }
        until("the samples", lambda: wanted <= {s["name"] for s in agent.samples(made["id"])})
        samples = {s["name"]: s for s in agent.samples(made["id"])}
    billed = samples["reservation.instance_seconds"]
    assert billed["project_id"] == made["project_id"]
    assert billed["volume"] > 0
    assert billed["resource_metadata"]["category"] == "gpu"
