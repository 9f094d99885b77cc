"""``warre-blazar-manage audit``: what it prints, and its exit status."""

import configparser
import datetime
import json
import pathlib
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa
from blazar.db.sqlalchemy import facade_wrapper
from oslo_config import cfg
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.managers import Manager
from warre_blazar import texts, times
from warre_blazar.cmd import audit_command, manage
from warre_blazar.db import migration, record_models, session, tables, turns
from warre_blazar.db.running import executions
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.openstack import manager, placement_mark
from warre_blazar.services import audit
from warre_blazar.services.running.mark import TURN

ORPHAN = "0c0ffee0-0000-4000-8000-000000000001"
Run = Callable[..., int]


@pytest.fixture
def database(tmp_path: pathlib.Path) -> str:
    """Blazar's database with all tables."""
    url = f"sqlite:///{tmp_path / 'blazar.sqlite'}"
    engine = sa.create_engine(url)
    tables.metadata.create_all(engine)
    engine.dispose()
    return url


@pytest.fixture
def run(
    cloud: Cloud, database: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Run]:
    """Runs the command with a configuration file that names the fake services."""
    parser = configparser.RawConfigParser()
    parser.read_dict({"DEFAULT": cloud.options(), "database": {"connection": database}})
    path = tmp_path / "blazar.conf"
    with path.open("w") as file:
        parser.write(file)
    monkeypatch.setattr(times, "AUDIT_PAUSE", 0)
    facade_wrapper._clear_engine()
    # The fakes have a trust that nothing uses here.
    cloud.keystone.trusts.clear()
    cfg.CONF(["--config-file", str(path)], project="blazar")
    yield lambda *words: manage.main(["--config-file", str(path), "audit", *words])
    facade_wrapper._clear_engine()


def test_cloud_without_differences_is_clean(run: Run, capsys: pytest.CaptureFixture[str]):
    assert run() == audit_command.CLEAN
    assert capsys.readouterr().out == "0 differences\n"


def test_report_is_kept(run: Run, cloud: Cloud):
    cloud.placement.classes.add(backing_names.resource_class(ORPHAN))
    run()
    kept = audit.last_report()
    assert kept is not None and [each.kind for each in kept.findings] == ["leftover"]
    cloud.placement.classes.clear()
    run("--json")
    kept = audit.last_report()
    assert kept is not None and kept.findings == []


def test_report_that_can_not_be_kept_is_still_printed(
    run: Run, database: str, cloud: Cloud, capsys: pytest.CaptureFixture[str]
):
    engine = sa.create_engine(database)
    record_models.audits.drop(engine)
    engine.dispose()
    assert run() == audit_command.CLEAN
    printed = capsys.readouterr()
    assert printed.out == "0 differences\n"
    assert "the report isn't kept: no such table: warre_audits" in printed.err


def test_difference_is_printed_with_its_remedy(run: Run, cloud: Cloud, capsys):
    cloud.placement.classes.add(backing_names.resource_class(ORPHAN))
    assert run() == audit_command.DIFFERENT
    shown = capsys.readouterr().out
    assert shown.startswith("leftover  Reservation 0c0ffee0-")
    assert "is in no table, but has this: resource class" in shown
    assert "With --fix --yes: The servers and the rest of" in shown
    assert "1 difference: 1 needs --fix --yes" in shown
    assert cloud.placement.classes


def test_fix_alone_deletes_nothing(run: Run, cloud: Cloud):
    cloud.placement.classes.add(backing_names.resource_class(ORPHAN))
    assert run("--fix") == audit_command.DIFFERENT
    assert cloud.placement.classes


def test_fix_with_yes_deletes(run: Run, cloud: Cloud, capsys):
    cloud.placement.classes.add(backing_names.resource_class(ORPHAN))
    assert run("--fix", "--yes") == audit_command.CLEAN
    shown = capsys.readouterr().out
    assert shown.startswith("mended  leftover  ")
    assert shown.endswith("0 differences; 1 was mended\n")
    assert not cloud.placement.classes


def test_json_has_the_differences(run: Run, cloud: Cloud, capsys):
    cloud.placement.classes.add(backing_names.resource_class(ORPHAN))
    assert run("--json") == audit_command.DIFFERENT
    document = json.loads(capsys.readouterr().out)
    (found,) = document["differences"]
    assert (found["kind"], found["subject"], found["needs"]) == ("leftover", ORPHAN, "--fix --yes")
    assert (document["mended"], document["away"]) == ([], {})


def test_failed_remedy_is_printed(run: Run, cloud: Cloud, capsys):
    cloud.placement.classes.add(backing_names.resource_class(ORPHAN))
    cloud.placement.fail(match="DELETE", status=403)
    assert run("--fix", "--yes") == audit_command.DIFFERENT
    assert "It could not be mended: Placement refused" in capsys.readouterr().out


