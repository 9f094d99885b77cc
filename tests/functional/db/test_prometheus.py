"""A real Prometheus scrapes the command, and the dashboard and the alert rules find data."""

import contextlib
import datetime
import http.client
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
import yaml
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import dashboard, databases, world
from tests.functional.db.outage import fail
from tests.unit.cmd.test_api import free_port
from warre_blazar.db import executions, refusals, session, tallies
from warre_blazar.domain.refusals import Asked
from warre_blazar.domain.tallies import DELAYS, Name, bucket
from warre_blazar.domain.timeline import Span

ROOT = pathlib.Path(__file__).parents[3]
RULES = ROOT / "etc/prometheus/warre-blazar.rules.yml"
HOUR = datetime.timedelta(hours=1)
QUOTED = 'GPU "8 x A100 ü" \\ big'


def program(name: str) -> str:
    """The path of a program of Debian's package prometheus."""
    path = shutil.which(name)
    if path is None:
        pytest.fail(f"{name} is not installed; run tools/test once", pytrace=False)
    return path


@contextlib.contextmanager
def running(*words: str, log: pathlib.Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is stopped in the end."""
    with log.open("wb") as file:
        process = subprocess.Popen(words, stdout=file, stderr=file, cwd=ROOT)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def get(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def address(database: sa.Engine) -> str:
    """The URL of a database."""
    return database.url.render_as_string(hide_password=False)


@contextlib.contextmanager
def command(url: str, directory: pathlib.Path) -> Iterator[int]:
    """The port on which the command serves the metrics of a database."""
    port = free_port()
    config = databases.write_config(url, directory)
    words = [sys.executable, "-W", "ignore", "-m", "warre_blazar.cmd.manage"]
    words += ["--config-file", config, "metrics", "--listen", str(port)]
    log = directory / "metrics.log"
    with running(*words, log=log) as process:

        def is_up() -> bool:
            assert process.poll() is None, log.read_text()
            with contextlib.suppress(OSError):
                return get(port, "/metrics")[0] == 200
            return False

        world.until(is_up)
        yield port


class Prometheus:
    """A Prometheus that scrapes the command each second."""

    def __init__(self, port: int) -> None:
        self._port = port

    def _ask(self, path: str, **parameters: str) -> Any:
        status, body = get(self._port, f"/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
        document = json.loads(body)
        assert status == 200, document
        return document["data"]

    def values(self, query: str) -> dict[str, float]:
        """The numbers that a query gives, by labels. What isn't a number is left out."""
        found = self._ask("query", query=query)["result"]
        numbers = {json.dumps(each["metric"]): float(each["value"][1]) for each in found}
        return {labels: number for labels, number in numbers.items() if not math.isnan(number)}

    def lines(self, query: str, pattern: str) -> dashboard.Series:
        """The lines that a query gives over the last minute."""
        now = time.time()
        span = {"start": str(now - 60), "end": str(now), "step": "1"}
        found = self._ask("query_range", query=query, **span)["result"]
        return [
            (
                dashboard.legend(pattern, each["metric"]),
                [(x - now, float(y)) for x, y in each["values"]],
            )
            for each in found
        ]

    def rules(self) -> list[dict[str, Any]]:
        return [rule for group in self._ask("rules")["groups"] for rule in group["rules"]]


@contextlib.contextmanager
def prometheus(target: int, directory: pathlib.Path) -> Iterator[Prometheus]:
    port = free_port()
    config = directory / "prometheus.yml"
    scrape = {"job_name": "blazar", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}
    document = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [scrape],
    }
    config.write_text(yaml.safe_dump(document))
    words = [f"--config.file={config}", f"--storage.tsdb.path={directory / 'tsdb'}"]
    words += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]
    with running(program("prometheus"), *words, log=directory / "prometheus.log"):
        server = Prometheus(port)

        def has_scraped() -> bool:
            with contextlib.suppress(OSError):
                return get(port, "/-/ready")[0] == 200 and bool(
                    server.values("openstack_blazar_up")
                )
            return False

        world.until(has_scraped)
        yield server


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
                tallies.add(db, name, bucket(seconds), seconds)
        tallies.add(db, Name.REPAIR, "contradiction")


def test_every_query_has_data(database: sa.Engine, cloud: Cloud, tmp_path: pathlib.Path):
    populate(cloud)
    with command(address(database), tmp_path) as target, prometheus(target, tmp_path) as server:
        # A rate needs two samples. Of what begins with the first sample, Prometheus knows no rate.
        repairs = "sum(increase(openstack_blazar_repairs_total[1m]))"
        world.until(lambda: bool(server.values(repairs)))
        count()
        world.until(lambda: max(server.values(repairs).values()) > 0)
        for panels in dashboard.rows().values():
            for panel in panels:
                for query, _ in dashboard.queries(panel):
                    assert server.values(query), (panel["title"], query)
        rules = server.rules()
        assert {rule["health"] for rule in rules} <= {"ok", "unknown"}
        for rule in rules:
            query, _, number = rule["query"].rpartition(" ")
            assert float(number) >= 0
            query = query.rpartition(" ")[0].replace("[1h]", "[1m]")
            assert server.values(query), rule["name"]
        pictures = pathlib.Path(os.environ.get("WARRE_PICTURES", tmp_path))
        drawn = dashboard.draw(server.lines, pictures)
        assert all(path.stat().st_size for path in drawn)
        assert QUOTED in {
            json.loads(labels)["flavor"]
            for labels in server.values("openstack_blazar_flavor_slots")
        }


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
