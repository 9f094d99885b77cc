"""The files for OpenStack-Ansible, beside what its role for Blazar had on 2026-05-12."""

import pathlib

import yaml

HERE = pathlib.Path(__file__).parents[3] / "contrib/openstack-ansible"
VARIABLES = yaml.safe_load((HERE / "user_variables.yml").read_text())
#: The role's own lists, which ours replace.
PACKAGES = ["blazar", "blazar-nova", "osprofiler", "pymysql", "python-blazarclient"]
PACKAGES += ["systemd-python", "pymemcache", "python-memcached"]
PLUGINS = ["physical.host.plugin", "virtual.instance.plugin", "virtual.floatingip.plugin"]


def test_packages_of_the_role_are_kept():
    *kept, ours = VARIABLES["blazar_pip_packages"]
    assert [package.rpartition("#egg=")[2] for package in kept] == PACKAGES
    assert ours.startswith("warre-blazar[server] @ ")


def test_plugins_of_the_role_are_kept():
    assert VARIABLES["blazar_manager_plugins"] == [*PLUGINS, "flavor.slot.plugin"]


def test_playbook_runs_the_setup_as_blazars_user():
    setup, restart = yaml.safe_load((HERE / "warre-blazar.yml").read_text())
    (task,) = setup["tasks"]
    command = task["ansible.builtin.command"]["argv"]
    assert command[0].endswith("/bin/warre-blazar-manage")
    assert command[1:] == ["--config-file", "/etc/blazar/blazar.conf", "setup"]
    assert (setup["hosts"], setup["become_user"]) == ("blazar_all[0]", "blazar")
    assert restart["tasks"][0]["loop"] == ["blazar-manager", "blazar-api"]
