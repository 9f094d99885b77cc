"""The site that all tests here share, which is empty before each test, and its users."""

from collections.abc import Iterator

import pytest
from oslo_utils import timeutils

from tests.functional.db import world
from tests.programs.served import ServedSite
from tests.unit.api.people import Person
from warre_blazar import timer


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedSite]:
    """The running site, whatever is in it."""
    with ServedSite(tmp_path_factory.mktemp("site")) as site, site.served():
        yield site
    timeutils.clear_time_override()


@pytest.fixture
def site(running: ServedSite, monkeypatch: pytest.MonkeyPatch) -> ServedSite:
    """The site with nothing but one host, which has room for eight instances."""
    running.clear()
    running.be_idle()
    monkeypatch.setattr(timer, "clock", running.clock)
    world.add_host(running.cloud, "host-1", vcpus=16)
    return running


@pytest.fixture
def admin(site: ServedSite) -> Person:
    return Person(site.app, "admin")


@pytest.fixture
def alpha(site: ServedSite) -> Person:
    """A member of a project."""
    return Person(site.app, "alpha")
