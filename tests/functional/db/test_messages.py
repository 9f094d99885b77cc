"""Messages to people: to whom they go, what they say, and that each is sent once."""

import contextlib
import dataclasses
import datetime
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from devcloud_lib.ports import free_port
from oslo_config import cfg
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.managers import Manager
from tests.functional.db.test_outbox import beat, given_up, move
from tests.unit.messengers import mail_server
from warre_blazar.conf import messages as options
from warre_blazar.db import session, tables
from warre_blazar.db.messages import deliveries, outbox
from warre_blazar.db.running import executions
from warre_blazar.domain.booking.labels import Labels
from warre_blazar.domain.booking.quota import Rule
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.messages.messages import Message, MessageLimits, WantedMessages
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.running.execution import DELETE
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.messengers.smtp import SmtpMessenger
from warre_blazar.openstack import caches
from warre_blazar.plugins import change_records, telling
from warre_blazar.services.booking import changing, lookup
from warre_blazar.services.booking.through_manager import change
from warre_blazar.services.messages import delivery, message_settings, messages, reminders
from warre_blazar.services.messages.composing import MessageSite
from warre_blazar.services.messages.delivery import Delivery
from warre_blazar.services.messages.rendering import Templates

pytestmark = pytest.mark.usefixtures("database", "channel")

#: A reservation of four hours, of a flavor that can be booked for 24.
SPAN = world.hours(1, 5)
HOUR = datetime.timedelta(hours=1)
CHANNEL = "message recorder"
ADDRESS = "user@example.org"


class Recorder:
    """A messenger that keeps what it sends."""

    def __init__(self, needs_address: bool = True) -> None:
        self.needs_address = needs_address
        self.sent: list[Message] = []

    @contextlib.contextmanager
    def opened(self) -> Iterator[Callable[[Message], None]]:
        yield self.sent.append


@pytest.fixture
def channel(database: sa.Engine, cloud: Cloud) -> None:
    """The channel of a messenger, and a Keystone that knows the user and the project."""
    change_records.register()
    change_records.register_deletions()
    session.change(deliveries.set_channels, {CHANNEL: False})
    cloud.keystone.users["user"] = {"name": "Alpha", "email": ADDRESS}
    cloud.keystone.projects[world.PROJECT] = {"name": "physics"}


def latest_end(reservation_id: str) -> datetime.datetime | None:
    return change.latest_end(reservation_id, world.conditions())


def channel_of(
    messenger: Any,
    ends: Callable[[str], datetime.datetime | None] = latest_end,
    own_changes: bool = False,
    limits: MessageLimits | None = None,
) -> messages.MessageChannel:
    wanted = WantedMessages(frozenset(options.EVENTS), own_changes)
    limits = limits or MessageLimits(own=1000, others=1000)
    site = MessageSite("Cloud", "help@example.org", wanted, limits, Templates(), ends)
    return messages.MessageChannel("recorder", messenger, site)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Message]]:
    """A function that sends all messages, and returns them."""

    def send(now: datetime.datetime = world.NOW, **changes: Any) -> list[Message]:
        monkeypatch.setattr(delivery.clock, "utcnow", lambda: now)
        timeutils.set_time_override(now)
        recorder = Recorder()
        Delivery(channel_of(recorder, **changes), beat("one")).run()
        timeutils.clear_time_override()
        return recorder.sent

    return send


def book(
    cloud: Cloud, span: Span = SPAN, flavor: Flavor | None = None, **labels: str
) -> world.Lease:
    """Book a flavor with one slot. None: a new flavor."""
    if not cloud.placement.providers:
        world.add_host(cloud, "a")
    wanted = world.request(flavor or world.add_flavor(max_length_hours=24), span)
    lease = world.book(dataclasses.replace(wanted, labels=Labels(**labels)))
    world.set_status(lease, "CREATING")
    db_api.lease_update(lease.id, {"status": "PENDING"})
    return lease


def events(made: list[Message]) -> list[str]:
    return [message.event for message in made]


