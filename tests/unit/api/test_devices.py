"""Flavors that name devices: how their devices are resolved, and which flavors are refused."""

import json
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from warre_blazar.db import tables
from warre_blazar.domain.flavors.devices import NO_DEVICES
from warre_blazar.domain.flavors.request_groups import Group
from warre_blazar.services.flavors import devices

ALIAS, PROFILE = "pci_passthrough:alias", "accel:device_profile"
GPU = {ALIAS: "gpu:2"}
FPGA = {PROFILE: "fpga"}
GPU_LINE = json.dumps({"name": "gpu", "vendor_id": "10de", "product_id": "20b0", "traits": "big"})
FPGA_GROUPS = [{"resources:FPGA": "1", "trait:CUSTOM_X": "required", "accel:bitstream_id": "b"}]
FPGA_GROUP = Group.of({"FPGA": 1}, ["CUSTOM_X"]).to_dict()
PCI_GROUP = Group.of({"CUSTOM_PCI_10DE_20B0": 1}, ["CUSTOM_BIG"]).to_dict()


@pytest.fixture(autouse=True)
def elsewhere(site: Site) -> None:
    """Placement knows all these devices."""
    site.cloud.add_elsewhere("CUSTOM_BIG", "CUSTOM_X", classes=["CUSTOM_PCI_10DE_20B0", "FPGA"])


def kept(site: Site) -> list[Any]:
    """What the rows of flavors have of their devices."""
    with site.engine.connect() as connection:
        return list(connection.scalars(sa.select(tables.flavors.c.device_groups)))


def groups(site: Site) -> list[dict[str, Any]]:
    """The groups of the only flavor."""
    (found,) = kept(site)
    return found


def asked(specs: dict[str, str]) -> dict[str, Any]:
    return {**things.FLAVOR, "extra_specs": specs}


def test_alias_is_counted_in_placement(site: Site, admin: Person, options):
    options(pci_alias=[GPU_LINE], pci_in_placement=True)
    made = things.add_flavor(admin, extra_specs=GPU)
    assert made["warnings"] == []
    assert groups(site) == [PCI_GROUP, PCI_GROUP]
    assert made["extra_specs"] == GPU


def test_alias_is_counted_by_a_capability_of_any_host(site: Site, admin: Person):
    world.add_host(site.cloud, "gpus", properties={"pci_alias_gpu": "4"}, reservable=False)
    things.add_flavor(admin, extra_specs=GPU)
    assert groups(site) == [Group.of({"pci_alias_gpu": 1}).to_dict()] * 2


def test_cyborg_is_asked_for_device_profile_as_nova_asks(site: Site, admin: Person):
    site.cloud.install_cyborg(fpga=FPGA_GROUPS, other=[{"resources:VGPU": "1"}])
    things.add_flavor(admin, extra_specs=FPGA)
    assert groups(site) == [FPGA_GROUP]
    assert site.cloud.cyborg.requests == ["GET /accelerator/v2/device_profiles"]


def test_aliases_and_device_profile_are_counted_together(site: Site, admin: Person):
    world.add_host(site.cloud, "gpus", properties={"pci_alias_nic": "4"})
    site.cloud.install_cyborg(fpga=FPGA_GROUPS)
    things.add_flavor(admin, extra_specs={ALIAS: "nic:1", **FPGA})
    assert groups(site) == [Group.of({"pci_alias_nic": 1}).to_dict(), FPGA_GROUP]


def test_flavor_without_devices_has_none(site: Site, admin: Person):
    made = things.add_flavor(admin, extra_specs={"hw:cpu_cores": "1"})
    assert (made["warnings"], kept(site)) == ([], [None])


#: By name, the extra specs, and what the refusal's text says that the operator can configure.
UNKNOWN = {
    "alias": (GPU, "capability pci_alias_gpu"),
    "alias with another case": ({ALIAS: "GPU:1"}, "capability pci_alias_GPU"),
    "second alias": ({ALIAS: "nic:1,gpu:1"}, "capability pci_alias_gpu"),
    "profile": (FPGA, "Keystone's catalog has no Cyborg"),
}


