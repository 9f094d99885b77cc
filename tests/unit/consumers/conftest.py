"""The site with the exact plugins that all tests here share, set up again before each test."""

from collections.abc import Iterator

import pytest
from oslo_utils import timeutils

from tests.unit.api.people import Person
from tests.unit.consumers.site import ExactSite
from warre_blazar import timer


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExactSite]:
    """The running site, whatever is in it."""
    with ExactSite(tmp_path_factory.mktemp("site")) as site:
        yield site
    timeutils.clear_time_override()


@pytest.fixture
def site(running: ExactSite, monkeypatch: pytest.MonkeyPatch) -> ExactSite:
    running.clear()
    monkeypatch.setattr(timer, "clock", running.clock)
    running.remembered(running.furnish)
    return running


@pytest.fixture
def admin(site: ExactSite) -> Person:
    return Person(site.app, "admin")


@pytest.fixture
def alpha(site: ExactSite) -> Person:
    """A member of a project."""
    return Person(site.app, "alpha")
