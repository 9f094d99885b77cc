"""Fixtures for all tests."""

from collections.abc import Iterator

import pytest
from oslo_config import cfg
from oslo_config import fixture as config_fixture

from tests.fakes.cloud import Cloud
from warre_blazar import conf as our_conf
from warre_blazar.clients import keystone


@pytest.fixture
def conf() -> Iterator[config_fixture.Config]:
    """Blazar's configuration with our options; what a test sets is undone after it."""
    cfg.CONF([], default_config_files=[])
    our_conf.register(cfg.CONF)
    fixture = config_fixture.Config(cfg.CONF)
    fixture.setUp()
    yield fixture
    fixture.cleanUp()


@pytest.fixture
def cloud(conf: config_fixture.Config) -> Iterator[Cloud]:
    """A fake cloud that our clients talk to."""
    with Cloud() as fake:
        fake.configure(lambda name, value, group: conf.config(group=group, **{name: value}))
        keystone.service_session.cache_clear()
        yield fake
        keystone.service_session.cache_clear()
