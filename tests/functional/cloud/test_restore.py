"""A database of some minutes ago is restored, beside a Nova that has gone on."""

import dataclasses
import datetime
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from tests.functional.cloud import devcloud, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import LONG, until

pytestmark = pytest.mark.whole


def after_restore(*words: str) -> tuple[int, str]:
    """The exit status of ``audit --after-restore``, and what it prints."""
    config = devcloud.home() / "etc" / "blazar" / "blazar.conf"
    program = devcloud.home() / "venv" / "bin" / "warre-blazar-manage"
    command = [program, "--config-file", config, "audit", "--after-restore", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def in_an_hour() -> str:
    return f"{datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1):%Y-%m-%d %H:%M}"


def mark(records: Records) -> int:
    """The number in the database."""
    return max((row["number"] for row in records.rows("warre_marks")), default=0)


def put_back(rows: dict[sa.Table, list[dict[str, Any]]]) -> None:
    """Replace all rows of all tables."""
    engine = sa.create_engine(devcloud.database_url(), poolclass=sa.NullPool)
    with engine.begin() as db:
        db.execute(sa.text("SET FOREIGN_KEY_CHECKS = 0"))
        for table, values in rows.items():
            db.execute(table.delete())
            if values:
                db.execute(table.insert(), values)


def dumped() -> dict[sa.Table, list[dict[str, Any]]]:
    """All rows of all tables."""
    engine = sa.create_engine(devcloud.database_url(), poolclass=sa.NullPool)
    metadata = sa.MetaData()
    metadata.reflect(engine)
    with engine.begin() as db:
        return {
            table: [dict(row) for row in db.execute(sa.select(table)).mappings()]
            for table in metadata.sorted_tables
        }


@dataclasses.dataclass(frozen=True)
class Restored:
    flavor: dict[str, Any]
    #: Was deleted after the dump, and was booked after the dump.
    deleted: dict[str, Any]
    unknown: dict[str, Any]
    #: The server of the latter.
    server: Any


def running(who: Person, flavor: dict[str, Any]) -> dict[str, Any]:
    return world.becomes(who, world.booked_now(who, flavor), "ACTIVE")


@pytest.fixture(scope="module")
def restored(alpha: Person, shared_offer: Offer, records: Records) -> Iterator[Restored]:
    """Restore the database of at least three minutes ago. Its managers are held."""
    flavor = shared_offer(slots=2)
    deleted = running(alpha, flavor)
    until("the first marks", lambda: mark(records) > 1)
    number, rows = mark(records), dumped()
    alpha.ask("DELETE", f"/v2/reservations/{deleted['id']}/")
    unknown = running(alpha, flavor)
    server = alpha.boots(unknown["compute_flavor"], "functional-restore")
    until("a server", lambda: alpha.server_settles(server))
    until("three further marks", lambda: mark(records) > number + 3, 2 * LONG)
    devcloud.stop(devcloud.MANAGERS)
    try:
        put_back(rows)
    finally:
        devcloud.start(devcloud.MANAGERS)
    yield Restored(flavor, deleted, unknown, server)
    # Whatever has failed, the next tests need managers that work.
    after_restore("--accept", "--until", in_an_hour())


def test_restored_database_is_held_and_accepted(alpha: Person, restored: Restored):
    held = world.book(alpha, restored.flavor, world.far())
    assert held.status_code == 503
    assert int(held.headers["Retry-After"]) > 0
    status, said = after_restore()
    assert status == 1, said
    assert f"unknown  Reservation {restored.unknown['id']}" in said
    assert f"gone  Reservation {restored.deleted['id']}" in said
    assert restored.server.id in said
    assert after_restore("--accept")[0] == 2
    status, said = after_restore("--accept", "--until", in_an_hour())
    assert status == 0, said
    until(
        "managers to go on",
        lambda: world.book(alpha, restored.flavor, world.far()).status_code == 200,
    )
    assert world.show(alpha, restored.unknown)["status"] == "ACTIVE"
    assert alpha.server_settles(restored.server)
    gone = alpha.ask("GET", f"/v2/reservations/{restored.deleted['id']}/")
    assert gone.status_code == 404 or gone.json()["status"] == "COMPLETE"
