"""The webhooks of reservations: what they are called with, in which order, and what fails."""

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.fake_clock import FakeClock
from tests.functional.db.managers import Manager
from tests.functional.db.test_outbox import beat, given_up
from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.messages import deliveries
from warre_blazar.db.running import executions
from warre_blazar.domain.booking.labels import Labels
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.execution import DELETE
from warre_blazar.errors import exceptions
from warre_blazar.plugins import change_records, telling
from warre_blazar.services.booking import lookup
from warre_blazar.services.messages import delivery, reminders, webhooks
from warre_blazar.services.messages.delivery import Delivery, Undeliverable
from warre_blazar.services.messages.webhooks import ProjectWebhooks, ReceiverSilent

pytestmark = pytest.mark.usefixtures("database", "channel")

SPAN = world.hours(1, 5)
HOUR = datetime.timedelta(hours=1)
URL = "https://hooks.example.org/started"


@pytest.fixture
def channel(database: sa.Engine) -> None:
    change_records.register()
    change_records.register_deletions()
    session.change(deliveries.set_channels, {ProjectWebhooks.name: False})


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[datetime.datetime]:
    """The present; a test replaces its only element."""
    present = [world.NOW]
    monkeypatch.setattr(delivery.clock, "utcnow", lambda: present[0])
    return present


