"""Leases of the dev cloud made due at one moment, and how late each of them starts."""

import configparser
import datetime
import math
import os
import pathlib
import statistics
import time
from collections.abc import Callable, Collection, Mapping

import figures
import sqlalchemy as sa

from warre_blazar.db import tables
from warre_blazar.domain.running.backing import Phase

LEASES = tables.leases
EVENTS = tables.events

_STATES = sa.select(LEASES.c.id, LEASES.c.status)
#: The leases of ours that aren't open to their project.
_CLOSED = (
    sa.select(LEASES.c.id)
    .select_from(
        LEASES.join(tables.reservations, tables.reservations.c.lease_id == LEASES.c.id).join(
            tables.backings, tables.backings.c.reservation_id == tables.reservations.c.id
        )
    )
    .where(tables.backings.c.phase != Phase.OPEN)
)

_POLL = 0.1
_PATIENCE = 1200


def database(name: str = "blazar") -> sa.Engine:
    """A database of the dev cloud."""
    conf = configparser.ConfigParser(strict=False, interpolation=None)
    conf.read(pathlib.Path(os.environ["WARRE_DEVCLOUD_HOME"]) / "etc/blazar/blazar.conf")
    url = sa.make_url(conf["database"]["connection"])
    return sa.create_engine(url.set(database=name))


def soon(seconds: int) -> datetime.datetime:
    """A full second so many seconds from now, naive UTC."""
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0)
    return now + datetime.timedelta(seconds=seconds)


def set_time(
    engine: sa.Engine, leases: Collection[str], column: str, event: str, due: datetime.datetime
) -> None:
    """Let the start or the end of leases be at a time, in Blazar's tables."""
    mine = EVENTS.c.lease_id.in_(leases) & (EVENTS.c.event_type == event)
    with engine.begin() as db:
        db.execute(LEASES.update().where(LEASES.c.id.in_(leases)).values({column: due}))
        db.execute(EVENTS.update().where(mine).values(time=due))


def lags(
    engine: sa.Engine,
    leases: Collection[str],
    due: datetime.datetime,
    look: Callable[[set[str]], None] = lambda _: None,
) -> dict[str, float]:
    """By lease, the seconds from the moment it was due until it is ACTIVE; endless for ERROR.

    A lease of ours counts as ACTIVE when its reservations are open to their project.

    :param look: called with the leases that are ACTIVE, each time that these were read.
    """
    found: dict[str, float] = {}
    deadline = time.monotonic() + _PATIENCE
    while len(found) < len(leases):
        with engine.begin() as db:
            states = dict(db.execute(_STATES.where(LEASES.c.id.in_(leases))).all())
            closed = set(db.scalars(_CLOSED.where(LEASES.c.id.in_(leases))))
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        active = {lease for lease, status in states.items() if status == "ACTIVE"} - closed
        for lease in active - set(found):
            found[lease] = (now - due).total_seconds()
        failed = {lease for lease, status in states.items() if status == "ERROR"}
        found.update(dict.fromkeys(failed - set(found), math.inf))
        look(active)
        if time.monotonic() > deadline:
            raise SystemExit(f"after {_PATIENCE} s {len(found)} of {len(leases)} are started")
        time.sleep(_POLL)
    return found


def table(rows: Mapping[str, Collection[float]]) -> str:
    """Percentiles of the lags of each kind, in seconds."""
    lines = [f"{'':8} {'count':>5} {'first':>7} {'median':>7} {'90 %':>7} {'last':>7}"]
    for who, values in rows.items():
        lines.append(f"{who:8} {len(values):5} " + " ".join(f"{p:7.1f}" for p in _points(values)))
    return "\n".join(lines)


def named(rows: Mapping[str, Collection[float]]) -> dict[str, str]:
    """The same under the names that the documentation uses, such as ``ours.median``."""
    named = {}
    for who, values in rows.items():
        named[f"{who}.count"] = str(len(values))
        named[f"{who}.failed"] = str(sum(map(math.isinf, values)))
        for point, lag in zip(("first", "median", "ninety", "last"), _points(values), strict=True):
            named[f"{who}.{point}"] = "never" if math.isinf(lag) else figures.seconds(lag, 1)
    return named


def rows(named: Mapping[str, str]) -> list[tuple[str, ...]]:
    """A table for the documentation of what ``named`` returned: a row for each kind of lease."""
    header = ("Leases", "Count", "First", "Median", "90 %", "Last", "Failed")
    points = ("count", "first", "median", "ninety", "last", "failed")
    return [
        header,
        *(
            (shown, *(named[f"{who}.{point}"] for point in points))
            for who, shown in (("ours", "warre-blazar"), ("stock", "stock"))
            if f"{who}.count" in named
        ),
    ]


def _points(values: Collection[float]) -> tuple[float, float, float, float]:
    """The shortest lag, the median, the lag that 90 % don't exceed, and the longest."""
    ordered = sorted(values)
    ninety = ordered[round(0.9 * (len(ordered) - 1))]
    return ordered[0], statistics.median(ordered), ninety, ordered[-1]