def test_whole_life_is_mailed_once_and_in_order(
    cloud: Cloud,
    monkeypatch: pytest.MonkeyPatch,
    mailing: Callable[[int], messages.MessageChannel],
):
    now = [world.NOW]
    monkeypatch.setattr(delivery.clock, "utcnow", lambda: now[0])
    manager = Manager()
    with mail_server.serving() as (mailbox, port):
        channel = mailing(port)
        deliveries = [Delivery(channel, beat(name)) for name in ("one", "two")]
        book(cloud, name="training", contact="team@example.org")
        for step in (SPAN.start, SPAN.end - HOUR, SPAN.end):
            for each in deliveries:
                each.run()
            now[0] = step
            timeutils.set_time_override(step)
            manager.run(step)
            reminders.remind(step, "one", [1])
        for each in [*deliveries, *deliveries]:
            each.run()
        timeutils.clear_time_override()
    assert [mail["Subject"] for mail in mailbox.mails] == [
        'Cloud: your reservation "training" is booked',
        'Cloud: your reservation "training" has begun',
        'Cloud: your reservation "training" ends in 1 hour',
        'Cloud: your reservation "training" has ended',
    ]
    assert mailbox.receivers == 4 * [["team@example.org"]]
    assert len({mail["Message-ID"] for mail in mailbox.mails}) == 4


@pytest.fixture
def mailing(conf: Any) -> Callable[..., messages.MessageChannel]:
    """A function that makes the channel of a messenger for the mail server on a port."""

    def make(port: int, **changes: Any) -> messages.MessageChannel:
        given = {"sender": "a@example.org", "smtp_host": "127.0.0.1", "smtp_security": "none"}
        conf.config(group="warre_messages", smtp_port=port, **given)
        return channel_of(SmtpMessenger(cfg.CONF), **changes)

    return make


def test_mail_server_that_is_away_loses_nothing(
    cloud: Cloud, mailing: Callable[[int], messages.MessageChannel]
):
    port = free_port()
    delivery_of_mail = Delivery(mailing(port), beat("one"))
    for number in range(3):
        book(cloud, name=f"number {number}")
        with pytest.raises(exceptions.ServiceUnavailable):
            delivery_of_mail.run()
    with mail_server.serving(port=port) as (mailbox, _):
        delivery_of_mail.run()
    assert [mail["Subject"] for mail in mailbox.mails] == [
        f'Cloud: your reservation "number {number}" is booked' for number in range(3)
    ]


def test_manager_that_dies_while_it_sends_sends_a_message_twice_at_most(
    cloud: Cloud, mailing: Callable[[int], messages.MessageChannel], monkeypatch: pytest.MonkeyPatch
):
    book(cloud)
    with mail_server.serving() as (mailbox, port):
        channel = mailing(port)

        def die(*_: object) -> None:
            raise SystemExit

        with monkeypatch.context() as patch, pytest.raises(SystemExit):
            patch.setattr(deliveries, "write", die)
            Delivery(channel, beat("one")).run()
        for _ in range(2):
            Delivery(channel, "one").run()
    first, second = mailbox.mails
    assert first["Message-ID"] == second["Message-ID"]


@pytest.mark.parametrize(
    ("contact", "user", "project", "address"),
    [
        ("c@example.org", {"email": "u@example.org"}, {}, "c@example.org"),
        (None, {"email": "u@example.org"}, {"email": "p@example.org"}, "u@example.org"),
        (None, {"email": "not an address"}, {"email": "p@example.org"}, "p@example.org"),
        (None, {"email": "u@example.org\r\nBcc: x"}, {"contact": "q@example.org"}, "q@example.org"),
        (None, {}, {"email": 7, "contact": "q@example.org"}, "q@example.org"),
        (None, None, {"email": "p@example.org"}, "p@example.org"),
    ],
)
def test_message_goes_to_the_contact_or_the_user_or_the_project(
    cloud: Cloud,
    sent: Callable[..., list[Message]],
    contact: str | None,
    user: dict[str, Any] | None,
    project: dict[str, Any],
    address: str,
):
    cloud.keystone.users = {} if user is None else {"user": user}
    cloud.keystone.projects[world.PROJECT] = {"name": "physics", **project}
    book(cloud, **({"contact": contact} if contact else {}))
    (message,) = sent()
    assert message.to == address
    assert "Project:     physics" in message.text
    assert ("is the contact of this" in message.text) is (contact is not None)


