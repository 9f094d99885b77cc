"""Each alert is caused in the tables and the cloud, and fires by its own rule.

The metrics are read before and after the cause. ``promtool`` evaluates the rules as if the metrics
stayed as they are then. The audit finds what the alert names.
"""

import contextlib
import datetime
import json
import pathlib
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
import yaml

from tests.functional.db import notices, test_audit, test_gone_hosts, world
from tests.functional.db.scraping import RULES, program
from tests.functional.db.test_audit import NOW, Scene, scene
from warre_blazar.cmd.metric_families import Collector
from warre_blazar.db import session, tables
from warre_blazar.db.messages import deliveries, outbox
from warre_blazar.db.records import metrics as tallies
from warre_blazar.db.running import executions
from warre_blazar.domain.audit.differences import DifferenceKind
from warre_blazar.domain.flavors.devices import NO_DEVICES
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.records.tallies import Name, bucket
from warre_blazar.services.hosts import host_refresh
from warre_blazar.services.records import metrics

__all__ = ["scene"]

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True, scope="session")

#: By name and labels, as Prometheus writes them.
Samples = dict[str, float]


def scrape() -> Samples:
    """The values of all metrics."""
    collector = Collector(lambda: metrics.read(NOW, world.NO_CLEANING, NO_DEVICES))
    found = (sample for family in collector.collect() for sample in family.samples)
    return {_series(sample.name, sample.labels): sample.value for sample in found}


def _series(name: str, labels: dict[str, str]) -> str:
    written = ",".join(f"{label}={json.dumps(value)}" for label, value in labels.items())
    return f"{name}{{{written}}}"


def firing(before: Samples, after: Samples, directory: pathlib.Path) -> set[str]:
    """The alerts that fire 40 minutes after the metrics have changed."""
    series = [
        {"series": name, "values": f"{before.get(name, '_')} {value}+0x60"}
        for name, value in after.items()
    ]
    names = {rule["alert"] for group in _rules() for rule in group["rules"]}
    case = {
        "interval": "1m",
        "input_series": series,
        "alert_rule_test": [
            {"eval_time": "40m", "alertname": name, "exp_alerts": []} for name in sorted(names)
        ],
    }
    path = directory / "test.yml"
    document = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [case]}
    path.write_text(yaml.safe_dump(document))
    words = [program("promtool"), "test", "rules", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    fired = {name for name in names if f"alertname: {name}," in said}
    assert bool(fired) == (done.returncode != 0), said
    return fired


def _rules() -> list[dict[str, Any]]:
    return yaml.safe_load(RULES.read_text())["groups"]


def silence(*machines: str) -> None:
    """Let managers on these machines, or on all, have had no heartbeat for some minutes."""
    with session.writer() as db:
        ours = tables.managers.c.host.in_(machines) if machines else sa.true()
        then = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0)
        then -= datetime.timedelta(minutes=8)
        db.execute(tables.managers.update().where(ours).values(heartbeat=then))


def every_manager_stops(_: Scene) -> None:
    silence()


def one_manager_stops(_: Scene) -> None:
    silence("controller1")


def nobody_starts_a_reservation(scene: Scene) -> None:
    test_audit.overdue(scene)


def nova_refuses_to_open_a_reservation(scene: Scene) -> None:
    test_audit.half_open(scene)
    test_audit.at(scene.running, tables.bookings, status_reason="Nova can't be reached")


def starts_are_late(_: Scene) -> None:
    for seconds in (2, 90, 200):
        session.change(tallies.add_tally, Name.START_DELAY, bucket(seconds), seconds)


def reservation_goes_to_error(scene: Scene) -> None:
    world.set_status(scene.waiting, "ERROR")


def host_leaves_nova(scene: Scene) -> None:
    test_audit.provider_is_gone(scene)
    host_refresh.refresh()
    test_gone_hosts.look_later()


def host_loses_processors(scene: Scene) -> None:
    test_audit.host_is_overbooked(scene)
    host_refresh.refresh()


def receiver_is_away(scene: Scene) -> None:
    session.change(deliveries.set_channels, {"mail": False})
    news = News(Kind.STARTED, NOW - datetime.timedelta(minutes=20))
    session.change(outbox.add, outbox.of_lease(scene.waiting.id), news)


def nothing(_: Scene) -> None:
    pass


#: What is done, the alerts that fire, and what the audit finds.
CAUSES: dict[Callable[[Scene], None], tuple[set[str], set[DifferenceKind]]] = {
    nothing: (set(), set()),
    every_manager_stops: ({"NoManager", "ManagerSilent"}, set()),
    one_manager_stops: ({"ManagerSilent"}, set()),
    nobody_starts_a_reservation: ({"ReservationsOverdue"}, {DifferenceKind.LEASE_OVERDUE}),
    nova_refuses_to_open_a_reservation: ({"ReservationsOverdue"}, {DifferenceKind.NOT_OPENED}),
    starts_are_late: ({"Late"}, set()),
    reservation_goes_to_error: ({"ReservationsInError"}, {DifferenceKind.LEASE_STATE}),
    test_audit.host_has_failed: ({"HostsUnusable"}, {DifferenceKind.HOST_NOT_RESERVABLE}),
    host_leaves_nova: (
        {"HostsUnusable"},
        {DifferenceKind.HOST_GONE, DifferenceKind.HOST_NOT_RESERVABLE},
    ),
    host_loses_processors: ({"HostOverbooked"}, {DifferenceKind.HOST_OVERSOLD}),
    receiver_is_away: ({"OutboxStuck"}, set()),
    test_audit.given_up_notice: ({"NoticesGivenUp"}, {DifferenceKind.NOTICES_LOST}),
}


@pytest.fixture
def healthy(scene: Scene) -> Scene:
    """A scene with two managers, which have sent all notices."""
    with session.writer() as db:
        # The scene is furnished once for all tests, and its own manager has been silent since then.
        db.execute(tables.managers.delete())
    for number in "12":
        session.change(executions.beat, number, f"controller{number}")
    sent = [notice.id for notice in notices.waiting(outbox.LEASES)]
    session.change(deliveries.write, deliveries.Outcomes(sent=sent), NOW)
    return scene


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.__name__)
def test_alert_fires_and_the_audit_finds_the_same(
    healthy: Scene, tmp_path: pathlib.Path, cause: Callable[[Scene], None]
):
    before = scrape()
    cause(healthy)
    alerts, differences = CAUSES[cause]
    assert firing(before, scrape(), tmp_path) == {f"WarreBlazar{name}" for name in alerts}
    assert healthy.found() == differences


@contextlib.contextmanager
def table_is_away(name: str) -> Iterator[None]:
    """A table that has another name meanwhile."""
    with session.writer() as db:
        db.connection().exec_driver_sql(f"ALTER TABLE {name} RENAME TO away")
    try:
        yield
    finally:
        with session.writer() as db:
            db.connection().exec_driver_sql(f"ALTER TABLE away RENAME TO {name}")


def test_alert_fires_if_the_database_is_unreadable(healthy: Scene, tmp_path: pathlib.Path):
    before = scrape()
    with table_is_away("warre_tallies"):
        after = scrape()
    assert firing(before, after, tmp_path) == {"WarreBlazarDatabaseUnreadable"}
