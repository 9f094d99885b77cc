"""What follows from ``[keystone_authtoken]``, in the files of each deployment tool."""

import pathlib
import textwrap
from collections.abc import Callable, Iterator

import pytest
from keystoneauth1 import loading
from oslo_config import cfg
from oslo_config import fixture as config_fixture
from oslo_limit import limit as oslo_limit

from tests.fakes.certificate import Certificate
from tests.fakes.cloud import Cloud
from warre_blazar.conf import authtoken
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.errors import exceptions
from warre_blazar.openstack import caches, limits
from warre_blazar.plugins import blazar_changes

#: What the roles of Kolla-Ansible 22 and 23 write.
KOLLA = """
    [DEFAULT]
    os_auth_host = 127.0.0.1
    os_admin_username = blazar
    os_admin_password = secret
    os_admin_project_name = service
    cafile =
    [keystone_authtoken]
    service_type = reservation
    auth_url = {root}
    auth_type = password
    project_domain_id = default
    user_domain_id = default
    project_name = service
    username = blazar
    password = secret
    cafile =
    region_name = RegionOne
"""
#: What the role os_blazar of OpenStack-Ansible writes.
ANSIBLE = """
    [DEFAULT]
    os_region_name = RegionOne
    os_admin_username = blazar
    [keystone_authtoken]
    auth_type = password
    project_domain_name = default
    project_name = service
    user_domain_name = default
    username = blazar
    password = secret
    auth_url = {root}
    region_name = RegionOne
    insecure = True
"""
#: What the chart of OpenStack-Helm writes.
HELM = """
    [DEFAULT]
    os_region_name = RegionOne
    [keystone_authtoken]
    auth_type = password
    auth_version = v3
    auth_url = {root}/v3
    region_name = RegionOne
    project_name = service
    project_domain_name = service
    user_domain_name = service
    username = blazar
    password = secret
"""
#: What DevStack writes. Its Keystone has only a public endpoint.
DEVSTACK = """
    [keystone_authtoken]
    auth_type = password
    interface = public
    auth_url = {root}/v3
    username = blazar
    password = secret
    user_domain_name = Default
    project_name = service
    project_domain_name = Default
"""
#: A login in a group of its own.
SECTION = """
    [keystone_authtoken]
    auth_section = service_user
    region_name = RegionOne
    [service_user]
    auth_type = password
    auth_url = {root}/v3
    user_id = user-blazar
    password = secret
    project_id = project-service
"""
SHAPES = {
    "kolla": KOLLA,
    "ansible": ANSIBLE,
    "helm": HELM,
    "devstack": DEVSTACK,
    "section": SECTION,
}

Read = Callable[..., None]


@pytest.fixture
def cloud(conf: config_fixture.Config) -> Iterator[Cloud]:
    """A fake cloud that only the file of a test names."""
    with Cloud() as fake:
        yield fake
    caches.forget()
    oslo_limit._SDK_CONNECTION = None
    conf.conf.reset()
    for kind in ("password", "v3applicationcredential"):
        options = loading.get_auth_plugin_conf_options(kind)
        for group in ("oslo_limit", "keystone_authtoken", "service_user", "limits"):
            if group in conf.conf:
                conf.conf.unregister_opts(options, group=group)


@pytest.fixture
def read(conf: config_fixture.Config, cloud: Cloud, tmp_path: pathlib.Path) -> Read:
    """Reads a configuration file in which ``{root}`` is the URL of the fake Keystone."""

    def read(*parts: str) -> None:
        path = tmp_path / "blazar.conf"
        text = "".join(textwrap.dedent(part) for part in parts)
        path.write_text(text.format(root=cloud.keystone.url))
        conf.conf([], default_config_files=[str(path)])
        authtoken.complete_region(conf.conf)

    return read


@pytest.mark.parametrize("shape", SHAPES)
def test_limits_are_read_without_options_of_oslo_limit(read: Read, cloud: Cloud, shape: str):
    read(SHAPES[shape])
    cloud.keystone.limits = {("project-alpha", "hours"): 20}
    assert limits.of_project("project-alpha") == Amount(1000, 20)
    assert [scope for _, scope in cloud.keystone.asked] == [{"system": {"all": True}}]
    assert cfg.CONF.oslo_limit.endpoint_service_type == "reservation"
    assert cfg.CONF.oslo_limit.valid_interfaces[-1] == "public"


def test_domain_of_the_user_is_the_one_of_the_middleware(read: Read, cloud: Cloud):
    read(HELM)
    limits.of_project("project-alpha")
    [(user, _)] = cloud.keystone.asked
    assert user == {"name": "blazar", "password": "secret", "domain": {"name": "service"}}


