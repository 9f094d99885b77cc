"""The import of a Warre's flavors, access, windows and reservations, and how it is undone."""

import dataclasses
import datetime
import json
import pathlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from sqlalchemy.orm import Session

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, oversold, warre_site, world
from tests.functional.db.managers import OVER, RUNNING, Manager, state
from tests.functional.db.warre_scene import Said, Scene, counts, left, said
from tests.functional.db.warre_site import ACTIVE, ALPHA, BIG, HUGE, NOW, OLD, THIRD, TWO, day
from warre_blazar import warre_import
from warre_blazar.db import flavors, session, tables
from warre_blazar.db.booking.reservations import Filter
from warre_blazar.db.running import backings, executions, idle
from warre_blazar.domain.flavors.devices import NO_DEVICES
from warre_blazar.domain.running.execution import END
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.audit import Audit, looking
from warre_blazar.services.audit.looking import StockTypes
from warre_blazar.services.booking import lookup
from warre_blazar.services.flavors import devices
from warre_blazar.services.flavors import flavors as offered_flavors
from warre_blazar.services.records import server_samples
from warre_blazar.services.running.executor_transactions import Claimed, claim
from warre_blazar.warre_import import blazar_rows

pytestmark = [
    pytest.mark.parametrize("kind", ["mariadb"], indirect=True, scope="session"),
    pytest.mark.usefixtures("database"),
]

EXAMPLE = {
    "flavor": {"taken": 3},
    "access": {"taken": 1},
    "window": {"taken": 1},
    "reservation": {"taken": 3, "history": 3},
}


def test_plan_reports_everything_and_writes_nothing(scene: Scene):
    there = scene.warre.dump()
    report = scene.plan()
    assert counts(report) == EXAMPLE
    remarks = {(v.kind, v.id): " ".join(v.remarks) for v in report.notable}
    assert list(remarks) == [("flavor", OLD)]
    assert "no host of Blazar's has the properties" in remarks["flavor", OLD]
    assert report.oversold == []
    assert scene.dump() == scene.before
    assert scene.warre.dump() == there


def test_import_takes_everything_with_its_ids(scene: Scene):
    there = scene.warre.dump()
    assert counts(scene.take_over()) == EXAMPLE
    assert scene.warre.dump() == there
    with session.reader() as db:
        offered = {f.id: f for f in flavors.get_many(db, {BIG, HUGE, OLD}).values()}
    big = offered[BIG]
    assert (big.name, big.slots, big.shape.ephemeral_gb, big.shape.availability_zone) == (
        *("gpu.a100.1", 4, 20),
        "nova",
    )
    assert big.shape.extra_specs == {"hw:cpu_policy": "shared", "accounting:rate": "2.5"}
    assert offered[HUGE].texts["description"] == "Große Maschine — 大容量"
    assert (offered[HUGE].is_public, offered[OLD].active) == (False, False)
    listed = {r.id: r for r, _ in lookup.listing(Filter())[0]}
    assert {i: r.state for i, r in listed.items()} == {
        ACTIVE: "ACTIVE",
        TWO: "ALLOCATED",
        THIRD: "ALLOCATED",
        warre_site.UNMADE: "ERROR",
        warre_site.FAILED: "ERROR",
        warre_site.COMPLETE: "COMPLETE",
    }
    for reservation_id, lease in scene.leases.items():
        found = listed[reservation_id]
        # Warre's clients go on with the Nova flavor that they know, and the owner is Warre's.
        assert found.nova_flavor == lease.reservation_id
        assert (found.lease_id, found.project_id) == (lease.id, lease.project_id)
        assert found.user_id in ("user-alpha", "user-beta")
    assert (listed[TWO].instance_count, listed[TWO].user_id) == (2, "user-beta")
    assert "book it again" in (listed[warre_site.UNMADE].status_reason or "")
    assert listed[warre_site.FAILED].status_reason == "Not enough hosts available"
    assert listed[warre_site.COMPLETE].nova_flavor == "1014a54b-b748-480a-9576-1b5476d57699"


