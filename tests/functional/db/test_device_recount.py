"""The column with a flavor's devices, and ``warre-blazar-manage flavor recount``."""

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.cmd import manage
from warre_blazar.db import flavors, generations, session, tables
from warre_blazar.db.hosts import reservable_hosts
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.flavors.request_groups import Group
from warre_blazar.errors import exceptions
from warre_blazar.services.flavors import devices
from warre_blazar.services.flavors import flavors as offered

pytestmark = pytest.mark.usefixtures("database")

GPU = {"pci_passthrough:alias": "gpu:2"}
FPGA = {"accel:device_profile": "fpga"}
CAPABILITY = Group.of({"pci_alias_gpu": 1})
OLD, NEW = Group.of({"CUSTOM_OLD": 1}), Group.of({"CUSTOM_NEW": 1}, ["CUSTOM_BIG"])


def in_placement(group: Group) -> Rules:
    return Rules({"gpu": group}, in_placement=True)


def read(flavor: Flavor) -> Flavor:
    return offered.get(flavor.id, project_id=None, everything=True)


def forget(flavor: Flavor) -> Flavor:
    """Make a flavor's row as an import makes it, which resolves no devices."""
    with session.writer() as db:
        this = tables.flavors.c.id == flavor.id
        db.execute(tables.flavors.update().where(this).values(device_groups=None))
    return read(flavor)


def booked_groups() -> dict[str, tuple[Group, ...]]:
    """The groups of the devices in each reservation's shape."""
    with session.reader() as db:
        rows = db.execute(sa.select(tables.bookings.c.reservation_id, tables.bookings.c.shape))
        return {i: Shape.from_json(text).device_groups for i, text in rows}


def all_generations() -> tuple[list[int], list[int]]:
    with session.reader() as db:
        of = [sa.select(t.c.generation) for t in (tables.flavors, tables.host_generations)]
        return sorted(db.scalars(of[0])), sorted(db.scalars(of[1]))


def test_devices_are_kept_in_the_flavors_row():
    flavor = world.add_flavor(in_placement(NEW), extra_specs=GPU)
    assert read(flavor).shape.device_groups == (NEW, NEW)
    without = world.add_flavor(extra_specs={"hw:cpu_cores": "é"})
    assert read(without).shape.device_groups == ()
    with session.reader() as db:
        listed, _ = flavors.listing(
            db, project_id=None, everything=True, filters={}, limit=None, offset=0
        )
        column = sa.select(tables.flavors.c.id).where(tables.flavors.c.device_groups.is_(None))
        assert list(db.scalars(column)) == [without.id]
    assert {f.id: f for f in listed} == {f.id: f for f in (flavor, without)}


def test_capability_is_found_by_its_exact_name(cloud: Cloud):
    world.add_host(cloud, "a", properties={"pci_alias_GPU": "4"})
    with pytest.raises(exceptions.DeviceNotCountable):
        world.add_flavor(extra_specs=GPU)
    world.add_host(cloud, "b", properties={"pci_alias_nic": "4"}, reservable=False)
    flavor = world.add_flavor(extra_specs={"pci_passthrough:alias": "nic:2"})
    assert flavor.shape.device_groups == (Group.of({"pci_alias_nic": 1}),) * 2


def test_refused_change_changes_nothing(cloud: Cloud):
    flavor = world.add_flavor(in_placement(NEW), extra_specs=GPU)
    with pytest.raises(exceptions.DeviceNotCountable):
        offered.update(flavor.id, {"extra_specs": FPGA, "slots": 9}, NO_DEVICES)
    with pytest.raises(exceptions.FlavorNotFound):
        offered.update("nonesuch", {"extra_specs": FPGA}, NO_DEVICES)
    assert read(flavor) == flavor


def test_flavor_that_was_never_resolved_is_found_and_resolved(cloud: Cloud):
    world.add_host(cloud, "a", properties={"pci_alias_gpu": "4"})
    made = world.add_flavor(extra_specs=GPU)
    world.add_flavor(extra_specs={"hw:cpu_cores": "1"})
    flavor = forget(made)
    (finding,) = devices.find_changed(NO_DEVICES)
    assert (finding.flavor, finding.groups) == (flavor, (CAPABILITY, CAPABILITY))
    assert read(flavor) == flavor
    assert devices.recount(NO_DEVICES) == [finding]
    assert read(flavor).shape == made.shape
    assert devices.find_changed(NO_DEVICES) == []


