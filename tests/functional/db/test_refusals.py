"""Refused requests: how many are kept and counted, and what became of them in usage."""

import datetime
import itertools
import threading

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, world
from tests.functional.db.fake_clock import FakeClock
from tests.functional.db.test_statements import counted
from warre_blazar.db import session
from warre_blazar.db.records import refusals as stored
from warre_blazar.db.records.refusals import RefusalFilter
from warre_blazar.db.records.usage import UsageFilter
from warre_blazar.domain.records.refusals import Asked
from warre_blazar.domain.timeline import Span
from warre_blazar.services.records import history, refusals, usage

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)
DAY = datetime.timedelta(days=1)
NOON = world.NOW + DAY / 2


def asked(project_id: str = world.PROJECT, flavor: str = "f", user_id: str = "user") -> Asked:
    return Asked(project_id, user_id, flavor, 2, SPAN)


def refuse(at: datetime.datetime = NOON, most: int = 100, code: str = "maintenance", **more: str):
    session.change(stored.add, asked(**more), code, at, most)


def counts(window: Span, by: str | None = None, **wanted: str) -> dict:
    sums = usage.report(UsageFilter(window=window, **wanted), by, NOON)
    return {key: dict(each.refusals) for key, each in sums.items()}


def test_refusal_has_what_was_asked(cloud: Cloud):
    flavor = world.add_flavor(name="gpu")
    refuse(flavor="gpu")
    (found,), total = refusals.listing(RefusalFilter(), None, 0)
    assert total == 1
    assert (found.at, found.code, found.project_id) == (NOON, "maintenance", world.PROJECT)
    assert (found.user_id, found.count, found.span) == ("user", 2, SPAN)
    assert (found.flavor_id, found.flavor_name) == (flavor.id, "gpu")


def test_flavor_that_the_project_may_not_know_is_not_named(cloud: Cloud):
    world.add_flavor(name="secret", is_public=False)
    refusals.write(asked(flavor="secret"), "flavor_not_accessible", 100)
    ((found,), _) = refusals.listing(RefusalFilter(), None, 0)
    assert (found.code, found.flavor_id) == ("flavor_not_found", None)


def test_ambiguous_name_names_no_flavor(cloud: Cloud):
    for _ in range(2):
        world.add_flavor(name="twin")
    refuse(flavor="twin")
    ((found,), _) = refusals.listing(RefusalFilter(), None, 0)
    assert found.flavor_id is None


def test_more_than_the_limit_is_only_counted():
    for _ in range(5):
        refuse(most=3)
    refuse(most=3, code="too_long")
    refuse(most=3, project_id="other")
    refuse(NOON + DAY, most=3)
    assert refusals.listing(RefusalFilter(), None, 0)[1] == 5
    both = {"maintenance": 7, "too_long": 1}
    assert counts(Span(world.NOW, NOON + 2 * DAY)) == {None: both}
    by_day = counts(Span(world.NOW, NOON + 2 * DAY), "day")
    assert by_day == {
        NOON.date(): {"maintenance": 6, "too_long": 1},
        (NOON + DAY).date(): {"maintenance": 1},
    }
    by_project = counts(Span(world.NOW, NOON + 2 * DAY), "project")
    assert by_project == {
        world.PROJECT: {"maintenance": 6, "too_long": 1},
        "other": {"maintenance": 1},
    }
    # Nobody knows who sent those that were only counted.
    by_user = counts(Span(world.NOW, NOON + 2 * DAY), "user")
    assert by_user == {"user": {"maintenance": 5}, None: {"maintenance": 2, "too_long": 1}}
    assert counts(Span(world.NOW, NOON + 2 * DAY), user_id="user") == {None: {"maintenance": 5}}


def test_counts_add_up_in_any_cut():
    for hour in range(24):
        refuse(world.NOW + hour * DAY / 24, most=10)
    cuts = [world.NOW - DAY, world.NOW, NOON, NOON + DAY / 6, world.NOW + DAY, world.NOW + 2 * DAY]
    parts = [counts(Span(*pair))[None].get("maintenance", 0) for pair in itertools.pairwise(cuts)]
    assert parts == [0, 24, 0, 0, 0]
    assert sum(parts) == counts(Span(cuts[0], cuts[-1]))[None]["maintenance"]