def test_yes_without_fix_is_refused(run: Run, capsys):
    assert run("--yes") == audit_command.BLIND
    assert "--yes needs --fix" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("service", "name"), [("nova", "Nova"), ("placement", "Placement"), ("keystone", "Keystone")]
)
def test_unavailable_service_is_named(run: Run, cloud: Cloud, capsys, service: str, name: str):
    getattr(cloud, service).fail(status=503)
    assert run() == audit_command.BLIND
    assert f"{name} could not be compared: {name} is not available" in capsys.readouterr().out


def test_keystone_is_named_when_it_refuses_to_list_trusts(run: Run, cloud: Cloud, capsys):
    cloud.keystone.fail(match="trusts", status=403)
    assert run() == audit_command.BLIND
    assert "Keystone could not be compared" in capsys.readouterr().out


def test_unreadable_database_is_reported(run: Run, database: str, capsys):
    pathlib.Path(database.removeprefix("sqlite:///")).write_text("this is no database")
    assert run() == audit_command.BLIND
    assert "database can't be read" in capsys.readouterr().err


def test_missing_configuration_is_reported(capsys):
    assert manage.main(["--config-file", "/nonexistent", "audit"]) == audit_command.BLIND
    assert "configuration can't be read" in capsys.readouterr().err


def test_consistent_reservation_is_clean(run: Run, cloud: Cloud):
    world.add_host(cloud, "a")
    provider = cloud.placement.named("a")
    assert provider is not None
    for cls, total in {"VCPU": 16, "MEMORY_MB": 65536, "DISK_GB": 1000}.items():
        provider["inventories"][cls] = {"total": total, "reserved": 0, "allocation_ratio": 1.0}
    cloud.keystone.trusts["trust"] = {}
    world.book(world.request(world.add_flavor(), world.hours(1, 2)))
    assert run() == audit_command.CLEAN


def stock_lease(status: str) -> world.Lease:
    """A lease of a stock resource type that a killed manager has left."""
    host_id = world.add_host(None, "cmp1")
    lease = world.add_stock([host_id], world.hours(1, 2), "virtual:instance")
    world.write_lease(lease.id, {"status": status, "updated_at": world.LONG_AGO, "trust_id": None})
    return lease


EXACT = "exact.physical.host.plugin,exact.virtual.instance.plugin,exact.flavor.instance.plugin"


@pytest.mark.parametrize(
    ("plugins", "kind"),
    [(EXACT, "lease-unfinished"), ("virtual.instance.plugin", "lease-stuck")],
)
def test_lease_of_a_stock_type_is_removed_only_with_the_exact_plugins(
    run: Run, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, plugins: str, kind: str
):
    with (tmp_path / "blazar.conf").open("a") as file:
        file.write(f"\n[manager]\nplugins = {plugins},flavor.slot.plugin\n")
    lease = stock_lease("CREATING")
    run("--json")
    found = {d["kind"] for d in json.loads(capsys.readouterr().out)["differences"]}
    assert kind in found
    run("--fix", "--yes", "--json")
    mended = {d["subject"] for d in json.loads(capsys.readouterr().out)["mended"]}
    assert (lease.id in mended) == (plugins == EXACT)


def test_manager_is_asked_in_the_name_of_the_lease_owner(
    run: Run, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, monkeypatch
):
    with (tmp_path / "blazar.conf").open("a") as file:
        file.write(f"\n[manager]\nplugins = {EXACT},flavor.slot.plugin\n")
    lease = stock_lease("DELETING")
    asked = []

    def delete(context: dict, lease_id: str) -> None:
        asked.append((context["user"], context["project_id"], lease_id))
        raise manager.ManagerSilent

    monkeypatch.setattr(manager, "delete_lease", delete)
    run("--fix", "--yes", "--json")
    assert asked == [("user", world.PROJECT, lease.id)]
    assert [d["subject"] for d in json.loads(capsys.readouterr().out)["mended"]] == [lease.id]


OLDER = "is older than the one that Placement has seen (mark 9)"


@pytest.fixture
def older(run: Run) -> None:
    """Let Placement have seen a newer database."""
    assert placement_mark.write(placement_mark.read(), 9)


def test_restored_database_is_held_until_it_is_accepted(
    run: Run, older: None, capsys: pytest.CaptureFixture[str]
):
    for _ in range(2):
        assert run("--after-restore") == audit_command.DIFFERENT
        said = capsys.readouterr().out
        assert OLDER in said
        assert said.endswith("audit --after-restore --accept, this is done, and managers go on\n")
    assert run("--after-restore", "--accept") == 0
    said = capsys.readouterr().out
    assert OLDER in said
    assert "--accept" not in said
    assert said.endswith("Then run warre-blazar-manage audit\n")
    assert run("--after-restore") == 0
    assert "managers aren't held" in capsys.readouterr().out