def test_user_without_an_address_is_logged_once_and_counted(
    cloud: Cloud, database: sa.Engine, caplog: pytest.LogCaptureFixture
):
    cloud.keystone.users["user"] = {"name": "Alpha"}
    for _ in range(2):
        book(cloud)
    recorder = Recorder()
    with caplog.at_level(logging.WARNING):
        Delivery(channel_of(recorder), beat("one")).run()
    assert recorder.sent == []
    assert [error for _, error in given_up(database)] == 2 * ["User user has no email address"]
    assert len([line for line in caplog.messages if "no email address" in line]) == 1
    # A messenger that needs no address sends the message.
    book(cloud)
    recorder = Recorder(needs_address=False)
    Delivery(channel_of(recorder), "one").run()
    assert [message.to for message in recorder.sent] == [None]


def test_keystone_that_fails_for_a_user_loses_nothing_and_holds_up_nobody_else(
    cloud: Cloud, sent: Callable[..., list[Message]]
):
    """Keystone may fail for the users of one domain, whose directory is away."""
    book(cloud)
    book(cloud, contact="c@example.org")
    cloud.keystone.fail(match="users", status=503)
    assert [message.to for message in sent()] == ["c@example.org"]
    cloud.mend()
    assert [message.to for message in sent(world.NOW + HOUR)] == [ADDRESS]


def test_message_that_can_not_be_made_is_given_up_at_once_and_holds_up_no_other(
    cloud: Cloud,
    database: sa.Engine,
    sent: Callable[..., list[Message]],
    caplog: pytest.LogCaptureFixture,
):
    lease = book(cloud)
    subject = outbox.of_reservations([lease.reservation_id])
    # A message about a change needs the values before it.
    session.change(outbox.add, subject, News(Kind.RESCHEDULED, world.NOW, "admin-id"))
    session.change(outbox.add, subject, News(Kind.ENDED, world.NOW))
    with caplog.at_level(logging.WARNING):
        assert events(sent()) == ["created", "ended"]
    ((_, why),) = given_up(database)
    assert "can't be made: UndefinedError" in why
    (line,) = [text for text in caplog.messages if "can't be sent" in text]
    assert "\n" not in line


def test_messages_say_what_is_saved_before_the_end(
    cloud: Cloud, sent: Callable[..., list[Message]]
):
    lease = book(cloud, flavor=world.add_flavor(max_length_hours=24, before_end="snapshot"))
    book(cloud, flavor=world.add_flavor(max_length_hours=24))
    made = {message.data["reservation"]["lease_id"]: message.text for message in sent()}
    assert {of for of, text in made.items() if "an image of each" in text} == {lease.id}
    of_all = {"server": "i", "server_name": "web", "status": "failed", "error": "Nova: 409"}
    news = News(Kind.SNAPSHOT, world.NOW, after={"snapshots": [of_all]})
    session.change(outbox.add, outbox.of_reservations([lease.reservation_id]), news)
    (message,) = sent(world.NOW + HOUR)
    assert message.event == "snapshot"
    assert "web: Nova: 409" in message.text
    assert message.data["after"] == {"snapshots": [of_all]}


def test_user_who_has_turned_messages_off_gets_none(
    cloud: Cloud, sent: Callable[..., list[Message]], database: sa.Engine
):
    message_settings.set_enabled("user", False)
    message_settings.set_enabled("user", False)
    book(cloud)
    assert sent() == []
    assert given_up(database) == []
    message_settings.set_enabled("user", True)
    book(cloud)
    assert events(sent()) == ["created"]


