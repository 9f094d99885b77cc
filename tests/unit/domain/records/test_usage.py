"""Usage against a second-by-second simulation, in any cut of time."""

import collections
import datetime
import itertools
import random
import zoneinfo

import pytest

from tests.unit.domain import lives
from tests.unit.domain.lives import Simulated, at, text
from warre_blazar.domain.records import usage
from warre_blazar.domain.records.changes import MISSING_INSTANCES, Change, ChangeKind
from warre_blazar.domain.records.usage import Amounts, Life, Record
from warre_blazar.domain.timeline import Span

SECONDS = 240
#: Plans reach beyond the simulated time.
LATEST = 3 * SECONDS


def record(life: Simulated, used: dict[datetime.date, int] | None = None) -> Record:
    return Record(Life.of(life.reservation, life.log), used or {}, at(SECONDS))


@pytest.mark.parametrize("seed", range(250))
def test_simulated_life_in_random_cuts(seed: int):
    chance = random.Random(seed)
    life = Simulated(chance, SECONDS)
    found = record(life)
    by_second = [life.amounts(second) for second in range(LATEST)]
    cuts = sorted({0, LATEST, *(chance.randrange(LATEST) for _ in range(8))})
    for start, end in itertools.pairwise(cuts):
        expected = Amounts(*map(sum, zip(*by_second[start:end], strict=True)))
        assert found.over(Span(at(start), at(end))) == expected, (start, end, life.log)


def test_simulations_reach_every_quantity():
    """The comparison would show nothing about a quantity that never occurs."""
    totals: collections.Counter[str] = collections.Counter()
    for seed in range(250):
        life = Simulated(random.Random(seed), SECONDS)
        found = record(life).over(Span(at(0), at(LATEST)))
        totals.update({name: n > 0 for name, n in found._asdict().items()})
    assert min(totals[name] for name in usage.QUANTITIES if name != "used") > 20


@pytest.mark.parametrize("seed", range(50))
def test_used_time_adds_up_in_any_cut(seed: int):
    chance = random.Random(seed)
    life = Simulated(chance, SECONDS)
    by_day = {ORIGIN_DAY + datetime.timedelta(days=n): chance.randint(1, 999) for n in range(2)}
    found = record(life, by_day)
    cuts = sorted({-90000, 90000, *(chance.randrange(-90000, 90000) for _ in range(6))})
    parts = [found.over(Span(at(a), at(b))) for a, b in itertools.pairwise(cuts)]
    assert sum(part.used for part in parts) == sum(by_day.values())
    assert found.over(Span(at(-(10**5)), at(10**5))).used == sum(by_day.values())
    whole = found.over(Span(at(60), at(60 + 86400)))
    assert whole.used == by_day[ORIGIN_DAY + datetime.timedelta(days=1)]


ORIGIN_DAY = lives.ORIGIN.date()


def simulated(**values: object) -> Simulated:
    """A reservation of two instances from second 100 to second 200 to which nothing happens."""
    life = Simulated(random.Random(1), 2)
    defaults = {"start": 100, "end": 200, "count": 2, "log": [], "deleted": None}
    for name, value in {**defaults, "running": False, "ended_once": False, **values}.items():
        setattr(life, name, value)
    return life


def rescheduled(now: int, start: int, ends: tuple[int, int]) -> Change:
    before, after = ({"start": text(start), "end": text(end)} for end in ends)
    return Change(at(now), ChangeKind.RESCHEDULED, "user", before, after)


STARTED, ENDED = Change(at(100), ChangeKind.STARTED), Change(at(200), ChangeKind.ENDED)
MOVED = Change(
    at(10),
    ChangeKind.RESCHEDULED,
    "user",
    {"start": text(100), "end": text(200)},
    {"start": text(400), "end": text(500)},
)