def test_nothing_is_accepted_while_a_manager_works(run: Run, capsys: pytest.CaptureFixture[str]):
    with session.writer() as db:
        executions.beat(db, "manager", "host")
    assert run("--after-restore") == 0
    assert "--accept" not in capsys.readouterr().out
    assert run("--after-restore", "--accept") == audit_command.BLIND
    assert "stop them first" in capsys.readouterr().err


def test_database_is_accepted_if_placement_has_no_mark(
    run: Run, capsys: pytest.CaptureFixture[str]
):
    """Somebody has removed it, or Placement was restored too. No manager is at work."""
    assert run("--after-restore") == 0
    said = capsys.readouterr().out
    assert "nobody knows whether the database was restored" in said
    assert "--after-restore --accept" in said
    assert run("--after-restore", "--accept") == 0


def test_nothing_is_mended_while_nobody_knows_whether_the_database_was_restored(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """What was booked since a dump would be removed, with its servers."""

    def away() -> None:
        raise exceptions.ServiceUnavailable("placement", texts.services.OTHER_HOSTS())

    monkeypatch.setattr(placement_mark, "read", away)
    assert run("--fix", "--yes") == audit_command.BLIND
    assert "only Placement knows whether the database was restored" in capsys.readouterr().err
    # A manager has worked with the database in this minute.
    session.change(turns.advance, TURN, "manager", timeutils.utcnow())
    assert run("--fix", "--yes") == audit_command.CLEAN


def test_unknown_reservation_is_told_and_rebuilt_only_with_an_end(
    run: Run, cloud: Cloud, older: None, capsys: pytest.CaptureFixture[str]
):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(name="small")
    now = timeutils.utcnow().replace(second=0, microsecond=0)
    span = Span(now, now + datetime.timedelta(hours=1))
    lease = world.book(world.request(flavor, span, now=now))
    Manager().run(now)
    engine = sa.create_engine(cfg.CONF.database.connection)
    with engine.begin() as db:
        for table in (tables.allocations, tables.instance_reservations, tables.backings):
            db.execute(table.delete())
        for table in (tables.bookings, tables.reservations, tables.events, tables.leases):
            db.execute(table.delete())
    assert run("--after-restore") == audit_command.DIFFERENT
    assert '--accept --until "YYYY-MM-DD HH:MM", this is done' in capsys.readouterr().out
    assert run("--after-restore", "--accept") == audit_command.BLIND
    said = capsys.readouterr()
    assert f"unknown  Reservation {lease.reservation_id} of project {world.PROJECT}" in said.out
    assert "rebuilt as a reservation of flavor small" in said.out
    assert "--until" in said.err
    assert run("--after-restore", "--accept", "--until", "2100-01-01 00:00") == 0
    assert "that ends at 2100-01-01 00:00 UTC" in capsys.readouterr().out
    assert run() == audit_command.CLEAN


@pytest.mark.parametrize(
    "words",
    [["--accept"], ["--end-overdue"], ["--after-restore", "--fix"], ["--after-restore", "--json"]],
    ids=" ".join,
)
def test_arguments_that_do_not_fit_together_are_refused(
    run: Run, capsys: pytest.CaptureFixture[str], words: list[str]
):
    assert run(*words) == audit_command.BLIND
    assert "--after-restore" in capsys.readouterr().err


def test_restored_database_is_not_fixed(
    run: Run, cloud: Cloud, older: None, capsys: pytest.CaptureFixture[str]
):
    cloud.placement.classes.add(backing_names.resource_class(ORPHAN))
    assert run() == audit_command.DIFFERENT
    assert "don't believe what follows: the database is older" in capsys.readouterr().err
    assert run("--fix", "--yes") == audit_command.BLIND
    assert "--after-restore" in capsys.readouterr().err
    assert backing_names.resource_class(ORPHAN) in cloud.placement.classes


def test_end_in_the_past_is_refused(run: Run):
    with pytest.raises(SystemExit):
        run("--after-restore", "--accept", "--until", "2000-01-01 00:00")


@pytest.mark.parametrize("revision", ["0001", "base"])
def test_downgrade_removes_the_mark(
    run: Run, older: None, cloud: Cloud, database: str, tmp_path: pathlib.Path, revision: str
):
    migration.upgrade(database)
    words = ["--config-file", str(tmp_path / "blazar.conf"), "db", "downgrade", revision, "--yes"]
    assert manage.main(words) == 0
    assert not cloud.placement.providers
    assert not cloud.placement.classes


def test_downgrade_says_how_to_remove_the_mark(
    run: Run,
    older: None,
    cloud: Cloud,
    database: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
):
    migration.upgrade(database)
    cloud.placement.stop()
    words = ["--config-file", str(tmp_path / "blazar.conf"), "db", "downgrade", "base", "--yes"]
    assert manage.main(words) == 0
    assert f"list --name {placement_mark.PROVIDER}" in capsys.readouterr().err
    cloud.placement.start()
