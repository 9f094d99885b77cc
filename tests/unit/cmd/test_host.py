"""``warre-blazar-manage host``: what its commands print, send and return."""

import configparser
import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db.sqlalchemy import facade_wrapper
from blazar.notification import notifier
from oslo_config import cfg

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.cmd import host_drain, host_refresh, manage
from warre_blazar.db import tables

Run = Callable[..., int]
ROOM = {"VCPU": 16, "MEMORY_MB": 65536, "DISK_GB": 1000}
SPAN = world.hours(1, 3)


@pytest.fixture
def config(cloud: Cloud, tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A configuration that names the fake services and a database with all tables."""
    url = f"sqlite:///{tmp_path / 'blazar.sqlite'}"
    engine = sa.create_engine(url)
    tables.metadata.create_all(engine)
    engine.dispose()
    parser = configparser.RawConfigParser()
    parser.read_dict({"DEFAULT": cloud.options(), "database": {"connection": url}})
    path = tmp_path / "blazar.conf"
    with path.open("w") as file:
        parser.write(file)
    facade_wrapper._clear_engine()
    cfg.CONF(["--config-file", str(path)], project="blazar")
    yield path
    facade_wrapper._clear_engine()


class Notifications(list[tuple[str, dict[str, Any]]]):
    """Records what is sent, in place of Blazar's notifier."""

    def warn(self, context: dict[str, Any], event: str, payload: dict[str, Any]) -> None:
        self.append((event, payload))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Notifications:
    notifications = Notifications()
    monkeypatch.setattr(notifier, "NOTIFIER", notifications)
    return notifications


@pytest.fixture
def manage_hosts(config: pathlib.Path) -> Run:
    """Runs any of the commands."""
    return lambda *words: manage.main(["--config-file", str(config), "host", *words])


@pytest.fixture
def run(manage_hosts: Run, sent: Notifications) -> Run:
    """Runs ``host refresh``."""
    return lambda *words: manage_hosts("refresh", *words)


def add(cloud: Cloud, name: str) -> str:
    host_id = world.add_host(cloud, name)
    cloud.placement.change(name, **ROOM)
    return host_id


def test_first_reading_takes_over_the_ids_of_providers(run: Run, cloud: Cloud, capsys):
    add(cloud, "a")
    assert run() == host_refresh.WELL
    assert "    only ids or unit sizes of providers\n" in capsys.readouterr().out
    assert run() == host_refresh.WELL
    assert capsys.readouterr().out.splitlines()[-1] == ("1 host: 0 changed, 0 couldn't be read")


def test_changes_are_printed(run: Run, cloud: Cloud, capsys):
    add(cloud, "a")
    add(cloud, "b")
    run()
    capsys.readouterr()
    (root,) = (i for i, p in cloud.placement.providers.items() if p["name"] == "a")
    cloud.placement.add_provider("a_0000:01:00.0", root, "CUSTOM_A100", CUSTOM_GPU=1)
    cloud.placement.change("a", **{**ROOM, "VCPU": 8})
    cloud.nova.zones["a"] = "gpu"
    assert run() == host_refresh.WELL
    assert capsys.readouterr().out.splitlines() == [
        "a has changed:",
        "    CUSTOM_GPU: 0 -> 1",
        "    VCPU: 16 -> 8",
        "    zone: nova -> gpu",
        "    new traits: CUSTOM_A100",
        "    new providers: a_0000:01:00.0",
        "2 hosts: 1 changed, 0 couldn't be read",
    ]


def test_one_host_is_found_by_its_name_or_id(run: Run, cloud: Cloud, capsys):
    host_id = add(cloud, "a")
    add(cloud, "b")
    for ref in ("a", host_id):
        assert run(ref) == host_refresh.WELL
        assert "1 host:" in capsys.readouterr().out


def test_unknown_host_fails(run: Run, capsys):
    assert run("none") == host_refresh.BLIND
    assert "Blazar has no host none" in capsys.readouterr().err


def test_host_that_is_not_reservable_is_read_too(run: Run, cloud: Cloud, capsys):
    world.add_host(cloud, "a", reservable=False)
    assert run("a") == host_refresh.WELL
    assert capsys.readouterr().out == "1 host: 0 changed, 0 couldn't be read\n"


def test_host_that_placement_does_not_have_fails_and_others_are_read(run: Run, cloud, capsys):
    world.add_host(None, "gone")
    add(cloud, "a")
    run()
    capsys.readouterr()
    cloud.placement.change("a", **{**ROOM, "VCPU": 8})
    assert run() == host_refresh.BLIND
    shown = capsys.readouterr().out
    assert "gone couldn't be read, so its stored data stays: " in shown
    assert "VCPU: 16 -> 8" in shown
    assert shown.endswith("2 hosts: 1 changed, 1 couldn't be read\n")


def test_zones_that_could_not_be_read_fail(run: Run, cloud: Cloud, capsys):
    add(cloud, "a")
    cloud.nova.fail(status=503)
    assert run() == host_refresh.BLIND
    assert (
        "Zones and aggregates couldn't be read, so what is stored of them stays: "
        in capsys.readouterr().out
    )


def test_database_away_fails(run: Run, config: pathlib.Path, capsys):
    text = config.read_text()
    config.write_text(text.replace("sqlite:///", "sqlite:////nowhere"))
    facade_wrapper._clear_engine()
    assert run() == host_refresh.BLIND
    assert "database" in capsys.readouterr().err


def overbook(run: Run, cloud: Cloud) -> tuple[str, world.Lease]:
    host_id = add(cloud, "a")
    run()
    lease = world.book(world.request(world.add_flavor(vcpu=2, slots=9), SPAN, 4))
    cloud.placement.change("a", **{**ROOM, "VCPU": 6})
    return host_id, lease


def test_overbooked_host_is_printed_with_its_reservations(run: Run, cloud: Cloud, capsys):
    _, lease = overbook(run, cloud)
    assert run() == host_refresh.OVERBOOKED
    shown = capsys.readouterr().out
    assert "OVERBOOKED: Host a has 6 of VCPU, but 8 are booked at " in shown
    assert f"{lease.reservation_id} ({SPAN.start} to {SPAN.end})" in shown


def test_json_has_everything(run: Run, cloud: Cloud, capsys):
    host_id, lease = overbook(run, cloud)
    capsys.readouterr()
    assert run("--json") == host_refresh.OVERBOOKED
    (host,) = json.loads(capsys.readouterr().out)["hosts"]
    assert (host["id"], host["name"], host["failure"]) == (host_id, "a", None)
    assert host["difference"]["totals"] == {"VCPU": {"before": 16, "after": 6}}
    (overbooked,) = host["overbooked"]
    assert (overbooked["booked"], overbooked["capacity"]) == (8, 6)
    times = {"start": SPAN.start.isoformat(), "end": SPAN.end.isoformat()}
    assert overbooked["reservations"] == [{"id": lease.reservation_id, **times}]


def test_notification_is_sent_once(run: Run, cloud: Cloud, sent: Notifications):
    host_id, lease = overbook(run, cloud)
    run()
    run()
    ((event, payload),) = sent
    assert event == "host.overbooked"
    assert (payload["host_id"], payload["host"]) == (host_id, "a")
    assert payload["overbooked"][0]["reservations"][0]["id"] == lease.reservation_id


def test_notification_that_fails_does_not_stop_the_command(run: Run, cloud: Cloud, monkeypatch):
    overbook(run, cloud)
    monkeypatch.setattr(notifier, "NOTIFIER", object())
    assert run() == host_refresh.OVERBOOKED


def test_drain_says_what_moved_where_and_whose_it_is(manage_hosts: Run, cloud: Cloud, capsys):
    add(cloud, "a")
    flavor = world.add_flavor(vcpu=2, slots=9, name="gpu.half")
    moved, begun = (world.book(world.request(flavor, SPAN, count)) for count in (2, 1))
    world.begin(begun)
    add(cloud, "b")
    project_id = world.request(flavor, SPAN).project_id

    def told() -> list[str]:
        assert manage_hosts("drain", "a", "--dry-run") == host_drain.LEFT
        _, *lines, _ = capsys.readouterr().out.splitlines()
        return lines

    time = "2100-01-01 01:00 to 2100-01-01 03:00 UTC"
    for project in (project_id, "climate"):
        assert told() == [
            f"would move  {moved.reservation_id}  {time}, 2 instances of gpu.half, "
            f"project {project}, to b",
            f"would stay  {begun.reservation_id}  {time}, 1 instance of gpu.half, "
            f"project {project}",
            "    it has begun; run this command with --running, wait for its end, or delete it",
        ]
        cloud.keystone.projects[project_id] = {"name": "climate"}
    assert manage_hosts("drain", "a", "--json") == host_drain.LEFT
    document = json.loads(capsys.readouterr().out)
    (first,), (left,) = document["moved"], document["left"]
    assert (first["flavor"], first["project"], first["new_hosts"]) == ("gpu.half", "climate", ["b"])
    assert (left["flavor"], left["project"], left["status"]) == ("gpu.half", "climate", "active")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "host drain a --note fans",
            "host drain: Unrecognized arguments: --note fans; is --reason fans meant",
        ),
        ("host drain --undo a b", "host drain: Unrecognized arguments: b; give one HOST at a time"),
        ("host fail --undo a b", "host fail: Unrecognized arguments: b; give one HOST at a time"),
        ("host undrain a", "; warre-blazar-manage host drain --undo HOST lets a host"),
        ("host status", "; openstack reservation host status shows hosts"),
        ("host nonsense", "invalid choice: 'nonsense' (choose from"),
        ("metrics --format json", "; metrics have the format of Prometheus, so leave it out"),
        ("db upgrade head --nonsense", "db upgrade: Unrecognized arguments: --nonsense\n"),
    ],
)
def test_words_that_operators_type_are_answered_with_what_works(capsys, words: str, said: str):
    with pytest.raises(SystemExit) as end:
        manage.main(words.split())
    shown = capsys.readouterr().err
    assert (end.value.code, said in shown, "usage:" in shown) == (2, True, False)
