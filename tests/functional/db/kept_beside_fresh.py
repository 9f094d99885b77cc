"""Compares what a process keeps of the hosts with what is in the tables, after transactions.

So each test of the database also tests that whatever it does changes the generations of the hosts
that it concerns.
"""

import contextlib
import contextvars
import dataclasses
import datetime
import itertools
import re
import threading
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from warre_blazar import times
from warre_blazar.db.hosts import kept_hosts, reservable_hosts
from warre_blazar.domain.flavors.devices import NO_DEVICES
from warre_blazar.domain.taken import TakenOverTime

#: What statements that change rows begin with, and the table. After WITH it may be any table.
_WRITING = re.compile(r"(WITH)\b|(?:INSERT .*?INTO|UPDATE|DELETE FROM) (\w+)", re.DOTALL)
#: An option of connections on which the comparison reads.
READS = "reads_what_is_kept"
#: Columns of hosts that say nothing about them, or that are asked for each time.
_UNKEPT = {"created_at", "updated_at", "reservable"}


@contextlib.contextmanager
def compared(engine: sa.Engine, each: int = 1) -> Iterator[list[str]]:
    """A list of the differences that are found until the end of the context.

    :param each: how many transactions that write are compared together. The last ones of a test
        always are.
    """
    found: list[str] = []
    written, read = {"WITH"}, {"WITH"}
    number = 0

    def note(connection: sa.Connection, _cursor: Any, statement: str, *_: Any) -> None:
        if READS in connection.get_execution_options():
            read.update(re.findall(r"\w+", statement))
        elif match := _WRITING.match(statement):
            written.add(match[1] or match[2])

    def look(db: Session) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        if db.get_bind() is not engine or found:
            return
        # What is kept says nothing of the other tables.
        written.intersection_update(read)
        nonlocal number
        number += bool(written)
        if number == each:
            compare()

    def compare() -> None:
        nonlocal number
        number = 0
        written.clear()
        # The transaction that has ended may have been a writer's, but this isn't one.
        found.extend(contextvars.Context().run(_differences, engine))

    sa.event.listen(engine, "before_cursor_execute", note)
    sa.event.listen(Session, "after_commit", look)
    try:
        yield found
        if number and not found:
            compare()
    finally:
        sa.event.remove(Session, "after_commit", look)
        sa.event.remove(engine, "before_cursor_execute", note)


def _differences(engine: sa.Engine) -> list[str]:
    """The hosts that are kept otherwise than they are in the tables."""
    # Other threads may write meanwhile, so that a difference may be gone at the second look.
    return _look(engine) and _look(engine)


def _look(engine: sa.Engine) -> list[str]:
    # One transaction sees the same rows in all of its statements.
    is_postgresql = engine.dialect.name == "postgresql"
    isolation = {"isolation_level": "REPEATABLE READ"} if is_postgresql else {}
    with (
        engine.execution_options(**isolation, **{READS: True}).connect() as connection,
        Session(bind=connection) as db,
    ):
        return list(_compare(db, engine))


def _compare(db: Session, engine: sa.Engine) -> Iterator[str]:
    stores = kept_hosts._stores.setdefault(engine, {})
    store = stores.setdefault("tests", kept_hosts._Store())
    versions = reservable_hosts.versions(db)
    known = store.known(versions)
    number = len(versions)
    fresh = kept_hosts._read(db, versions, number, times.NO_TIME, NO_DEVICES)
    # What the process books, it adds to what it keeps itself.
    own = stores.get((times.NO_TIME, repr(NO_DEVICES)), store).known(versions)
    for host_id, kept in [*known.items(), *own.items()]:
        before, now = _plain(kept), _plain(fresh[host_id])
        for name in now:
            if before[name] != now[name]:
                yield f"{name} of host {host_id}: {before[name]} is kept, {now[name]} is true"
    missing = {i: fresh[i] for i in versions.keys() - known.keys()}
    taken = store.replace({**known, **missing}, set(), None, None)
    claims: dict[str, dict[str, Any]] = {}
    for each in fresh.values():
        for reservation_id, (flavor_id, spans) in each.claims.items():
            claims.setdefault(flavor_id, {})[reservation_id] = spans
    for flavor_id, of_flavor in claims.items():
        anew = TakenOverTime(itertools.chain.from_iterable(of_flavor.values()))
        if taken[flavor_id].left_of(0).at_most(0) != anew.left_of(0).at_most(0):
            yield f"slots of flavor {flavor_id}"


def _plain(kept: kept_hosts._Kept) -> dict[str, Any]:
    """What a decision may read of a host."""
    host, now = kept.host, datetime.datetime.min
    values = {f.name: getattr(host, f.name) for f in dataclasses.fields(host)}
    del values["generation"]
    values["properties"] = {n: v for n, v in host.properties.items() if n not in _UNKEPT}
    values["holdings"] = sorted(map(repr, host.holdings))
    values["closed"] = sorted(repr(each) for each in host.closed if each.span.end > now)
    return {**values, "claims": dict(kept.claims)}