@pytest.mark.parametrize("root", ["/v2", "/v2/warre/v1"])
@pytest.mark.parametrize("case", UNKNOWN)
def test_device_that_cannot_be_counted_is_refused(site: Site, case: str, root: str):
    world.add_host(
        site.cloud, "nics", properties={"pci_alias_nic": "1", "pci_alias_Gpu": "1", "gpu": "1"}
    )
    admin = Person(site.app, "admin", root)
    specs, configure = UNKNOWN[case]
    flavor = things.add_flavor(admin)
    before = site.rows()
    for answer in (
        admin.post("flavors", asked(specs)),
        admin.patch(f"flavors/{flavor['id']}", {"extra_specs": specs}),
    ):
        assert refusal(answer) == (400, "device_not_countable")
        assert configure in answer.json["error_message"]
        detail = answer.json["detail"]
        (key,) = specs
        assert (detail["field"], detail["key"]) == ("extra_specs", key)
        assert detail["name"] in specs[key]
    assert site.rows() == before


def test_alias_without_a_line_is_refused_in_placement(site: Site, admin: Person, options):
    world.add_host(site.cloud, "gpus", properties={"pci_alias_nic": "4"})
    options(pci_alias=[GPU_LINE], pci_in_placement=True)
    answer = admin.post("flavors", asked({ALIAS: "nic:1"}))
    assert refusal(answer) == (400, "device_not_countable")
    assert "[warre] pci_alias has no line for nic" in answer.json["error_message"]


def test_device_profile_that_cyborg_lacks_is_refused(site: Site, admin: Person):
    site.cloud.install_cyborg(other=FPGA_GROUPS)
    for name in ("fpga", "other,fpga", "../v1", "fpga?x=1&name=other", "fpga\u00e9"):
        answer = admin.post("flavors", asked({PROFILE: name}))
        assert refusal(answer) == (400, "device_not_countable")
        assert "Cyborg has no such device profile" in answer.json["error_message"]


@pytest.mark.parametrize("profile", [[], None, "x", [{"accel:x": "1"}], [{"resources:FPGA": "x"}]])
def test_unusable_device_profile_of_cyborg_is_refused(site: Site, admin: Person, profile: Any):
    site.cloud.install_cyborg(fpga=profile)
    code = refusal(admin.post("flavors", asked(FPGA)))
    assert code == (400, "device_not_countable")