def test_flavor_becomes_active_only_when_its_devices_are_counted(cloud: Cloud):
    world.add_host(cloud, "a", properties={"pci_alias_gpu": "4"})
    made = world.add_flavor(extra_specs=GPU, active=False)
    forget(made)
    with pytest.raises(exceptions.DeviceNotCountable, match="warre-blazar-manage flavor recount"):
        offered.update(made.id, {"active": True}, NO_DEVICES)
    assert not read(made).active
    offered.update(made.id, {"slots": 9, "active": False}, NO_DEVICES)
    offered.update(made.id, {"active": True, "extra_specs": GPU}, NO_DEVICES)
    assert read(made).shape.device_groups == (CAPABILITY, CAPABILITY)
    offered.update(forget(made).id, {"active": False}, NO_DEVICES)
    devices.recount(NO_DEVICES)
    offered.update(made.id, {"active": True}, NO_DEVICES)
    assert read(made).active


def test_changed_alias_changes_flavors_and_what_holds_hosts(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(in_placement(OLD), extra_specs=GPU, slots=9)
    other = world.add_flavor(slots=9)
    with session.writer() as db:
        # Nothing has the class, which isn't what this test is about.
        db.execute(tables.flavors.update().values(device_groups=None))
    held = world.book(world.request(flavor, world.hours(1, 2), 2))
    also = world.book(world.request(flavor, world.hours(5, 6)))
    over = world.book(world.request(flavor, world.hours(1, 2)))
    beside = world.book(world.request(other, world.hours(1, 2)))
    world.begin(over)
    world.finish(over)
    before = all_generations()
    (finding,) = devices.find_changed(in_placement(NEW))
    assert finding.reservations == 2
    assert devices.recount(in_placement(NEW), flavor.name) == [finding]
    assert booked_groups() == {
        held.reservation_id: (NEW, NEW),
        also.reservation_id: (NEW, NEW),
        over.reservation_id: (),
        beside.reservation_id: (),
    }
    assert read(flavor).shape.device_groups == (NEW, NEW)
    # Whoever books at that moment, on the flavor or on the host, reads everything again.
    after = all_generations()
    assert [sum(numbers) for numbers in after] == [sum(numbers) + 1 for numbers in before]
    assert devices.recount(in_placement(NEW)) == []
    assert all_generations() == after


def test_booking_on_a_host_that_has_just_come_back_reads_it_again(cloud: Cloud):
    """The host isn't in use during the recount. It comes back before the booking is written."""
    host_id = world.add_host(cloud, "a")
    flavor = world.add_flavor(in_placement(OLD), extra_specs=GPU, slots=9)
    with session.writer() as db:
        db.execute(tables.flavors.update().values(device_groups=None))
    world.book(world.request(flavor, world.hours(1, 2)))
    with session.reader() as db:
        (read_before,) = reservable_hosts.empty(db)
    db_api.host_update(host_id, {"reservable": False})
    devices.recount(in_placement(NEW))
    db_api.host_update(host_id, {"reservable": True})
    with pytest.raises(session.LostRace), session.writer() as db:
        generations.increase_hosts(db, [read_before])


def test_booked_devices_are_taken_as_they_are_counted_after_a_recount(cloud: Cloud):
    inventories = {"CUSTOM_OLD": {"total": 9}, "CUSTOM_NEW": {"total": 5}}
    world.add_host(cloud, "a", more=inventories, traits=("CUSTOM_BIG",))
    flavor = world.add_flavor(in_placement(OLD), extra_specs=GPU, slots=9)
    world.book(world.request(flavor, world.hours(1, 2), 1))
    devices.recount(in_placement(NEW))
    wanted = world.request(flavor, world.hours(1, 2))
    world.book(wanted)
    with pytest.raises(exceptions.HostsExhausted):
        world.book(wanted)
    world.book(world.request(flavor, world.hours(2, 3), 2))


def test_reservation_with_other_devices_than_its_flavor_is_counted_too(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(in_placement(OLD), extra_specs=GPU)
    forget(flavor)
    booked = world.book(world.request(flavor, world.hours(1, 2)))
    offered.update(flavor.id, {"extra_specs": {"hw:cpu_cores": "1"}})
    (finding,) = devices.recount(in_placement(NEW))
    assert (finding.groups, finding.reservations) == ((), 1)
    assert booked_groups() == {booked.reservation_id: (NEW, NEW)}
    assert read(flavor).shape.device_groups == ()


def test_flavor_that_cannot_be_resolved_stays_as_it_is(cloud: Cloud):
    flavor = world.add_flavor(in_placement(OLD), extra_specs=GPU)
    (finding,) = devices.recount(NO_DEVICES)
    assert "pci_alias_gpu" in finding.failure
    assert read(flavor) == flavor
    cloud.install_cyborg(fpga=[{"resources:FPGA": "1"}])
    cloud.cyborg.fail(status=500)
    forget(world.add_flavor(extra_specs={}))
    cloud.add_elsewhere("CUSTOM_BIG", classes=["CUSTOM_NEW"])
    offered.update(flavor.id, {"extra_specs": GPU}, in_placement(NEW))
    with session.writer() as db:
        db.execute(tables.flavors.update().values(extra_specs=FPGA))
    assert all("Cyborg" in each.failure for each in devices.recount(NO_DEVICES))
    # Each device is asked for once.
    assert len(cloud.cyborg.requests) == 1
    cloud.remove_cyborg()


def test_booking_that_was_read_before_a_recount_is_not_written(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = forget(world.add_flavor(in_placement(OLD), extra_specs=GPU))
    with session.reader() as db:
        read_before = flavors.require(db, flavor.id)
    devices.recount(in_placement(NEW))
    with pytest.raises(session.LostRace), session.writer() as db:
        generations.increase_flavor(db, read_before, {})


def test_only_reservations_that_hold_hosts_are_listed(cloud: Cloud):
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=9)
    lease = world.book(world.request(flavor, world.hours(1, 2)))
    with session.reader() as db:
        (text,) = flavors.hosts_of_shapes(db, flavor.id)
        assert Shape.from_json(text) == flavor.shape
        assert flavors.count_of_shape(db, flavor.id, text) == 1
    world.begin(lease)
    world.finish(lease)
    with session.reader() as db:
        assert flavors.hosts_of_shapes(db, flavor.id) == []


@pytest.fixture
def recount(
    database: sa.Engine, cloud: Cloud, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str], str]]:
    """Runs the command: its exit status, the lines that it prints, and its errors."""
    config = tmp_path / "blazar.conf"

    def run(*words: str, **options: Any) -> tuple[int, list[str], str]:
        lines = [f"{name} = {value}" for name, value in options.items()]
        url = database.url.render_as_string(hide_password=False)
        config.write_text("\n".join(["[database]", f"connection = {url}", "[warre]", *lines]))
        capsys.readouterr()
        status = manage.main(["--config-file", str(config), "flavor", "recount", *words])
        told = capsys.readouterr()
        return status, told.out.splitlines(), told.err

    return run