def test_import_changes_nothing_in_nova_and_placement(scene: Scene):
    leftovers = scene.cloud.leftovers()
    scene.take_over()
    assert scene.cloud.leftovers() == leftovers
    assert list(scene.cloud.nova.servers) == [scene.server]


def audit() -> list[str]:
    """The findings of an audit."""
    found = Audit(
        patience=lambda count: 600.0 * count,
        server_patience=0.1,
        trust_grace=0.0,
        neighbors=StockTypes(lambda reservations: 600.0, are_exact=False),
        delete_lease=lambda lease_id: None,
        now=lambda: NOW,
        sleep=lambda seconds: None,
    ).run()
    return [d.text for d in found.left]


def add_inventories(cloud: Cloud) -> None:
    for name in ("a", "b"):
        provider = cloud.placement.named(name)
        assert provider is not None
        for cls, total in {"VCPU": 8, "MEMORY_MB": 65536, "DISK_GB": 1000}.items():
            provider["inventories"][cls] = {"total": total, "reserved": 0, "allocation_ratio": 1.0}


def test_audit_after_an_import_finds_nothing(scene: Scene):
    """Adopted leases don't need their trusts."""
    add_inventories(scene.cloud)
    scene.cloud.keystone.trusts.clear()
    assert len(audit()) == len(scene.leases)
    scene.take_over()
    assert audit() == []


def test_adopted_reservation_starts_and_ends(scene: Scene):
    scene.take_over()
    manager = Manager()
    lease = scene.leases[TWO]
    manager.run(day(24))
    assert state(lease) == RUNNING
    flavor = scene.cloud.nova.flavors[lease.reservation_id]
    assert flavor["access"] == {warre_site.BETA}
    offered = [totals for totals in scene.cloud.placement.offered().values()]
    assert sum(sum(totals.values()) for totals in offered) == 3
    add_inventories(scene.cloud)
    server = scene.cloud.nova.boot(lease.reservation_id, warre_site.BETA)
    manager.run(day(25))
    assert state(lease) == OVER
    assert server not in scene.cloud.nova.servers
    # The one that ran all the time is as it was.
    assert scene.server in scene.cloud.nova.servers
    assert state(scene.leases[ACTIVE]) == RUNNING
    for moment in (day(26, 9), day(28), day(29)):
        manager.run(moment)
    del scene.cloud.nova.aggregates[1000]
    assert scene.cloud.is_clean()


def test_adopted_reservation_can_be_extended_and_shortened(scene: Scene):
    scene.take_over()
    longer = dataclasses.replace(scene.leases[ACTIVE].span, end=day(27))
    lease = world.move(scene.leases[ACTIVE], longer)
    assert lookup.get(ACTIVE, None)[0].span == longer
    shorter = dataclasses.replace(longer, end=day(24))
    world.move(lease, shorter)
    assert lookup.get(ACTIVE, None)[0].span == shorter


def test_adopted_reservations_count_against_slots_and_hosts(scene: Scene, database: sa.Engine):
    scene.take_over()
    # Of four slots three are taken on the 24th. The zone of the hosts is the flavor's.
    assert bookable(Span(day(24, 1), day(24, 5))) == 1
    assert bookable(Span(day(26, 10), day(27))) == 4
    world.book(request(Span(day(24, 1), day(24, 5)), 1))
    assert bookable(Span(day(24, 1), day(24, 5))) == 0
    assert oversold.find(database) == []


def request(span: Span, count: int) -> Any:
    return world.request(BIG, span, count, now=NOW)


def bookable(span: Span) -> int:
    """How many instances of the big flavor can be booked."""
    from warre_blazar.services.booking import admission  # noqa: PLC0415

    for count in (4, 3, 2, 1):
        try:
            admission.check(request(span, count))
        except (exceptions.SlotsExhausted, exceptions.HostsExhausted):
            continue
        return count
    return 0


