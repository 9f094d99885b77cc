"""A Warre beside Blazar with the example's reservations, for the tests of the import."""

import dataclasses
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, warre_site, world
from tests.functional.db.warre_site import ACTIVE, ALPHA, NOW, THIRD, TWO, day
from warre_blazar import warre_import
from warre_blazar.cmd import manage
from warre_blazar.db import tables
from warre_blazar.domain.timeline import Span
from warre_blazar.warre_import import Report
from warre_blazar.warre_import.verdicts import Fate

ALWAYS = 0


@pytest.fixture
def warre(tmp_path: pathlib.Path) -> Iterator[warre_site.Warre]:
    """A Warre's database with its tables."""
    with databases.made("mariadb", tmp_path) as url:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        found = warre_site.Warre(engine)
        found.make_tables()
        yield found


@dataclasses.dataclass
class Scene:
    """The example's Warre: one reservation is running with a server, and two are waiting."""

    cloud: Cloud
    warre: warre_site.Warre
    leases: dict[str, warre_site.StockLease]
    server: str
    #: The rows of Blazar's tables before the import.
    before: dict[str, list[tuple[Any, ...]]]
    database: sa.Engine

    def plan(self, days: int = ALWAYS) -> Report:
        return warre_import.plan(self.warre.url, NOW, days)

    def take_over(self, days: int = ALWAYS) -> Report:
        return warre_import.take_over(self.warre.url, NOW, days)

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        return dump(self.database)


def dump(engine: sa.Engine) -> dict[str, list[tuple[Any, ...]]]:
    """All rows by table, without the generations of hosts: an undo changes them once more."""
    rows = databases.dump(engine)
    known = tables.host_generations.c.keys().index("generation")
    found = rows.get(name := tables.host_generations.name, [])
    without = [(*row[:known], None, *row[known + 1 :]) for row in found]
    return rows | ({name: without} if without else {})


@pytest.fixture
def scene(cloud: Cloud, warre: warre_site.Warre, database: sa.Engine) -> Scene:
    for name in ("a", "b"):
        world.add_host(cloud, name, vcpus=8)
    cloud.add_freepool("a", "b")
    spans = {
        ACTIVE: Span(day(23, 9), day(26, 9)),
        TWO: Span(day(24), day(25)),
        THIRD: Span(day(28), day(29)),
    }
    sizes = {"vcpus": 4, "memory_mb": 2048, "disk_gb": 1}
    leases = {
        ACTIVE: warre_site.book(cloud, ACTIVE, ALPHA, spans[ACTIVE], 1),
        TWO: warre_site.book(cloud, TWO, warre_site.BETA, spans[TWO], 2),
        THIRD: warre_site.book(cloud, THIRD, ALPHA, spans[THIRD], 1, **sizes),
    }
    warre_site.begin(cloud, leases[ACTIVE])
    server = cloud.nova.boot(leases[ACTIVE].reservation_id, ALPHA)
    warre.fill(dict(enumerate(leases.values(), 1)))
    return Scene(cloud, warre, leases, server, dump(database), database)


def counts(report: Report) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (kind, fate), count in report.counts.items():
        found.setdefault(kind, {})[fate.value] = count
    return found


def left(report: Report) -> dict[str, str]:
    return {v.id: " ".join(v.remarks) for v in report.notable if v.fate is Fate.LEFT}


def said(report: Report) -> dict[str, str]:
    return {v.id: " ".join(v.remarks) for v in report.notable if v.fate is not Fate.LEFT}


@dataclasses.dataclass(frozen=True)
class Said:
    status: int
    out: str
    err: str


@pytest.fixture
def run(database: sa.Engine, conf, tmp_path: pathlib.Path, capfd) -> Iterator[Callable[..., Said]]:
    """Run ``warre-blazar-manage import-warre`` at the example's time."""
    url = database.url.render_as_string(hide_password=False)
    config = databases.write_config(url, tmp_path)

    def run(*words: str) -> Said:
        capfd.readouterr()
        status = manage.main(["--config-file", config, "import-warre", *words])
        return Said(status, *capfd.readouterr())

    timeutils.set_time_override(NOW)
    yield run
    timeutils.clear_time_override()