def test_only_messages_to_others_have_a_link(cloud: Cloud, sent: Callable[..., list[Message]]):
    cloud.keystone.projects[world.PROJECT]["email"] = "project@example.org"
    book(cloud, contact="C@example.org")
    book(cloud, contact=ADDRESS.upper())
    book(cloud)
    by_address = {message.to: message for message in sent()}
    assert set(by_address) == {"C@example.org", ADDRESS.upper(), ADDRESS}
    assert [to for to, message in by_address.items() if message.stop_url] == ["C@example.org"]
    cloud.keystone.users["user"] = {"name": "Alpha"}
    book(cloud)
    (of_project,) = sent()
    assert of_project.to == "project@example.org"
    other = by_address["C@example.org"]
    for message, mailbox in ((other, "c@example.org"), (of_project, "project@example.org")):
        url = message.stop_url
        assert url is not None and url in message.text and url in message.html
        root, _, token = url.rpartition("/")
        assert root == "http://blazar.example/reservation/v2/stop-messages"
        assert message_settings.mailbox_of_token(token) == mailbox


def test_message_for_a_contact_that_has_stopped_messages_goes_to_the_user(
    cloud: Cloud, sent: Callable[..., list[Message]]
):
    message_settings.stop("team@example.org")
    message_settings.stop(ADDRESS)
    book(cloud, contact="Team+gpu@example.org")
    book(cloud, contact="other@example.org")
    assert [message.to for message in sent()] == [ADDRESS, "other@example.org"]
    cloud.keystone.users["user"] = {"name": "Alpha"}
    cloud.keystone.projects[world.PROJECT] |= {
        "email": "team@example.org",
        "contact": "pi@example.org",
    }
    book(cloud, contact="team@example.org")
    assert [message.to for message in sent()] == ["pi@example.org"]
    message_settings.resume("team@example.org")
    book(cloud, contact="team@example.org")
    assert [message.to for message in sent()] == ["team@example.org"]


def test_message_waits_while_the_url_of_its_link_is_not_known(
    cloud: Cloud, sent: Callable[..., list[Message]], database: sa.Engine
):
    of_api = cloud.keystone.endpoints.pop("reservation")
    book(cloud, contact="c@example.org")
    book(cloud)
    assert [message.to for message in sent()] == [ADDRESS]
    cloud.keystone.endpoints["reservation"] = of_api
    caches.forget()
    assert [message.to for message in sent(world.NOW + HOUR)] == ["c@example.org"]
    assert given_up(database) == []


def test_address_gets_no_more_messages_in_an_hour_than_the_site_allows(
    cloud: Cloud,
    sent: Callable[..., list[Message]],
    database: sa.Engine,
    caplog: pytest.LogCaptureFixture,
):
    limits = MessageLimits(own=4, others=2)
    spans = (world.hours(start, start + 1) for start in range(1, 100))
    for contact in ("c@example.org", "C+1@example.org", "c@example.org", "d@example.org"):
        book(cloud, next(spans), contact=contact)
    for _ in range(5):
        book(cloud, next(spans))
    with caplog.at_level(logging.WARNING):
        made = sent(limits=limits)
    got = [message.to for message in made]
    assert got == ["c@example.org", "C+1@example.org", "d@example.org", *4 * [ADDRESS]]
    # The last one says so, and the log has each address once.
    last = [message.to for message in made if "No more are sent to it before" in message.text]
    assert last == ["C+1@example.org", ADDRESS]
    assert "Fri 1 Jan 2100, 01:00 UTC" in made[1].text
    lines = [text for text in caplog.messages if "messages" in text]
    assert [text.partition(" ")[0] for text in lines] == ["C+1@example.org", ADDRESS]
    assert [error for _, error in given_up(database)] == [
        "The address c@example.org has got 2 messages in this hour",
        f"The address {ADDRESS} has got 4 messages in this hour",
    ]
    # Whatever was dropped isn't sent later. In the next hour, messages go out again.
    book(cloud, next(spans), contact="c@example.org")
    later = sent(world.NOW + HOUR, limits=limits)
    assert [message.to for message in later] == ["c@example.org"]