def test_second_import_changes_nothing(scene: Scene):
    scene.take_over()
    once = scene.dump()
    again = scene.take_over()
    assert counts(again) == {
        "flavor": {"known": 3},
        "access": {"known": 1},
        "window": {"known": 1},
        "reservation": {"known": 6},
    }
    assert again.is_empty()
    assert scene.dump() == once


def test_second_import_takes_a_new_reservation(scene: Scene):
    scene.take_over()
    lease = warre_site.book(scene.cloud, "new", ALPHA, Span(day(27), day(28)), 1)
    scene.warre.add("new", lease)
    assert counts(scene.take_over())["reservation"] == {"known": 6, "taken": 1}
    assert lookup.get("new", None)[0].lease_id == lease.id
    warre_import.undo()
    with session.reader() as db:
        assert db.scalar(sa.select(sa.func.count()).select_from(tables.bookings)) == 0


@pytest.mark.parametrize("case", ["a booking", "a start"])
def test_second_import_hides_no_change_from_undo(scene: Scene, case: str):
    change, named = CHANGES[case]
    scene.take_over()
    change(scene)
    lease = warre_site.book(scene.cloud, "new", ALPHA, Span(day(29), day(30)), 1)
    scene.warre.add("new", lease)
    assert counts(scene.take_over())["reservation"] == {"known": 6, "taken": 1}
    with pytest.raises(warre_import.ChangedSinceImport, match=named):
        warre_import.undo()


def test_undo_restores_every_row(scene: Scene):
    scene.take_over()
    assert scene.dump() != scene.before
    put_back = warre_import.undo()
    assert put_back == {"flavor": 3, "access": 1, "window": 1, "reservation": 3, "record": 3}
    assert scene.dump() == scene.before
    assert warre_import.undo() == {}
    # What was undone can be imported again.
    assert counts(scene.take_over()) == EXAMPLE


def test_undo_accepts_that_a_reminder_was_sent(scene: Scene):
    values = {"event_type": "before_end_lease", "time": day(25), "status": "UNDONE"}
    event = db_api.event_create({"lease_id": scene.leases[ACTIVE].id, **values})
    before = scene.dump()
    scene.take_over()
    db_api.event_update(event["id"], {"status": "DONE"})
    warre_import.undo()
    db_api.event_update(event["id"], {"status": "UNDONE"})
    assert scene.dump().keys() == before.keys()


def test_undo_accepts_what_managers_note_about_running_reservations(scene: Scene):
    scene.take_over()
    reservation_id = scene.leases[ACTIVE].reservation_id
    server_samples.tell_running_time(day(23, 13), "manager")
    with session.writer() as db:
        for hour in (13, 14):
            idle.note(db, {reservation_id: 0}, day(23, hour), without_gap=True)
        noted = {"idle_warned_at": NOW, "looked_at": NOW, "look_error": "Nova is away"}
        db.execute(
            tables.bookings.update()
            .where(tables.bookings.c.reservation_id == reservation_id)
            .values(**noted)
        )
    warre_import.undo()
    rows = scene.dump()
    # What managers have noted of a reservation is kept for some time, as if it had been deleted. A
    # turn says until when they have counted.
    assert rows.pop("warre_log")
    assert rows.pop("warre_turns")
    assert rows == scene.before


#: A change between import and undo, and the thing that the refusal of the undo names.
CHANGES: dict[str, tuple[Callable[[Scene], Any], str]] = {
    "a booking": (
        lambda scene: world.book(request(Span(day(27), day(28)), 1)),
        "reservation [0-9a-f-]{36}$",
    ),
    "a start": (lambda scene: Manager().run(day(24)), f"reservation {TWO}"),
    "a deletion": (
        lambda scene: db_api.lease_destroy(scene.leases[THIRD].id),
        f"reservation {THIRD}",
    ),
    "an extension": (
        lambda scene: world.move(
            scene.leases[ACTIVE], dataclasses.replace(scene.leases[ACTIVE].span, end=day(27))
        ),
        f"reservation {ACTIVE}",
    ),
    "access for another project": (
        lambda scene: _grant(HUGE, "project-gamma"),
        f"flavor {HUGE}",
    ),
    "another slot": (lambda scene: _update(tables.models.flavors, BIG, slots=9), f"flavor {BIG}"),
    "a record deleted": (
        lambda scene: _update(tables.bookings, warre_site.FAILED, deleted_at=NOW),
        f"reservation {warre_site.FAILED}",
    ),
}


