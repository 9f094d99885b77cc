"""``warre-blazar-manage metrics``: what it prints and serves, and what its documentation says."""

import configparser
import pathlib
import re
import signal
import socket
import subprocess
import sys

import prometheus_client
import pytest
import sqlalchemy as sa
from blazar.db.sqlalchemy import facade_wrapper
from devcloud_lib.ports import free_port
from oslo_config import cfg
from prometheus_client import parser
from prometheus_client.openmetrics import exposition as openmetrics_text
from prometheus_client.openmetrics import parser as openmetrics_parser

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.promises import metrics
from warre_blazar.cmd import manage, metrics_command
from warre_blazar.cmd.metric_families import Collector
from warre_blazar.db import tables
from warre_blazar.domain.running import lease_states

PAGE = pathlib.Path(__file__).parents[3] / "doc/source/metrics.rst"
QUOTED = 'a "quoted" \\ name'


@pytest.fixture
def config(cloud: Cloud, tmp_path: pathlib.Path):
    """A configuration that names a database with all tables."""
    url = f"sqlite:///{tmp_path / 'blazar.sqlite'}"
    engine = sa.create_engine(url)
    tables.metadata.create_all(engine)
    engine.dispose()
    parsed = configparser.RawConfigParser()
    parsed.read_dict({"DEFAULT": cloud.options(), "database": {"connection": url}})
    path = tmp_path / "blazar.conf"
    with path.open("w") as file:
        parsed.write(file)
    facade_wrapper._clear_engine()
    cfg.CONF(["--config-file", str(path)], project="blazar")
    yield path
    cfg.CONF.clear_override("max_retries", group="database")
    facade_wrapper._clear_engine()


def printed(config: pathlib.Path, capsys: pytest.CaptureFixture) -> str:
    assert manage.main(["--config-file", str(config), "metrics"]) == 0
    return capsys.readouterr().out


def samples(text: str) -> dict[tuple[str, frozenset[str]], float]:
    """Values by name and the values of labels."""
    return {
        (sample.name, frozenset(sample.labels.values())): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_empty_database_is_printed_with_zeros(config: pathlib.Path, capsys):
    found = samples(printed(config, capsys))
    assert found["openstack_blazar_up", frozenset()] == 1
    assert found["openstack_blazar_managers_alive", frozenset()] == 0
    assert found["openstack_blazar_reservations_overdue", frozenset({"start"})] == 0
    for row in lease_states.REPAIRS:
        assert found["openstack_blazar_repairs_total", frozenset({row})] == 0
    assert found["openstack_blazar_execution_delay_seconds_count", frozenset({"end"})] == 0


def test_names_of_flavors_are_escaped(config: pathlib.Path, capsys):
    flavor = world.add_flavor(name=QUOTED, slots=3)
    found = samples(printed(config, capsys))
    assert found["openstack_blazar_flavor_slots", frozenset({flavor.id, QUOTED})] == 3


def test_metrics_are_valid_openmetrics_too(config: pathlib.Path):
    world.add_host(None, "a")
    world.add_flavor(name=QUOTED, slots=3)
    registry = prometheus_client.CollectorRegistry()
    registry.register(Collector(metrics_command._read))
    text = openmetrics_text.generate_latest(registry).decode()
    families = list(openmetrics_parser.text_string_to_metric_families(text))
    assert len(families) == len(Collector(metrics_command._read).describe())


def test_missing_tables_are_reported_in_one_line(tmp_path: pathlib.Path, cloud: Cloud, capsys):
    config = tmp_path / "blazar.conf"
    config.write_text(f"[database]\nconnection = sqlite:///{tmp_path}/empty.sqlite\n")
    facade_wrapper._clear_engine()
    try:
        assert manage.main(["--config-file", str(config), "metrics"]) == 1
    finally:
        cfg.CONF.clear_override("max_retries", group="database")
        facade_wrapper._clear_engine()
    told = capsys.readouterr().err
    assert told.startswith("warre-blazar-manage: Blazar's database can't be read: ")
    assert "run warre-blazar-manage setup" in told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9180", ("127.0.0.1", 9180)),
        ("0.0.0.0:9180", ("0.0.0.0", 9180)),
        ("[::1]:9180", ("::1", 9180)),
        ("metrics.example.org:80", ("metrics.example.org", 80)),
    ],
)
def test_address_is_read(text: str, address: tuple[str, int]):
    assert metrics_command._address(text) == address


@pytest.mark.parametrize(
    "text",
    ["", "x", "0", "70000", "-1", "host:", ":9180", "host:x", "a@b:1", "a:1/x", "1#2", "[::1:1"],
)
def test_malformed_address_is_refused(text: str, config: pathlib.Path, capsys):
    with pytest.raises(SystemExit) as ended:
        manage.main(["--config-file", str(config), "metrics", "--listen", text])
    assert ended.value.code == 2
    assert "expected a port, or a host and a port" in capsys.readouterr().err


@pytest.mark.slow
def test_command_ends_with_a_message_if_the_port_is_taken_and_after_sigterm(config: pathlib.Path):
    port = free_port()
    words = [sys.executable, "-W", "ignore", "-m", "warre_blazar.cmd.manage", "--config-file"]
    words += [str(config), "metrics", "--listen", str(port)]
    first = subprocess.Popen(words)
    try:
        world.until(lambda: _is_listening(port))
        second = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert second.returncode == 1
        assert f"can't listen on 127.0.0.1:{port}" in second.stderr
        first.send_signal(signal.SIGTERM)
        assert first.wait(60) == 0
    finally:
        first.kill()


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# The documentation.


def test_page_lists_every_metric_with_its_type_and_labels():
    cells = re.findall(
        r"^   \* - ``(\w+)``\n     - (\w+)\n     - (.*)\n     - (.+)",
        PAGE.read_text(),
        re.MULTILINE,
    )
    listed = {
        name: (kind, tuple(re.findall(r"``(\w+)``", labels))) for name, kind, labels, _ in cells
    }
    assert listed == metrics()


def test_no_metric_has_a_label_for_each_reservation_or_project():
    labels = {label for _, names in metrics().values() for label in names}
    assert labels == {
        *("flavor_id", "flavor", "state", "days_ahead", "hostname", "resourcetype"),
        *("action", "row", "code", "channel"),
    }
