"""The configuration that Kolla-Ansible writes with our files differs by one line of blazar.conf."""

import pytest

from tests.deployers import kolla_ansible

PLUGINS = "virtual.instance.plugin,physical.host.plugin"
SERVICES = ("blazar-api", "blazar-manager")


def added(written, name: str) -> tuple[list[str], list[str]]:
    """The lines of a file that our files take away, and those that they add."""
    stock, ours = (
        kolla_ansible.settings(written[kind] / name)
        for kind in (kolla_ansible.STOCK, kolla_ansible.OURS)
    )
    return [s for s in stock if s not in ours], [s for s in ours if s not in stock]


@pytest.mark.parametrize("service", SERVICES)
def test_one_line_of_blazar_conf_differs(written, service):
    assert added(written, f"{service}/blazar.conf") == (
        [f"[manager] plugins = {PLUGINS}"],
        [f"[manager] plugins = {PLUGINS},flavor.slot.plugin"],
    )


def different_files(written) -> list[str]:
    """The paths of the files that differ, or that only one of the two has."""
    stock, ours = (
        {path.relative_to(root): path.read_text() for path in root.rglob("*") if path.is_file()}
        for root in (written[kolla_ansible.STOCK], written[kolla_ansible.OURS])
    )
    assert stock
    return sorted(str(f) for f in {*stock, *ours} if stock.get(f) != ours.get(f))


def test_nothing_else_differs(written):
    assert different_files(written) == [f"{service}/blazar.conf" for service in SERVICES]


@pytest.mark.slow
def test_nothing_differs_for_horizon(written_for_horizon):
    assert different_files(written_for_horizon) == []


def test_web_server_serves_blazars_own_module_with_one_thread(written):
    served = kolla_ansible.settings(written[kolla_ansible.OURS] / "blazar-api/blazar-api-uwsgi.ini")
    assert "[uwsgi] module = blazar.wsgi.api:application" in served
    assert not any("threads =" in line and "enable" not in line for line in served)