#: How Cyborg fails, and what the refusal says.
FAILURES = {
    "drops the connection": ({"drop": True}, 503, "service_unavailable"),
    "fails": ({"status": 500}, 503, "service_unavailable"),
    "is unavailable": ({"status": 503}, 503, "service_unavailable"),
    "refuses": ({"status": 403}, 502, "service_refused"),
    "isn't there": ({"status": 404}, 502, "service_refused"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_failure_of_cyborg_is_reported_and_nothing_is_written(
    site: Site, admin: Person, options, case: str
):
    site.cloud.install_cyborg(fpga=FPGA_GROUPS)
    flavor = things.add_flavor(admin)
    before = site.rows()
    fault, *expected = FAILURES[case]
    site.cloud.cyborg.fail(**fault)
    for answer in (
        admin.post("flavors", asked(FPGA)),
        admin.patch(f"flavors/{flavor['id']}", {"extra_specs": FPGA}),
    ):
        assert refusal(answer) == tuple(expected)
        assert "Cyborg" in answer.json["error_message"]
    assert site.rows() == before


def test_cyborg_that_hangs_or_is_stopped_is_unavailable(site: Site, admin: Person, options):
    options(request_timeout=1)
    site.cloud.install_cyborg(fpga=FPGA_GROUPS)
    before = site.rows()
    site.cloud.cyborg.fail(hang=True)
    answer = admin.post("flavors", asked(FPGA))
    assert refusal(answer) == (503, "service_unavailable")
    site.cloud.cyborg.mend()
    site.cloud.cyborg.stop()
    answer = admin.post("flavors", asked(FPGA))
    assert refusal(answer) == (503, "service_unavailable")
    assert answer.json["detail"]["service"] == "Cyborg"
    assert site.rows() == before
    site.cloud.remove_cyborg()


@pytest.mark.parametrize(
    "body", ["text", [], {}, {"device_profiles": None}, {"device_profiles": ["x"]}, 1]
)
def test_answer_that_is_not_cyborgs_is_reported(site: Site, admin: Person, body: Any):
    site.cloud.install_cyborg(fpga=FPGA_GROUPS)
    site.cloud.cyborg.body = body
    answer = admin.post("flavors", asked(FPGA))
    assert refusal(answer) == (503, "service_unavailable")
    assert answer.json["detail"] == {"service": "Cyborg", "reason": "no_profiles"}


@pytest.mark.parametrize("text", ["gpu", "gpu:0", "gpu:1,,", "gpu:1:1", "gpu:65", "gpu:-1", ":1"])
def test_malformed_alias_is_refused(site: Site, admin: Person, options, text: str):
    flavor = things.add_flavor(admin)
    answer = admin.post("flavors", asked({ALIAS: text}))
    assert refusal(answer) == (422, "invalid_field")
    assert answer.json["detail"]["field"] == "extra_specs"
    answer = admin.patch(f"flavors/{flavor['id']}", {"extra_specs": {ALIAS: text}})
    assert refusal(answer) == (400, "invalid_field")


def test_change_of_extra_specs_resolves_the_devices_anew(site: Site, admin: Person, options):
    world.add_host(site.cloud, "nics", properties={"pci_alias_nic": "1"})
    made = things.add_flavor(admin, extra_specs={ALIAS: "nic:1"})
    path = f"flavors/{made['id']}"
    options(pci_alias=[GPU_LINE], pci_in_placement=True)
    admin.patch(path, {"slots": 3})
    assert groups(site) == [Group.of({"pci_alias_nic": 1}).to_dict()]
    admin.patch(path, {"extra_specs": {ALIAS: "gpu:1"}})
    assert groups(site) == [PCI_GROUP]
    admin.patch(path, {"extra_specs": {"hw:cpu_cores": "1"}})
    assert kept(site) == [None]


def test_imported_flavor_is_made_active_after_its_devices_are_counted(site: Site, admin: Person):
    world.add_host(site.cloud, "nics", properties={"pci_alias_nic": "1"})
    made = things.add_flavor(admin, extra_specs={ALIAS: "nic:1"}, active=False)
    with site.engine.begin() as connection:
        connection.execute(tables.flavors.update().values(device_groups=None))
    for root in ("/v2", "/v2/warre/v1"):
        answer = Person(site.app, "admin", root).patch(f"flavors/{made['id']}", {"active": True})
        assert refusal(answer) == (400, "device_not_countable")
        assert "warre-blazar-manage flavor recount" in answer.json["error_message"]
    devices.recount(NO_DEVICES)
    assert things.made(admin.patch(f"flavors/{made['id']}", {"active": True}))["active"]


def test_reservation_keeps_the_devices_that_it_was_booked_with(
    site: Site, admin: Person, alpha: Person, options
):
    world.add_host(site.cloud, "gpus", properties={"pci_alias_gpu": "4"})
    flavor = things.add_flavor(admin, extra_specs={ALIAS: "gpu:1"})
    booked = things.book(alpha, flavor)
    admin.patch(f"flavors/{flavor['id']}", {"extra_specs": GPU})
    with site.engine.connect() as connection:
        (shape,) = connection.scalars(sa.select(tables.bookings.c.shape))
    assert len(json.loads(shape)["device_groups"]) == 1
    assert json.loads(shape)["extra_specs"] == {ALIAS: "gpu:1"}
    assert booked["flavor"]["extra_specs"] == {ALIAS: "gpu:1"}


def test_malformed_option_is_named(site: Site, admin: Person, options):
    options(pci_alias=["{"])
    before = site.rows()
    answer = admin.post("flavors", things.FLAVOR)
    assert refusal(answer) == (503, "misconfigured")
    assert "[warre] pci_alias" in answer.json["error_message"]
    assert site.rows() == before


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    alias=st.none() | st.text(st.sampled_from("gpu:,19 \U0001f600"), max_size=12) | st.text(),
    profile=st.none() | st.sampled_from(["fpga", "odd"]) | st.text(max_size=20),
    groups=st.recursive(
        st.none() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["resources:FPGA", "trait:X", "resources", "accel:a", "x"]), inner
            )
        ),
        max_leaves=6,
    ),
)
def test_any_devices_are_counted_or_refused(
    site: Site, admin: Person, options, alias, profile, groups
):
    site.cloud.install_cyborg(fpga=FPGA_GROUPS, odd=groups)
    specs = {ALIAS: alias, PROFILE: profile}
    answer = admin.post("flavors", asked({k: v for k, v in specs.items() if v is not None}))
    if answer.status_int >= 400:
        assert answer.json["code"] in ("invalid_field", "device_not_countable")
        assert answer.json["detail"]["field"].startswith("extra_specs")
    else:
        assert answer.status_int == 202