LINE = '{"name": "gpu", "resource_class": "CUSTOM_NEW", "traits": "big"}'


def test_command_says_what_it_has_counted(cloud: Cloud, recount: Callable[..., Any]):
    world.add_host(cloud, "a")
    flavor = forget(world.add_flavor(in_placement(OLD), name="f", extra_specs=GPU))
    world.book(world.request(flavor, world.hours(1, 2)))
    options = {"pci_in_placement": "true", "pci_alias": LINE}
    said = f"f ({flavor.id}) would count 2 devices; 1 reservation would change too"
    before = read(flavor)
    assert recount("--dry-run", **options) == (0, [said], "")
    assert read(flavor) == before
    status, lines, _ = recount("f", **options)
    assert (status, lines[0]) == (0, f"f ({flavor.id}) counts 2 devices; 1 reservation changed too")
    assert "warre-blazar-manage audit" in lines[1]
    assert read(flavor).shape.device_groups == (NEW, NEW)
    assert recount(**options)[:2] == (0, ["The devices of all flavors are counted as configured"])


def test_command_fails_if_a_device_cannot_be_counted(cloud: Cloud, recount: Callable[..., Any]):
    flavor = forget(world.add_flavor(in_placement(OLD), name="f", extra_specs=GPU))
    status, (line,), _ = recount()
    assert status == 1
    assert line.startswith(f"f ({flavor.id}) stays as it is: extra_specs: ")


@pytest.mark.parametrize(
    ("words", "options", "said"),
    [
        (("nonesuch",), {}, "Flavor nonesuch does not exist"),
        ((), {"pci_alias": "{"}, "[warre] pci_alias is set to a value that can't be used"),
    ],
)
def test_command_says_what_is_wrong(recount: Callable[..., Any], words, options, said):
    status, lines, error = recount(*words, **options)
    assert (status, lines) == (1, [])
    assert said in error
