"""What each release's Kolla and Kolla-Ansible render, once for all tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from devcloud_lib import deployers
from devcloud_lib.deployers import Release
from devcloud_lib.layout import Layout
from devcloud_lib.settings import Settings

from tests.deployers import environments, kolla_ansible, kolla_images
from tests.deployers.kolla_images import Image
from tests.unit.api.site import SiteCloud

#: Added to the ports of the servers, which may run beside dev clouds.
_OFFSET = 500
_OLDEST, *_NEWER = deployers.RELEASES


@pytest.fixture(
    scope="session",
    params=[_OLDEST, *(pytest.param(newer, marks=pytest.mark.slow) for newer in _NEWER)],
    ids=lambda release: release.name,
)
def release(request: pytest.FixtureRequest) -> Release:
    """Each release. The short form has the oldest one only."""
    return request.param


@pytest.fixture(scope="session")
def images(release: Release, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Image]:
    """The images of Blazar and Horizon with our changes, by name."""
    return kolla_images.rendered(release.kolla, tmp_path_factory.mktemp("kolla"))


@pytest.fixture(scope="session")
def cloud() -> Iterator[SiteCloud]:
    """Fakes of the services that Blazar uses."""
    with SiteCloud() as fakes:
        yield fakes


@pytest.fixture(scope="session")
def layout() -> Layout:
    """The directories and ports of the database server and the message bus."""
    return Layout(environments.home() / "servers", Settings(port_offset=_OFFSET))


@pytest.fixture(scope="session")
def written(
    release: Release, layout: Layout, cloud: SiteCloud, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """The directories with the configuration of Blazar, stock and with our files."""
    directory = tmp_path_factory.mktemp("kolla-ansible")
    site = kolla_ansible.where(layout, cloud.keystone)
    return kolla_ansible.render(release.kolla_ansible, directory, site, "blazar")


@pytest.fixture(scope="session")
def written_for_horizon(
    release: Release, layout: Layout, cloud: SiteCloud, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """The same for Horizon."""
    directory = tmp_path_factory.mktemp("kolla-ansible-horizon")
    site = kolla_ansible.where(layout, cloud.keystone)
    return kolla_ansible.render(release.kolla_ansible, directory, site, "horizon")
