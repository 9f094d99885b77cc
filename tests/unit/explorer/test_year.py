"""Some days of a busy site break nothing, and the judge of a year finds what is broken."""

import pytest
import sqlalchemy as sa

from tests.explorer.world import MOVES_PER_BOOKING, World
from tests.explorer.year import Year
from tests.explorer.year_judge import Broken, YearJudge

DAYS = 9
_RESERVATIONS = "(SELECT r.id FROM reservations r JOIN leases l ON l.id = r.lease_id {})"
ONE_BEGUN = _RESERVATIONS.format("WHERE l.status = 'ACTIVE' LIMIT 1")
ONE_WAITING = _RESERVATIONS.format("WHERE l.status = 'PENDING' LIMIT 1")


def pass_days(world: World) -> Year:
    year = Year(world, 1, DAYS, MOVES_PER_BOOKING)
    year.run()
    return year


@pytest.fixture
def judge(world: World) -> YearJudge:
    """The judge at the end of the days, which have passed without a complaint."""
    found = world.restore("year", pass_days).judge
    assert isinstance(found, YearJudge)
    return found


@pytest.mark.slow
def test_days_of_a_site_break_nothing(judge: YearJudge):
    judge.look()
    numbers = judge.numbers()
    assert numbers["judged minutes"] == DAYS * 24 * 60 * 10
    assert numbers["oversold minutes"] == 0
    assert numbers["moved before its claim"]


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        (
            "UPDATE computehost_allocations SET compute_host_id = (SELECT id FROM computehosts"
            f" WHERE id != compute_host_id LIMIT 1) WHERE reservation_id = {ONE_BEGUN}",
            "was moved after its claim",
        ),
        (
            f"DELETE FROM computehost_allocations WHERE reservation_id = {ONE_WAITING}",
            "has {}",
        ),
        (
            "UPDATE computehost_allocations SET compute_host_id = (SELECT MIN(id) FROM"
            " computehosts) WHERE reservation_id IN "
            + _RESERVATIONS.format("WHERE l.status = 'PENDING'"),
            "VCPU of 8",
        ),
        (
            "UPDATE leases SET status = 'PENDING' WHERE status = 'ACTIVE'",
            "hasn't begun",
        ),
        (
            "UPDATE leases SET status = 'ACTIVE' WHERE status = 'PENDING'",
            "has begun early",
        ),
        (
            "UPDATE leases SET start_date = end_date WHERE status = 'ACTIVE'",
            "isn't Promise",
        ),
        (
            "UPDATE leases SET end_date = '2000-01-01' WHERE status = 'ACTIVE'",
            "is lost",
        ),
    ],
)
def test_judge_finds_what_is_broken(world: World, judge: YearJudge, statement: str, complaint: str):
    with world.engine.begin() as db:
        assert db.execute(sa.text(statement)).rowcount
    with pytest.raises(Broken) as raised:
        judge.look()
    assert complaint in str(raised.value)


def test_judge_finds_a_reservation_that_is_not_open(world: World, judge: YearJudge):
    world.cloud.nova.flavors.clear()
    with pytest.raises(Broken, match="isn't open"):
        judge.look()


def test_days_with_the_same_seed_are_the_same(world: World):
    lines = []
    for _ in range(2):
        year = Year(world, 2, 2, MOVES_PER_BOOKING)
        year.run()
        lines.append(year.lines())
    assert lines[0] == lines[1]
