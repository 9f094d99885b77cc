"""A real Prometheus scrapes the command, and the dashboard and the alert rules find data.

What Prometheus makes of the metrics doesn't depend on the database. ``test_metrics.py`` reads the
metrics from each kind of database.
"""

import contextlib
import datetime
import functools
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import dashboard, databases, world
from tests.functional.db.outage import fail
from tests.functional.db.scraping import compared, get, program, prometheus, serving
from warre_blazar.db import session
from warre_blazar.db.records import metrics, refusals
from warre_blazar.db.running import executions
from warre_blazar.domain.records.refusals import Asked
from warre_blazar.domain.records.tallies import DELAYS, Name, bucket
from warre_blazar.domain.timeline import Span

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True, scope="session")

HOUR = datetime.timedelta(hours=1)
QUOTED = 'GPU "8 x A100 ü" \\ big'


def address(database: sa.Engine) -> str:
    """The URL of a database."""
    return database.url.render_as_string(hide_password=False)


@contextlib.contextmanager
def command(url: str, directory: pathlib.Path) -> Iterator[int]:
    """The port on which the command serves the metrics of a database."""
    program = [sys.executable, "-W", "ignore", "-m", "warre_blazar.cmd.manage"]
    with serving(program, databases.write_config(url, directory), directory) as port:
        yield port


def around(now: datetime.datetime, start: float, end: float) -> Span:
    begin = now.replace(second=0, microsecond=0)
    return Span(begin + start * HOUR, begin + end * HOUR)


def populate(cloud: Cloud) -> None:
    """A site with something of everything that metrics show."""
    now = timeutils.utcnow()
    for name in "abc":
        world.add_host(cloud, name)
    fail(world.add_host(cloud, "failed"))
    flavor = world.add_flavor(name=QUOTED, slots=6)
    small = world.add_flavor(name="small", slots=9, vcpu=1)
    world.add_flavor(name="retired", slots=2, active=False)
    earlier: dict[str, Any] = {"now": world.LONG_AGO}
    world.begin(world.book(world.request(flavor, around(now, -1, 30), 3, **earlier)))
    world.begin(world.book(world.request(small, around(now, -2, 100), 2, **earlier)))
    world.plan(world.request(small, around(now, 20, 200), 4, now=now))
    world.plan(world.request(flavor, around(now, 70, 75), 2, now=now))
    world.plan(world.request(small, around(now, -0.5, 5), **earlier))  # It is overdue.
    failed = world.plan(world.request(small, around(now, 3, 5), now=now))
    world.set_status(failed, "ERROR")
    asked = Asked(world.PROJECT, "user", flavor.id, 9, around(now, 1, 2))
    session.change(refusals.add, asked, "slots_exhausted", now, 100)
    session.change(executions.beat, "1", "controller1")
    session.change(executions.beat, "2", "controller2")


def count() -> None:
    """Count starts, ends and a repair, as managers do."""
    with session.writer() as db:
        for name in DELAYS.values():
            for seconds in (0.2, 0.3, 0.4, 3.0):
                metrics.add_tally(db, name, bucket(seconds), seconds)
        metrics.add_tally(db, Name.REPAIR, "contradiction")


def test_every_query_has_data(database: sa.Engine, cloud: Cloud, tmp_path: pathlib.Path):
    populate(cloud)
    with command(address(database), tmp_path) as target, prometheus(target, tmp_path) as server:
        # A rate needs two samples. Of what begins with the first sample, Prometheus knows no rate.
        repairs = "sum(increase(openstack_blazar_repairs_total[1m]))"
        world.until(lambda: bool(server.values(repairs)))
        count()
        world.until(lambda: max(server.values(repairs).values(), default=0) > 0)

        def has_data(query: str) -> bool:
            # Prometheus gives up a scrape that takes longer than the second between two scrapes.
            # Until the next one, a query finds nothing. A rate looks back for a minute only.
            found = server.values(query)
            if not found:
                count()
            return bool(found)

        for panels in dashboard.rows().values():
            for panel in panels:
                for query, _ in dashboard.queries(panel):
                    world.until(functools.partial(has_data, query), what=query)
        rules = server.rules()
        assert {rule["health"] for rule in rules} <= {"ok", "unknown"}
        for rule in rules:
            query = compared(rule["query"])
            world.until(functools.partial(has_data, query), what=query)
        slots = "openstack_blazar_flavor_slots"
        world.until(lambda: QUOTED in {json.loads(x)["flavor"] for x in server.values(slots)})
        pictures = pathlib.Path(os.environ.get("WARRE_PICTURES", tmp_path))
        drawn = dashboard.draw(server.lines, pictures)
        assert all(path.stat().st_size for path in drawn)


def test_metrics_pass_prometheus_own_check(database: sa.Engine, cloud: Cloud, tmp_path):
    populate(cloud)
    count()
    with command(address(database), tmp_path) as port:
        _, text = get(port, "/metrics")
    checked = subprocess.run(
        [program("promtool"), "check", "metrics"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_database_that_goes_away_and_comes_back(database: sa.Engine, tmp_path: pathlib.Path):
    """The command answers all the time. While the database is away, it says so."""
    directory = tmp_path / "files"
    directory.mkdir()
    with databases.made("sqlite", directory) as url:
        databases.fill("sqlite", url, directory)
        with command(url, tmp_path) as port:
            assert "openstack_blazar_up 1.0\n" in get(port, "/metrics")[1]
            away = directory.rename(tmp_path / "away")
            status, text = get(port, "/metrics")
            assert status == 200
            assert "openstack_blazar_up 0.0\n" in text
            assert "openstack_blazar_managers_alive" not in text
            away.rename(directory)
            assert "openstack_blazar_up 1.0\n" in get(port, "/metrics")[1]
    log = (tmp_path / "metrics.log").read_text()
    assert "Blazar's database can't be read: " in log
    assert "Traceback" not in log