def _update(table: sa.Table, row_id: str, **values: Any) -> None:
    with session.writer() as db:
        db.execute(table.update().where(table.c.id == row_id).values(**values))


def _grant(flavor_id: str, project_id: str) -> None:
    offered_flavors.grant_access(flavor_id, project_id)


#: The cases of the short form. They write different tables.
MOST_DIFFERENT = ("a start", "access for another project", "a record deleted")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=() if case in MOST_DIFFERENT else pytest.mark.whole)
        for case in CHANGES
    ],
)
def test_undo_after_a_change_is_refused(scene: Scene, case: str):
    change, named = CHANGES[case]
    scene.take_over()
    change(scene)
    then = scene.dump()
    with pytest.raises(warre_import.ChangedSinceImport) as raised:
        warre_import.undo()
    # Nothing else is named, such as the flavor of a reservation that has changed.
    assert re.search(f"since it was imported: {named}$", str(raised.value))
    assert scene.dump() == then


def test_trusts_are_kept_as_long_as_the_import_can_be_undone(scene: Scene):
    """After an undo, Warre would change its leases with their trusts."""

    def used() -> set[str]:
        with session.reader() as db:
            return looking.trusts_in_use(db)

    trusts = {db_api.lease_get(lease.id)["trust_id"] for lease in scene.leases.values()}
    assert trusts <= used()
    scene.take_over()
    assert trusts <= used()
    Manager().run(day(24))
    assert not trusts & used()


# Invalid rows, and rows that differ from Blazar's.


def test_invalid_rows_are_reported_and_skipped(scene: Scene):
    warre = scene.warre
    broken, shared, fine = (
        warre_site.book(scene.cloud, name, ALPHA, Span(day(27, hour), day(27, hour + 1)), 1)
        for hour, name in enumerate(("broken", "shared", "fine"), 1)
    )
    world.write_lease(broken.id, {"status": "ERROR"})
    warre.add("broken", broken)
    for name in ("shared-1", "shared-2"):
        warre.add(name, shared)
    warre.add("fine", fine)
    gone = dataclasses.replace(fine, id="gone")
    warre.add("gone", gone)
    warre.add("of beta", scene.leases[THIRD], project_id=warre_site.BETA, status="COMPLETE")
    warre.add("backwards", None, start=day(25), end=day(24))
    report = scene.take_over()
    found = left(report)
    assert set(found) == {"broken", "shared-1", "shared-2", "gone", "backwards"}
    assert "in ERROR" in found["broken"]
    assert "another reservation of Warre's names its lease" in found["shared-1"]
    assert "is gone" in found["gone"]
    assert "end isn't after its start" in found["backwards"]
    assert counts(report)["reservation"] == {"taken": 4, "history": 4, "left": 5}
    # A lease that isn't taken stays as it was.
    assert db_api.reservation_get(shared.reservation_id)["resource_type"] == "virtual:instance"
    assert lookup.get("fine", None)[0].lease_id == fine.id


def test_text_that_is_not_utf8_affects_only_its_own_row(scene: Scene):
    scene.warre.run(
        "ALTER TABLE flavor MODIFY description VARBINARY(255)",
        "ALTER TABLE reservation MODIFY status_reason VARBINARY(255)",
        f"UPDATE flavor SET description = x'ff' WHERE id = '{OLD}'",
        f"UPDATE reservation SET status_reason = x'c3' WHERE id = '{warre_site.FAILED}'",
    )
    report = scene.take_over()
    found = left(report)
    assert found[OLD] == "its description isn't UTF-8"
    assert found[warre_site.FAILED] == "its status_reason isn't UTF-8"
    assert found[warre_site.COMPLETE] == f"its flavor {OLD} isn't taken"
    assert counts(report)["flavor"] == {"taken": 2, "left": 1}