def test_message_that_could_not_be_sent_does_not_count(
    cloud: Cloud, mailing: Callable[..., messages.MessageChannel]
):
    port = free_port()
    delivery_of_mail = Delivery(mailing(port, limits=MessageLimits(own=1, others=1)), beat("one"))
    book(cloud, contact="c@example.org")
    for _ in range(3):
        with pytest.raises(exceptions.ServiceUnavailable):
            delivery_of_mail.run()
    with mail_server.serving(port=port) as (mailbox, _):
        delivery_of_mail.run()
        delivery_of_mail.run()
    assert mailbox.receivers == [["c@example.org"]]


def test_numbers_of_messages_are_deleted_after_their_hour(
    cloud: Cloud, sent: Callable[..., list[Message]], database: sa.Engine
):
    book(cloud)
    sent()
    delivery.tidy(world.NOW + HOUR)

    def numbers() -> list[int]:
        with database.connect() as connection:
            return list(connection.scalars(sa.select(tables.message_counts.c.sent)))

    assert numbers() == [1]
    delivery.tidy(world.NOW + 4 * HOUR)
    assert numbers() == []


def test_message_says_how_far_the_reservation_can_be_extended(
    cloud: Cloud, sent: Callable[..., list[Message]]
):
    flavor = world.add_flavor(max_length_hours=24)
    lease = book(cloud, flavor=flavor, timezone="Europe/Berlin")
    book(cloud, world.hours(9, 10), flavor)
    Manager().run(SPAN.start)
    started = next(m for m in sent(SPAN.start) if m.event == "started")
    assert f"openstack reservation set {lease.reservation_id} --end 2100-01-01T09:00Z" in (
        started.text
    )
    text = " ".join(started.text.split())
    assert "Fri 1 Jan 2100, 09:00 UTC (10:00 in Europe/Berlin) is the latest end" in text


def test_message_about_the_start_has_the_command_that_boots_a_server(
    cloud: Cloud, sent: Callable[..., list[Message]]
):
    lease = book(cloud)
    world.write_by_hand(sa.update(tables.host_providers).values(zone="az1"))
    Manager().run(SPAN.start)
    started = next(m for m in sent(SPAN.start) if m.event == "started")
    nova_flavor = lease.reservation_id.replace("-", "")
    command = (
        f"openstack server create --flavor {nova_flavor} --availability-zone az1 --image IMAGE "
        "--network NETWORK NAME"
    )
    assert f"    {command}\n" in started.text
    assert command in started.html


def test_command_of_the_message_is_accepted(cloud: Cloud, sent: Callable[..., list[Message]]):
    lease = book(cloud)
    Manager().run(SPAN.start)
    timeutils.set_time_override(SPAN.start)
    latest = latest_end(lease.reservation_id)
    assert latest == SPAN.start + 24 * HOUR
    world.set_status(lease, "UPDATING")
    changing.move(lease.reservation_id, Span(SPAN.start, latest), world.conditions(), SPAN.start)
    with pytest.raises(exceptions.FlavorNotBookable):
        too_late = Span(SPAN.start, latest + HOUR / 60)
        changing.move(lease.reservation_id, too_late, world.conditions(), SPAN.start)


def test_message_says_that_a_reservation_can_not_be_extended(
    cloud: Cloud, sent: Callable[..., list[Message]]
):
    flavor = world.add_flavor(max_length_hours=24)
    book(cloud, flavor=flavor)
    book(cloud, world.hours(5, 6), flavor)
    Manager().run(SPAN.start)
    started = next(m for m in sent(SPAN.start) if m.event == "started")
    assert "can't be extended at the moment" in started.text