def book_all(alpha: Person, flavor: dict, number: int) -> None:
    """Book a number of instances, and show that there is no room for another one."""
    for _ in range(number):
        things.book(alpha, flavor)
    answer = alpha.post("reservations", things.booking(flavor))
    assert refusal(answer) == (400, "hosts_exhausted")


def test_as_many_instances_are_booked_as_there_are_devices(site: Site, admin: Person, alpha):
    for name in ("gpus-1", "gpus-2"):
        world.add_host(site.cloud, name, vcpus=64, properties={"pci_alias_gpu": "4"})
    flavor = things.add_flavor(admin, extra_specs={ALIAS: "gpu:1"}, slots=100)
    assert flavor["bookable_hosts"] == 2
    book_all(alpha, flavor, 8)
    pair = things.add_flavor(admin, name="pair", extra_specs={ALIAS: "gpu:2"}, slots=100)
    assert refusal(alpha.post("reservations", things.booking(pair))) == (400, "hosts_exhausted")
    limits = admin.get(f"flavors/{pair['id']}").json["limits"]
    assert (limits["by"], limits["instances"]) == ("hosts", 4)
    first, second, without = limits["hosts"]
    for host in (first, second):
        (limit,) = host["limits"]
        assert (limit["name"], limit["asked"], limit["capacity"]) == ("pci_alias_gpu", 2, 4)
    assert (without["instances"], without["limits"][0]["providers"]) == (0, [])


def test_flavor_whose_devices_no_host_has_is_not_bookable(admin: Person, alpha: Person, options):
    options(pci_alias=[GPU_LINE], pci_in_placement=True)
    made = things.add_flavor(admin, extra_specs=GPU)
    assert (made["bookable"], made["bookable_hosts"]) == (False, 0)
    answer = alpha.post("reservations", things.booking(made))
    assert refusal(answer) == (409, "no_host_matches")
    path = f"flavors/{made['id']}/freeslots?start={things.at(1)[:10]}&end={things.at(3)[:10]}"
    reason = alpha.get(f"{path}&reason=true").json["reason"]
    assert reason["code"] == "no_host_matches"


def test_devices_in_placement_are_counted_by_class_and_trait(
    site: Site, admin: Person, alpha: Person, options
):
    inventory = {"CUSTOM_PCI_10DE_20B0": {"total": 2}}
    world.add_host(site.cloud, "small", vcpus=64, more=inventory)
    world.add_host(site.cloud, "big", vcpus=64, more=inventory, traits=("CUSTOM_BIG",))
    options(pci_alias=[GPU_LINE], pci_in_placement=True)
    flavor = things.add_flavor(admin, extra_specs={ALIAS: "gpu:1"}, slots=9)
    assert flavor["bookable_hosts"] == 1
    book_all(alpha, flavor, 2)