def test_rows_that_differ_from_blazars_are_taken_with_a_remark(scene: Scene):
    scene.warre.run(
        f"UPDATE flavor SET vcpu = 8, slots = 1 WHERE id = '{BIG}'",
        f"UPDATE reservation SET instance_count = 3 WHERE id = '{TWO}'",
        f"UPDATE reservation SET end = '2026-11-30 00:00:00' WHERE id = '{THIRD}'",
        f"UPDATE reservation SET compute_flavor = 'other' WHERE id = '{THIRD}'",
    )
    report = scene.take_over()
    found = said(report)
    assert "Warre has 3 instances, and Blazar 2: taken with 2" in found[TWO]
    assert "the flavor's sizes have changed" in found[TWO]
    assert "2 instances exceed the flavor's 1 slot" in found[TWO]
    assert "its lease is from 2026-11-28" in found[THIRD]
    assert "Warre showed the Nova flavor other" in found[THIRD]
    (sold,) = report.oversold
    assert (sold.flavor_id, sold.booked, sold.slots, sold.at) == (BIG, 3, 1, day(24))
    taken = lookup.get(TWO, None)[0]
    assert (taken.instance_count, taken.shape.vcpu) == (2, 2)
    assert lookup.get(THIRD, None)[0].nova_flavor == scene.leases[THIRD].reservation_id


def test_flavors_with_unreadable_columns_become_inactive(scene: Scene):
    scene.warre.run(
        f"UPDATE flavor SET properties = 'nonsense' WHERE id = '{BIG}'",
        f"UPDATE flavor SET extra_specs = '{{\"resources:VGPU\": \"many\"}}' WHERE id = '{HUGE}'",
        f"UPDATE flavor SET availability_zone = 'nowhere' WHERE id = '{OLD}'",
    )
    report = scene.take_over()
    found = said(report)
    assert "without its properties, and closed" in found[BIG]
    assert "without its extra specs, and closed" in found[HUGE]
    assert "the zone and the properties" in found[OLD]
    with session.reader() as db:
        taken = flavors.get_many(db, {BIG, HUGE})
    assert [taken[i].active for i in (BIG, HUGE)] == [False, False]
    assert counts(report)["reservation"] == {"taken": 3, "history": 3}


def test_flavor_that_names_devices_is_closed_until_they_are_counted(scene: Scene):
    specs = json.dumps({"pci_passthrough:alias": "gpu:1"})
    scene.warre.run(f"UPDATE flavor SET extra_specs = '{specs}' WHERE id = '{BIG}'")
    report = scene.take_over()
    assert said(report)[BIG].startswith("closed, for its devices aren't counted yet: run ")
    assert counts(report)["reservation"] == {"taken": 3, "history": 3}
    with pytest.raises(exceptions.FlavorNotBookable):
        bookable(Span(day(24, 1), day(24, 5)))
    # The adopted reservations go on, and count by their sizes.
    add_inventories(scene.cloud)
    assert audit() == []
    Manager().run(day(24))
    assert state(scene.leases[TWO]) == RUNNING
    world.add_host(scene.cloud, "gpus", properties={"pci_alias_gpu": "4"})
    devices.recount(NO_DEVICES)
    offered_flavors.update(BIG, {"active": True}, NO_DEVICES)
    assert bookable(Span(day(24, 1), day(24, 5))) == 1
    assert lookup.get(TWO, None)[0].shape.device_groups == ()


def test_lease_that_blazar_is_changing_is_taken_by_a_later_import(scene: Scene):
    world.write_lease(scene.leases[TWO].id, {"status": "STARTING"})
    assert "import again later" in left(scene.take_over())[TWO]
    world.write_lease(scene.leases[TWO].id, {"status": "PENDING"})
    assert counts(scene.take_over())["reservation"] == {"known": 5, "taken": 1}


