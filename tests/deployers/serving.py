"""Serves Blazar as Kolla-Ansible does: with the files that it has written, by its commands.

The database and the message bus are real servers. Keystone, Nova and Placement are fakes.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from devcloud_lib import cloud as devcloud
from devcloud_lib import mariadb, rabbitmq, readiness
from devcloud_lib.console import Failure
from devcloud_lib.layout import Layout
from oslo_config import cfg

from tests.deployers import forwarding
from tests.deployers.containers import Container
from tests.deployers.kolla_images import Image
from tests.fakes.cloud import Cloud
from tests.functional.db import databases, world
from warre_blazar.db import models, session

DATABASE = "blazar"
_BOOTSTRAP = "/usr/local/bin/kolla_blazar_extend_start"


@contextlib.contextmanager
def servers(layout: Layout) -> Iterator[None]:
    """Run a database server and a message bus."""
    mariadb.create(layout.home / "mariadb", [], layout.log("mariadb"))
    rabbitmq.create(layout.home / "rabbitmq", layout.ports)
    running = devcloud.infrastructure(layout)
    try:
        for server in running:
            server.bring_up()
        yield
    finally:
        for server in reversed(running):
            server.stop()


@contextlib.contextmanager
def database(layout: Layout) -> Iterator[None]:
    """Make Blazar's database, without tables, and connect this process to it."""
    server = sa.create_engine(layout.database("mysql"), isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE IF EXISTS {DATABASE}"))
        connection.execute(sa.text(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb3"))
    server.dispose()
    cfg.CONF.set_override("connection", layout.database(DATABASE, "utf8"), group="database")
    try:
        with databases.connected():
            yield
    finally:
        cfg.CONF.clear_override("connection", group="database")


@dataclasses.dataclass
class Blazar:
    """Containers of Blazar's API and manager.

    :param root: an empty directory for the containers.
    :param programs: the environment with the programs that both images have.
    :param written: the directory of what Kolla-Ansible has written.
    :param image: the image of the API.
    """

    root: Path
    programs: Path
    written: Path
    image: Image

    def bootstrap(self) -> str:
        """Run the bootstrap container. Return what it has printed."""
        container = Container(self.root / "bootstrap", self.programs)
        container.copy_configuration(self.written / "blazar-api")
        container.copy(self.image.directory / "extend_start.sh", _BOOTSTRAP)
        for command in self.image.commands("kolla_blazar_extend_start"):
            container.run(command)
        return container.run(f". {_BOOTSTRAP}", KOLLA_BOOTSTRAP="")

    @contextlib.contextmanager
    def running(self, port: int) -> Iterator[Callable[..., Any]]:
        """Run the manager, and then the API. The result is a WSGI application that is the API."""
        answers = readiness.Http(f"http://127.0.0.1:{port}/").answers
        manager = self._started("blazar-manager", _manager_beats)
        with manager, self._started("blazar-api", answers):
            yield forwarding.to(port)

    @contextlib.contextmanager
    def _started(self, name: str, is_up: Callable[[], bool]) -> Iterator[None]:
        container = Container(self.root / name, self.programs)
        command = container.copy_configuration(self.written / name)
        log = self.root / f"{name}.log"
        with container.running(command, log) as process:
            try:
                readiness.wait_until(is_up, lambda: process.poll() is not None, name)
            except Failure as failure:
                written = [log, *container.path("/var/log/kolla").rglob("*.log")]
                raise AssertionError("\n".join(path.read_text() for path in written)) from failure
            yield


def _manager_beats() -> bool:
    """Whether a manager with this package's plugin has started."""
    with session.reader() as db:
        return db.execute(sa.select(models.managers)).first() is not None


def furnish(cloud: Cloud) -> None:
    """Add a host to Blazar and to the cloud."""
    cloud.add_freepool("host-1")
    world.add_host(cloud, "host-1", vcpus=16, zone="az1")
