"""Fixtures for all tests."""

from collections.abc import Iterator

import hypothesis
import pytest
from oslo_config import cfg
from oslo_config import fixture as config_fixture
from oslo_limit import limit as oslo_limit

from tests.fakes.cloud import LOGIN_OPTIONS, Cloud
from warre_blazar import conf as our_conf
from warre_blazar.db import clock
from warre_blazar.openstack import caches
from warre_blazar.services.running import mark

# Examples have no deadline, because their time depends on the machine more than on the code.
# ``--hypothesis-profile=many`` chooses the other profile.
hypothesis.settings.register_profile("few", deadline=None, max_examples=30)
hypothesis.settings.register_profile("many", deadline=None, max_examples=150)
hypothesis.settings.load_profile("few")


@pytest.fixture
def conf() -> Iterator[config_fixture.Config]:
    """Blazar's configuration with our options; what a test sets is undone after it."""
    cfg.CONF([], default_config_files=[])
    our_conf.register(cfg.CONF)
    fixture = config_fixture.Config(cfg.CONF)
    fixture.setUp()
    yield fixture
    fixture.cleanUp()


@pytest.fixture(autouse=True)
def unread_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test go on with the database's clock that another one has read.

    A clock that nobody has read tells the machine's time, which tests set.
    """
    monkeypatch.setattr(clock, "_clock", clock.DatabaseClock())


@pytest.fixture(autouse=True)
def open_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test be held because another one has started a manager."""
    monkeypatch.setattr(mark, "gate", mark.Gate())


@pytest.fixture
def cloud(conf: config_fixture.Config) -> Iterator[Cloud]:
    """A fake cloud that our clients talk to."""
    with Cloud() as fake:
        conf.register_opts(LOGIN_OPTIONS, group="oslo_limit")
        fake.configure(lambda name, value, group: conf.config(group=group, **{name: value}))
        _forget_logins()
        yield fake
        _forget_logins()


def _forget_logins() -> None:
    caches.forget()
    oslo_limit._SDK_CONNECTION = None