def test_lease_of_a_pending_reservation_is_found_by_its_name(scene: Scene):
    span = Span(datetime.datetime(2026, 12, 24), datetime.datetime(2026, 12, 25))
    lease = warre_site.book(scene.cloud, warre_site.UNMADE, warre_site.BETA, span, 1)
    assert counts(scene.take_over())["reservation"] == {"taken": 4, "history": 2}
    found = lookup.get(warre_site.UNMADE, None)[0]
    assert (found.lease_id, found.state) == (lease.id, "ALLOCATED")


def test_lease_that_a_reservation_names_and_another_finds_by_name_is_taken_once(scene: Scene):
    span = Span(datetime.datetime(2026, 12, 24), datetime.datetime(2026, 12, 25))
    lease = warre_site.book(scene.cloud, warre_site.UNMADE, warre_site.BETA, span, 1)
    scene.warre.add("names it", lease, project_id=warre_site.BETA)
    report = scene.take_over()
    assert "another reservation's already" in left(report)["names it"]
    assert lookup.get(warre_site.UNMADE, None)[0].lease_id == lease.id


def test_second_import_takes_new_access_and_windows(scene: Scene):
    scene.take_over()
    scene.warre.run(
        f"INSERT INTO flavor_project VALUES ('new', 'project-gamma', '{HUGE}')",
        "INSERT INTO maintenance_window VALUES "
        "('later', '2026-12-20 00:00:00', '2026-12-21 00:00:00', NULL)",
        f"INSERT INTO maintenance_window_flavor VALUES ('later', '{BIG}')",
    )
    report = counts(scene.take_over())
    assert (report["access"], report["window"]) == (
        {"known": 1, "taken": 1},
        {"known": 1, "taken": 1},
    )
    warre_import.undo()
    assert scene.dump() == scene.before


def test_reservation_older_than_the_history_is_not_taken(scene: Scene):
    report = scene.take_over(days=365)
    assert counts(report)["reservation"] == {"taken": 3, "history": 2, "old": 1}


def test_lease_that_ended_unknown_to_warre_goes_to_the_history(scene: Scene):
    world.set_status(scene.leases[TWO], "TERMINATED")
    report = scene.take_over()
    assert said(report)[TWO] == "its lease is over"
    assert lookup.get(TWO, None)[0].state == "COMPLETE"


def test_backing_of_an_adopted_reservation_has_its_nova_flavor(scene: Scene):
    scene.take_over()
    lease = scene.leases[ACTIVE]
    with session.reader() as db:
        note = backings.get(db, lease.reservation_id)
    assert note is not None
    assert (note.nova_flavor, note.phase) == (lease.reservation_id, "open")


MANAGER = "manager"


def claim_end(lease: warre_site.StockLease) -> list[Claimed]:
    """Claim the end of a lease, as an executor does when it is due."""
    with session.writer() as db:
        executions.beat(db, MANAGER, "host")
    return claim([lease.id], END, MANAGER, lease.span.end, requested=False)


def test_end_that_is_claimed_beside_an_undo_leaves_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """Either the undo is refused, or the end isn't claimed."""
    scene.take_over()
    claims: list[list[Claimed]] = []
    claiming = threading.Thread(target=lambda: claims.append(claim_end(scene.leases[ACTIVE])))
    check = blazar_rows.deleted_records

    def check_while_claiming(db: Session) -> list[str]:
        if not claims:
            claiming.start()
            claiming.join(1)
        return check(db)

    monkeypatch.setattr(blazar_rows, "deleted_records", check_while_claiming)
    refused = False
    try:
        warre_import.undo()
    except warre_import.ChangedSinceImport:
        refused = True
    claiming.join()
    assert refused is bool(claims[0])
    if not refused:
        assert scene.dump() == {**scene.before, "warre_managers": scene.dump()["warre_managers"]}