@pytest.mark.parametrize("code", ["invalid_field", "service_unavailable", "invalid_state"])
def test_other_errors_are_not_counted(database: sa.Engine, code: str):
    refusals.write(asked(), code, 100)
    assert databases.dump(database) == {}


def test_database_failure_changes_no_answer(monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise db_exc.DBConnectionError

    monkeypatch.setattr(stored, "add", fail)
    refusals.write(asked(), "too_long", 100)


def test_limit_is_exact_with_simultaneous_requests(database: sa.Engine):
    failures: list[BaseException] = []

    def flood() -> None:
        try:
            for _ in range(10):
                refuse(most=15)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=flood) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert refusals.listing(RefusalFilter(), None, 0)[1] == 15
    assert counts(Span(world.NOW, NOON + DAY)) == {None: {"maintenance": 40}}


@pytest.fixture
def clock(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    monkeypatch.setattr(refusals, "_surplus", refusals._Surplus())
    return clock


def test_flood_costs_no_statements(database: sa.Engine, clock: FakeClock):
    today = Span(timeutils.utcnow() - DAY, timeutils.utcnow() + DAY)
    for code in ("too_long", "too_long", "maintenance", "maintenance"):
        refusals.write(asked(), code, 2)
    with counted(database) as statements:
        for _ in range(100):
            refusals.write(asked(), "too_long", 2)
    # The first number is written at once, the others a second later.
    assert len(statements) <= 4
    clock.seconds += 1
    assert counts(today) == {None: {"too_long": 102, "maintenance": 2}}
    assert refusals.listing(RefusalFilter(), None, 0)[1] == 2


def test_numbers_outlive_a_failure_of_the_database(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
):
    today = Span(timeutils.utcnow() - DAY, timeutils.utcnow() + DAY)
    for _ in range(3):
        refusals.write(asked(), "too_long", 1)

    def fail(*_: object) -> None:
        raise db_exc.DBConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(stored, "add_numbers", fail)
        clock.seconds += 1
        refusals.write(asked(), "too_long", 1)
    clock.seconds += 1
    assert counts(today) == {None: {"too_long": 4}}


def test_other_projects_are_kept_beside_a_flood(clock: FakeClock):
    for _ in range(5):
        refusals.write(asked(), "too_long", 2)
    refusals.write(asked(project_id="other"), "too_long", 2)
    assert refusals.listing(RefusalFilter(project_id="other"), None, 0)[1] == 1


def test_next_day_is_kept_again(clock: FakeClock):
    surplus = refusals._Surplus()
    surplus.fill("p", NOON.date())
    assert surplus.takes("p", NOON.date(), "too_long")
    assert not surplus.takes("p", (NOON + DAY).date(), "too_long")
    assert not surplus.takes("other", NOON.date(), "too_long")


def test_old_refusals_are_purged(database: sa.Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(history, "_BATCH", 2)
    for _ in range(5):
        refuse(world.NOW)
    refuse(world.NOW + 20 * DAY)
    history.purge(world.NOW + 25 * DAY, 10)
    assert refusals.listing(RefusalFilter(), None, 0)[1] == 1
    assert len(databases.dump(database)["warre_refusal_counts"]) == 2


def test_pages_and_filters(cloud: Cloud):
    flavor = world.add_flavor()
    refuse(NOON, code="too_long", flavor=flavor.id)
    refuse(NOON + DAY, user_id="another")
    refuse(NOON + 2 * DAY, project_id="other")

    def found(limit: int | None = None, offset: int = 0, **wanted: object) -> list[int]:
        page, _ = refusals.listing(RefusalFilter(**wanted), limit, offset)
        return [(each.at - NOON).days for each in page]

    assert found() == [2, 1, 0]
    assert found(1, 1) == [1]
    assert found(code="too_long") == [0]
    assert found(flavor_id=flavor.id) == [0]
    assert found(user_id="another") == [1]
    assert found(project_id="other") == [2]
    assert found(after=NOON + DAY, before=NOON + 2 * DAY) == [1]