class Internet:
    """Receivers of webhooks, which record calls and fail as a test says."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self.failing: dict[str, Exception] = {}
        self.tried: list[str] = []

    def call(self, url: str, key: str, document: Mapping[str, Any]) -> None:
        self.tried.append(url)
        if error := self.failing.get(url):
            raise error
        self.calls.append((url, key, dict(document)))

    @property
    def events(self) -> list[str]:
        return [document["event"] for _, _, document in self.calls]


@pytest.fixture
def internet() -> Internet:
    return Internet()


@pytest.fixture
def sender(internet: Internet) -> Delivery:
    return Delivery(ProjectWebhooks(internet.call), beat("one"))


def book(
    cloud: Cloud, url: str | None = URL, project_id: str = world.PROJECT, **labels: str
) -> world.Lease:
    if not cloud.placement.providers:
        world.add_host(cloud, "a", zone="nova")
    wanted = world.request(world.add_flavor(max_length_hours=24), SPAN, project_id=project_id)
    lease = world.book(dataclasses.replace(wanted, labels=Labels(webhook=url, **labels)))
    world.set_status(lease, "CREATING")
    db_api.lease_update(lease.id, {"status": "PENDING"})
    return lease


def live(sender: Delivery, now: list[datetime.datetime], *steps: datetime.datetime) -> None:
    """Let managers work at some moments, and send what they tell."""
    manager = Manager()
    for now[0] in steps:
        timeutils.set_time_override(now[0])
        manager.run(now[0])
        reminders.remind(now[0], "one", [1])
        sender.run()


def test_webhook_is_called_once_for_each_event_with_all_that_a_script_needs(
    cloud: Cloud, now: list[datetime.datetime], internet: Internet, sender: Delivery
):
    lease = book(cloud, name="training", contact="a@example.org")
    live(sender, now, world.NOW, SPAN.start, SPAN.end - HOUR, SPAN.end, SPAN.end + HOUR)
    assert internet.events == ["started", "reminded", "ended"]
    assert {url for url, _, _ in internet.calls} == {URL}
    assert {key for _, key, _ in internet.calls} == {webhooks.key_of(world.PROJECT)}
    started, reminded, ended = (document for _, _, document in internet.calls)
    reservation, flavor = lookup.get(lease.reservation_id, None)
    told = started["data"]["reservation"]
    assert told["id"] == reservation.id
    assert (told["name"], told["project_id"]) == ("training", world.PROJECT)
    assert (told["status"], told["instance_count"]) == ("ACTIVE", 1)
    assert told["start"] == f"{SPAN.start.isoformat()}+00:00"
    assert told["end"] == f"{SPAN.end.isoformat()}+00:00"
    nova_flavor = backing_names.nova_flavor_id(lease.reservation_id)
    assert (told["compute_flavor"], told["flavor"]["name"]) == (nova_flavor, flavor.name)
    assert "contact" not in told and "webhook" not in told
    assert started["availability_zone"] == "nova"
    assert started["boot"].startswith(
        f"openstack server create --flavor {nova_flavor} --availability-zone nova "
    )
    assert reminded["data"]["after"] == {"hours": 1}
    assert (reminded["boot"], ended["availability_zone"]) == (None, None)
    assert len({document["id"] for _, _, document in internet.calls}) == 3


def test_deletion_of_a_running_reservation_is_told(
    cloud: Cloud, now: list[datetime.datetime], internet: Internet, sender: Delivery
):
    lease = book(cloud)
    live(sender, now, SPAN.start)
    session.change(executions.request, lease.id, DELETE)
    live(sender, now, SPAN.start + HOUR)
    assert internet.events == ["started", "deleted"]


def test_nobody_is_called_without_a_webhook_or_after_it_was_removed(
    cloud: Cloud, now: list[datetime.datetime], internet: Internet, sender: Delivery
):
    book(cloud, None)
    lease = book(cloud)
    lookup.write(lookup.get(lease.reservation_id, None)[0], {"webhook": None}, "user")
    live(sender, now, SPAN.start, SPAN.end)
    assert internet.tried == []


def test_call_that_fails_is_repeated_at_the_present_url_and_shown(
    cloud: Cloud, now: list[datetime.datetime], internet: Internet, sender: Delivery
):
    lease = book(cloud)
    internet.failing[URL] = RuntimeError("the receiver answers with the status 503")
    live(sender, now, SPAN.start, SPAN.end - HOUR)
    # What follows about the same reservation waits.
    assert (internet.tried, internet.calls) == ([URL, URL], [])
    reservation, _ = lookup.get(lease.reservation_id, None)
    (said,) = webhooks.failures(reservation)
    assert (said.entry.code, said.data["event"]) == ("webhook_failed", "started")
    assert "status 503; it is called again" in said
    other = "https://hooks.example.org/other"
    lookup.write(reservation, {"webhook": other}, "user")
    live(sender, now, SPAN.end - HOUR / 2)
    assert internet.events == ["started", "reminded"]
    assert {url for url, _, _ in internet.calls} == {other}
    assert webhooks.failures(lookup.get(lease.reservation_id, None)[0]) == []


def test_call_that_can_not_succeed_is_given_up_and_shown(
    cloud: Cloud,
    now: list[datetime.datetime],
    internet: Internet,
    sender: Delivery,
    database: sa.Engine,
):
    lease = book(cloud)
    internet.failing[URL] = Undeliverable("the receiver answers with the status 410")
    live(sender, now, SPAN.start)
    assert [error for _, error in given_up(database)] == [
        "the receiver answers with the status 410"
    ]
    (said,) = webhooks.failures(lookup.get(lease.reservation_id, None)[0])
    assert "status 410; it isn't called again" in said
    internet.failing.clear()
    live(sender, now, SPAN.end)
    assert internet.events == ["ended"]


def test_silent_receiver_is_left_alone_for_a_while_by_its_project_only(
    cloud: Cloud,
    now: list[datetime.datetime],
    internet: Internet,
    sender: Delivery,
    clock: FakeClock,
):
    beta = "https://hooks.example.org/of-beta"
    for _ in range(3):
        book(cloud)
    book(cloud, beta, project_id="beta")
    internet.failing[URL] = ReceiverSilent()
    live(sender, now, SPAN.start)
    assert sorted(internet.tried) == sorted([URL, beta])
    assert [url for url, _, _ in internet.calls] == [beta]
    assert webhooks.key_of("beta") != webhooks.key_of(world.PROJECT)
    internet.failing.clear()
    live(sender, now, SPAN.start + HOUR / 2)
    assert internet.events == ["started"]
    clock.seconds += times.PROJECT_WEBHOOK_PAUSE.total_seconds() + 1
    live(sender, now, SPAN.start + HOUR)
    assert internet.events == 4 * ["started"]


def test_reservation_without_failures_costs_no_statement(cloud: Cloud, database: sa.Engine):
    lease = book(cloud, None)
    reservation, _ = lookup.get(lease.reservation_id, None)
    asked: list[str] = []

    def executes(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    sa.event.listen(database, "before_cursor_execute", executes)
    try:
        assert webhooks.failures(reservation) == []
    finally:
        sa.event.remove(database, "before_cursor_execute", executes)
    assert asked == []


def test_channel_is_there_if_hosts_are_listed(conf: Any):
    group = "warre_messages"
    assert ProjectWebhooks.name not in {each.name for each in telling.configured()}
    conf.config(group=group, project_webhook_hosts=["hooks.example.org", ".lab.example.org:8443"])
    conf.config(group=group, project_webhook_networks=["10.20.0.0/16", "fd12::/16"])
    assert ProjectWebhooks.name in {each.name for each in telling.configured()}
    conf.config(group=group, project_webhook_networks=["10.20.0.1/16"])
    with pytest.raises(exceptions.Misconfigured, match="project_webhook_networks"):
        telling.configured()
    for wrong in ("https://hooks.example.org", "hooks.example.org/path", "*.example.org"):
        with pytest.raises(ValueError):
            conf.config(group=group, project_webhook_hosts=[wrong])
