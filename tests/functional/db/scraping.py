"""Runs ``warre-blazar-manage metrics``, and a real Prometheus that scrapes it each second."""

import contextlib
import http.client
import json
import math
import pathlib
import shutil
import subprocess
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import yaml
from devcloud_lib.ports import free_port

from tests.functional.db import dashboard, world

ROOT = pathlib.Path(__file__).parents[3]
RULES = ROOT / "etc/prometheus/warre-blazar.rules.yml"


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


@contextlib.contextmanager
def serving(program: Sequence[str], config: str, directory: pathlib.Path) -> Iterator[int]:
    """The port on which the command serves the metrics of a database.

    :param program: the words that run ``warre-blazar-manage``.
    """
    port = free_port()
    words = [*program, "--config-file", config, "metrics", "--listen", str(port)]
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


def compared(rule: str) -> str:
    """What an alert rule compares with a number. It is there even if all is well.

    Rates and increases over an hour become those over a minute, so that a test needn't wait.
    """
    query, operator, number = rule.rsplit(" ", 2)
    assert operator in ("<", ">"), rule
    assert float(number) >= 0
    return query.replace("[1h]", "[1m]")