def test_message_goes_out_if_nobody_knows_how_far_it_can_be_extended(
    cloud: Cloud, sent: Callable[..., list[Message]]
):
    enforced = Rule(frozenset({"flavor:slot"}), enforced=True, cache_time=0)

    def ends(reservation_id: str) -> datetime.datetime | None:
        return change.latest_end(reservation_id, world.conditions(rule=enforced))

    lease = book(cloud)
    Manager().run(SPAN.start)
    cloud.keystone.fail(match="limits", status=503)
    started = next(m for m in sent(SPAN.start, ends=ends) if m.event == "started")
    assert f"openstack reservation set {lease.reservation_id} --end END" in started.text
    assert "such as 2100-01-01T06:00Z" in started.text


def test_reservation_that_has_ended_since_is_not_offered_to_be_extended(
    cloud: Cloud, sent: Callable[..., list[Message]]
):
    book(cloud)
    Manager().run(SPAN.start)
    Manager().run(SPAN.end)
    made = sent(SPAN.end + HOUR)
    assert events(made) == ["created", "started", "ended"]
    assert all("extend" not in message.text for message in made)


def test_change_by_somebody_else_is_told_with_the_name(
    cloud: Cloud, sent: Callable[..., list[Message]]
):
    cloud.keystone.users["admin-id"] = {"name": "operator"}
    lease = book(cloud)
    sent()
    news = News(
        Kind.RESCHEDULED,
        world.NOW,
        "admin-id",
        {"start": "2100-01-01T01:00:00+00:00", "end": "2100-01-01T05:00:00+00:00"},
        {"start": "2100-01-01T01:00:00+00:00", "end": "2100-01-01T07:00:00+00:00"},
    )
    session.change(outbox.add, outbox.of_reservations([lease.reservation_id]), news)
    (message,) = sent()
    assert message.text.startswith("operator has changed its time.")
    assert "now ends on Fri 1 Jan 2100, 07:00 UTC" in " ".join(message.text.split())


def test_own_change_is_told_only_if_the_site_wishes(
    cloud: Cloud, sent: Callable[..., list[Message]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(change_records.conditions, "caller_id", lambda: "user")
    lease = book(cloud)
    sent()
    move(lease, world.hours(1, 6))
    assert sent() == []
    move(lease, SPAN)
    assert events(sent(own_changes=True)) == ["rescheduled"]


def test_deletion_says_what_has_happened_to_servers(
    cloud: Cloud, sent: Callable[..., list[Message]]
):
    waiting = book(cloud)
    running = book(cloud)
    Manager().run(SPAN.start)
    sent(SPAN.start)
    for lease in (waiting, running):
        session.change(executions.request, lease.id, DELETE)
    timeutils.set_time_override(SPAN.start + HOUR)
    Manager().run(SPAN.start + HOUR)
    (message,) = sent(SPAN.start + HOUR)
    assert message.event == "deleted" and len(message.events) == 2
    assert "Their servers were deleted too" in message.text


def test_data_of_a_message_is_that_of_the_notification(
    cloud: Cloud, sent: Callable[..., list[Message]]
):
    lease = book(cloud, contact="c@example.org")
    (message,) = sent()
    assert message.data["change"] == "created"
    assert message.data["reservation"]["id"] == lease.reservation_id
    assert "contact" not in message.data["reservation"]
    assert lookup.get(lease.reservation_id, None)[0].labels.contact == "c@example.org"


def test_configured_messengers_are_channels(cloud: Cloud, conf: Any):
    conf.config(group="warre", messengers=["log", "webhook", "log"])
    hook = {"webhook_url": "http://127.0.0.1:1/", "webhook_secret": "s"}
    conf.config(group="warre_messages", **hook)
    names = [channel.name for channel in telling.configured()]
    assert names[-2:] == ["message log", "message webhook"]


@pytest.mark.parametrize("messenger", ["pigeon", "smtp"])
def test_messenger_that_is_unknown_or_lacks_an_option_is_refused(conf: Any, messenger: str):
    conf.config(group="warre", messengers=[messenger])
    with pytest.raises(exceptions.Misconfigured):
        telling.configured()