@pytest.mark.parametrize("shape", ["kolla", "section"])
def test_region_is_the_one_of_the_middleware(read: Read, shape: str):
    read(SHAPES[shape])
    assert cfg.CONF.os_region_name == "RegionOne"
    authtoken.complete_limits(cfg.CONF)
    assert cfg.CONF.oslo_limit.endpoint_region_name == "RegionOne"


def test_region_is_known_when_a_plugin_is_made(
    conf: config_fixture.Config, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "blazar.conf"
    path.write_text(
        "[database]\nconnection = sqlite:////nowhere/at/all\n"
        "[keystone_authtoken]\nregion_name = RegionTwo\n"
    )
    conf.conf([], default_config_files=[str(path)])
    monkeypatch.setattr(blazar_changes, "ALWAYS", ())
    assert cfg.CONF.os_region_name is None
    blazar_changes.make()
    assert cfg.CONF.os_region_name == "RegionTwo"


def test_region_that_is_set_stays(read: Read):
    read("[DEFAULT]\nos_region_name = RegionTwo\n[keystone_authtoken]\nregion_name = RegionOne\n")
    assert cfg.CONF.os_region_name == "RegionTwo"
    authtoken.complete_limits(cfg.CONF)
    assert cfg.CONF.oslo_limit.endpoint_region_name == "RegionTwo"


def test_options_of_oslo_limit_that_are_set_stay(read: Read, cloud: Cloud):
    own = """
        [oslo_limit]
        auth_type = password
        auth_url = {root}/v3
        user_id = user-limits
        password = secret
        project_id = project-limits
        cafile = /own.pem
        insecure = false
        endpoint_id = endpoint-blazar
    """
    read(KOLLA.replace("cafile =", "cafile = /middleware.pem"), own)
    assert limits.of_project("project-alpha") == Amount(1000, 100000)
    group = cfg.CONF.oslo_limit
    assert (group.cafile, group.user_id, group.username) == ("/own.pem", "user-limits", None)
    assert (group.user_domain_id, group.endpoint_service_type) == ("default", None)
    assert [scope for _, scope in cloud.keystone.asked] == [{"project": {"id": "project-limits"}}]


def test_login_in_a_section_that_oslo_limit_names_stays(read: Read, cloud: Cloud):
    own = """
        [oslo_limit]
        auth_section = limits
        [limits]
        auth_type = password
        auth_url = {root}/v3
        username = reader
        password = secret
        user_domain_id = default
        system_scope = all
    """
    read(KOLLA, own)
    assert limits.of_project("project-alpha") == Amount(1000, 100000)
    [(user, _)] = cloud.keystone.asked
    assert user["name"] == "reader"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ("[DEFAULT]\ncafile = /stock.pem\n", "/stock.pem"),
        ("[DEFAULT]\ncafile = /stock.pem\n[keystone_authtoken]\ncafile = /own.pem\n", "/own.pem"),
        ("[DEFAULT]\ncafile =\n[keystone_authtoken]\ncafile =\n", None),
    ],
)
def test_certificates_are_those_of_the_middleware_or_of_blazar(
    read: Read, files: str, expected: str | None
):
    read(files)
    authtoken.complete_limits(cfg.CONF)
    assert cfg.CONF.oslo_limit.cafile == expected


def test_application_credential_gets_no_scope(read: Read):
    read(
        "[keystone_authtoken]\nauth_type = v3applicationcredential\nauth_url = {root}/v3\n"
        "application_credential_id = one\napplication_credential_secret = two\n"
    )
    authtoken.complete_limits(cfg.CONF)
    group = cfg.CONF.oslo_limit
    assert (group.application_credential_id, group.application_credential_secret) == ("one", "two")
    assert group.system_scope is None


@pytest.mark.parametrize("text", ["", "[keystone_authtoken]\nauth_type = nothing\n"])
def test_missing_login_is_told(read: Read, text: str):
    read(text)
    with pytest.raises(exceptions.ServiceUnavailable, match=r"\[keystone_authtoken\]"):
        limits.of_project("project-alpha")


def test_certificate_that_is_not_trusted_is_told_with_the_option(
    read: Read, cloud: Cloud, tmp_path: pathlib.Path
):
    certificate = Certificate(tmp_path)
    cloud.keystone.encrypt(certificate.server_context())
    cloud.keystone.endpoints["identity"] = f"{cloud.keystone.url}/v3"
    read(KOLLA)
    with pytest.raises(exceptions.ServiceUnavailable, match=r"\[oslo_limit\] cafile \(not set\)"):
        limits.of_project("project-alpha")
    read(KOLLA.replace("cafile =", f"cafile = {certificate.path}"))
    assert limits.of_project("project-alpha") == Amount(1000, 100000)
