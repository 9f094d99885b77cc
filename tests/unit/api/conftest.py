"""The site that all tests here share, which is empty before each test, and its users."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from oslo_config import cfg
from oslo_utils import timeutils

from tests.functional.db import world
from tests.unit.api import typed as typed_commands
from tests.unit.api.people import Person
from tests.unit.api.site import Site
from warre_blazar import timer


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The running site, whatever is in it."""
    with Site(tmp_path_factory.mktemp("site")) as site:
        yield site
    timeutils.clear_time_override()


@pytest.fixture
def site(running: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The site with nothing but one host, which has room for eight instances."""
    running.clear()
    monkeypatch.setattr(timer, "clock", running.clock)
    world.add_host(running.cloud, "host-1", vcpus=16, zone="az1")
    return running


@pytest.fixture
def options() -> Iterator[Callable[..., None]]:
    """A function that sets options of the group ``[warre]`` for one test."""
    names: set[str] = set()

    def set_options(**values: Any) -> None:
        for name, value in values.items():
            cfg.CONF.set_override(name, value, group="warre")
            names.add(name)

    yield set_options
    for name in names:
        cfg.CONF.clear_override(name, group="warre")


@pytest.fixture
def admin(site: Site) -> Person:
    return Person(site.app, "admin")


@pytest.fixture
def alpha(site: Site) -> Person:
    """A member of a project."""
    return Person(site.app, "alpha")


@pytest.fixture
def colleague(site: Site) -> Person:
    """Another member of alpha's project."""
    return Person(site.app, "colleague")


@pytest.fixture
def beta(site: Site) -> Person:
    """A member of another project."""
    return Person(site.app, "beta")


@pytest.fixture
def reader(site: Site) -> Person:
    """A user with the role reader in alpha's project."""
    return Person(site.app, "reader")


@pytest.fixture
def nobody(site: Site) -> Person:
    """A user whose only role is one that no policy rule mentions."""
    return Person(site.app, "nobody")


@pytest.fixture
def typed(site: Site, capsys: pytest.CaptureFixture[str]) -> Iterator[typed_commands.Terminal]:
    """A terminal at which users type commands."""
    with typed_commands.terminal(site, capsys) as made:
        yield made