CASES = {
    "it ran as booked": (
        {"log": [STARTED, ENDED], "ended_once": True},
        Amounts(booked=200, held=200),
    ),
    "it will begin": ({"start": 500, "end": 600}, Amounts(booked=200)),
    "it was deleted before its start": ({"deleted": 99}, Amounts(booked=200, cancelled=200)),
    "it was deleted at its start": ({"deleted": 100}, Amounts(booked=200, cancelled=200)),
    "it was deleted while it ran": (
        {"log": [STARTED, Change(at(150), ChangeKind.ENDED)], "deleted": 152, "ended_once": True},
        Amounts(booked=200, held=100, given_back=100),
    ),
    "it was shortened while it ran": (
        {
            "log": [STARTED, rescheduled(110, 100, (200, 120)), Change(at(121), ChangeKind.ENDED)],
            "end": 120,
            "ended_once": True,
        },
        Amounts(booked=200, held=42, given_back=158),
    ),
    "it was extended while it ran": (
        {
            "log": [STARTED, rescheduled(190, 100, (200, 210)), Change(at(210), ChangeKind.ENDED)],
            "end": 210,
            "ended_once": True,
        },
        Amounts(booked=220, held=220),
    ),
    "it was moved before its start": (
        {"log": [MOVED], "start": 400, "end": 500},
        Amounts(booked=200),
    ),
    "it never started": ({}, Amounts(booked=200, lost=200)),
    "it started late and ended late": (
        {
            "log": [Change(at(130), ChangeKind.STARTED), Change(at(205), ChangeKind.ENDED)],
            "ended_once": True,
        },
        Amounts(booked=200, held=150, lost=60),
    ),
    "a service refused to open it at first": (
        {
            "log": [
                STARTED,
                Change(at(100), ChangeKind.REFUSED),
                Change(at(140), ChangeKind.OPENED),
                ENDED,
            ],
            "ended_once": True,
        },
        Amounts(booked=200, held=200, lost=80),
    ),
    "a host failed": (
        {
            "log": [
                STARTED,
                Change(at(150), ChangeKind.MISSING, after={MISSING_INSTANCES: 1}),
                Change(at(160), ChangeKind.MISSING, after={MISSING_INSTANCES: 0}),
                ENDED,
            ],
            "ended_once": True,
        },
        Amounts(booked=200, held=200, lost=10),
    ),
    "it has no log and is over": ({"ended_once": True}, Amounts(booked=200, held=200)),
    "it has no log and is running": (
        {"running": True, "end": 900},
        Amounts(booked=1600, held=280),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_case(case: str):
    values, expected = CASES[case]
    assert record(simulated(**values)).over(Span(at(0), at(1000))) == expected


def test_days_of_a_span():
    start, end = datetime.datetime(2100, 1, 1, 12), datetime.datetime(2100, 1, 3)
    assert list(usage.parts(Span(start, end))) == [
        (datetime.date(2100, 1, 1), Span(start, datetime.datetime(2100, 1, 2))),
        (datetime.date(2100, 1, 2), Span(datetime.datetime(2100, 1, 2), end)),
    ]
    assert list(usage.parts(Span(end, end))) == []


@pytest.mark.parametrize("name", ["Australia/Melbourne", "America/Sao_Paulo", "Pacific/Apia"])
@pytest.mark.parametrize("part", usage.PARTS)
def test_parts_in_a_zone_begin_at_its_midnight(part: str, name: str):
    """Sao Paulo has put its clocks forward at midnight, and Apia has left out a day."""
    zone = zoneinfo.ZoneInfo(name)
    window = Span(datetime.datetime(2011, 9, 30, 13, 7), datetime.datetime(2012, 3, 5, 2))
    found = list(usage.parts(window, part, zone))
    spans = [span for _, span in found]
    assert (spans[0].start, spans[-1].end) == (window.start, window.end)
    assert all(one.end == other.start for one, other in itertools.pairwise(spans))
    for moment in (window.start + n * datetime.timedelta(minutes=30) for n in range(7400)):
        ((first, _),) = [each for each in found if each[1].start <= moment < each[1].end]
        local = moment.replace(tzinfo=datetime.UTC).astimezone(zone).date()
        if part == "day":
            assert first == local
        elif part == "month":
            assert first == local.replace(day=1)
        else:
            assert first.weekday() == 0 and 0 <= (local - first).days < 7


def test_sum_has_hours_of_each_resource_class():
    total = usage.Sum()
    total.add(Amounts(booked=10, held=4), {"VCPU": 2, "CUSTOM_GPU": 1})
    total.add(Amounts(booked=1), {"VCPU": 4})
    total.add(Amounts(), {"VCPU": 4})
    assert total.reservations == 2
    assert total.instances == Amounts(booked=11, held=4)
    assert dict(total.resources) == {
        "VCPU": Amounts(booked=24, held=8),
        "CUSTOM_GPU": Amounts(booked=10, held=4),
    }