# The command.


def test_command_imports_and_undoes(scene: Scene, run: Callable[..., Said]):
    dry = run("--connection", scene.warre.url, "--dry-run")
    assert dry.status == 0, dry
    assert dry.out.splitlines()[-1] == "Dry run: nothing was written."
    assert scene.dump() == scene.before
    done = run("--connection", scene.warre.url)
    advice = dry.out.index("\nBefore the import:")
    assert done.out.startswith(dry.out[:advice])
    assert done.out.splitlines()[-1] == "Taken over."
    assert run("--connection", scene.warre.url).out.splitlines()[-1] == "Nothing was new."
    assert "3 reservation" in run("--undo").out
    assert scene.dump() == scene.before
    assert "nothing to put back" in run("--undo").out


def test_command_prints_json(scene: Scene, run: Callable[..., Said]):
    document = json.loads(run("--connection", scene.warre.url, "--json", "--dry-run").out)
    assert document["counts"]["reservation"]["taken"] == 3
    assert (document["dry_run"], document["oversold"]) == (True, [])
    assert [each["id"] for each in document["notable"]] == [OLD]
    assert json.loads(run("--connection", scene.warre.url, "--json").out)["dry_run"] is False
    assert json.loads(run("--undo", "--json").out)["put_back"]["reservation"] == 3


def test_plan_says_what_to_do_before_and_after_the_import(scene: Scene, run: Callable[..., Said]):
    del scene.cloud.keystone.registered["hours"]
    scene.warre.run(
        'UPDATE flavor SET extra_specs = \'{"pci_passthrough:alias": "a100:1"}\' '
        f"WHERE id = '{HUGE}'"
    )
    planned = run("--connection", scene.warre.url, "--dry-run").out
    before = planned[planned.index("Before the import:") : planned.index("After the import")]
    assert "[manager] plugins lacks flavor.slot.plugin" in before
    assert "limits for hours in Keystone" in before
    assert "warre-blazar-manage audit" in before
    assert len(before.strip().splitlines()) == 4
    after = planned[planned.index("After the import, when you are sure that you won't undo it:") :]
    assert "flavor recount" in after
    assert "import can't be undone afterwards: mem.huge\n" in after
    document = json.loads(run("--connection", scene.warre.url, "--dry-run", "--json").out)
    assert (len(document["before"]), document["recount"]) == (2, ["mem.huge"])


def test_undo_is_refused_while_a_manager_ends_a_reservation(scene: Scene, run: Callable[..., Said]):
    scene.take_over()
    assert claim_end(scene.leases[ACTIVE])
    refused = run("--undo")
    assert refused.status == 1
    assert "a manager is starting, ending or deleting this at the moment" in refused.err
    assert ACTIVE in refused.err


def test_command_says_why_undo_is_refused(scene: Scene, run: Callable[..., Said]):
    run("--connection", scene.warre.url)
    Manager().run(day(24))
    refused = run("--undo")
    assert (refused.status, refused.out) == (1, "")
    assert f"reservation {TWO}" in refused.err


#: Statements that break a Warre's database, and a part of the error text.
SPOILED = {
    "half a schema": (
        ["DROP TABLE maintenance_window_flavor", "DROP TABLE maintenance_window"],
        "lacks maintenance_window, maintenance_window_flavor",
    ),
    "Warre 4": (
        ["ALTER TABLE flavor DROP ephemeral_gb", "ALTER TABLE flavor DROP availability_zone"],
        "isn't of version 5.2: its database lacks flavor.availability_zone, flavor.ephemeral_gb",
    ),
    "no Warre": (
        [
            "SET FOREIGN_KEY_CHECKS = 0",
            *(
                f"DROP TABLE {name}"
                for name in (
                    *("reservation", "maintenance_window_flavor", "maintenance_window"),
                    *("flavor_project", "flavor"),
                )
            ),
        ],
        "is no Warre's",
    ),
}


@pytest.mark.parametrize("case", SPOILED)
def test_unusable_database_is_refused(scene: Scene, run: Callable[..., Said], case: str):
    statements, expected = SPOILED[case]
    scene.warre.run(*statements)
    refused = run("--connection", scene.warre.url)
    assert (refused.status, refused.out) == (1, "")
    assert expected in refused.err
    assert refused.err.count("\n") == 1
    assert scene.dump() == scene.before


#: Arguments that are refused, and a part of the error text.
MISUSED = {
    "unreachable": (["--connection", "mysql+pymysql://x@127.0.0.1:1/w"], "can't be read"),
    "no such driver": (["--connection", "mysql+nonesuch://x/y"], "can't be used"),
    "another kind": (["--connection", "sqlite:///x"], "has to be MariaDB"),
    "no URL": (["--connection", "nonsense"], "can't be used"),
    "no database": (["--connection", "mysql+pymysql://x@127.0.0.1:1/"], "names no database"),
    "no such character set": (
        ["--connection", "mysql+pymysql://x@127.0.0.1:1/w?charset=nonsense"],
        "check its driver, and the options after the ?",
    ),
    "no such option": (
        ["--connection", "mysql+pymysql://x@127.0.0.1:1/w?nonsense=1"],
        "nonsense",
    ),
    "no such value": (
        ["--connection", "mysql+pymysql://x@127.0.0.1:1/w?read_timeout=soon"],
        "soon",
    ),
    "no such file": (
        ["--connection", "mysql+pymysql://x@127.0.0.1:1/w?ssl_ca=/nonexistent"],
        "can't be used",
    ),
    "another driver": (["--connection", "mysql+aiomysql://x@127.0.0.1:1/w"], "can't be used"),
    "nothing": ([], "--connection is needed"),
    "both": (["--undo", "--dry-run"], "--undo takes neither"),
    "bot and plan": (["--needs-bot", "--dry-run"], "--needs-bot takes neither"),
    "bot and undo": (["--needs-bot", "--undo"], "can't be combined"),
}


@pytest.mark.parametrize("case", MISUSED)
def test_invalid_arguments_are_refused(run: Callable[..., Said], database: sa.Engine, case: str):
    words, expected = MISUSED[case]
    refused = run(*words)
    assert (refused.status, refused.out) == (1, "")
    assert expected in refused.err
    assert refused.err.count("\n") == 1
    assert databases.dump(database) == {}


def test_import_that_fails_half_way_writes_nothing(scene: Scene, monkeypatch):
    from warre_blazar.warre_import import writing  # noqa: PLC0415

    def fail(*_: object) -> None:
        raise RuntimeError("half way")

    monkeypatch.setattr(writing.Writer, "seal", fail)
    with pytest.raises(RuntimeError, match="half way"):
        scene.take_over()
    assert scene.dump() == scene.before


def _import_into(url: str, scene: Scene, directory: pathlib.Path) -> str:
    """Import into another database of Blazar's in a process of its own, and return the error."""
    config = databases.write_config(url, directory)
    command = [sys.executable, "-W", "ignore", "-m", "warre_blazar.cmd.manage"]
    words = ["--config-file", config, "import-warre", "--connection", scene.warre.url]
    done = subprocess.run(command + words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    return line


def test_blazars_database_that_refuses_the_login_is_not_taken_for_warres(
    scene: Scene, tmp_path: pathlib.Path
):
    url = scene.database.url.set(password="wrong").render_as_string(hide_password=False)
    refused = _import_into(url, scene, tmp_path)
    assert "Blazar's database can't be read: " in refused
    assert "Access denied" in refused
    assert "Warre" not in refused


def test_blazars_database_without_our_tables_is_not_taken_for_warres(
    scene: Scene, tmp_path: pathlib.Path
):
    with databases.made("mariadb", tmp_path) as url:
        databases.blazar_upgrade(url, tmp_path)
        refused = _import_into(url, scene, tmp_path)
    assert "run warre-blazar-manage setup" in refused
    assert "Warre's" not in refused
