"""What is due for idle reservations, and when."""

import dataclasses
import datetime

from hypothesis import given
from hypothesis import strategies as st

from warre_blazar.domain.running.idle import IdleReservation, IdleStep

NOW = datetime.datetime(2100, 1, 1)


def at(hours: float) -> datetime.datetime:
    return NOW + datetime.timedelta(hours=hours)


USUAL = IdleReservation("r", "l", NOW, None, None, 2, 5, at(100))


def test_warns_and_then_ends() -> None:
    assert USUAL.step(at(1.9)) is IdleStep.NOTHING
    assert USUAL.step(at(2)) is IdleStep.WARN
    assert USUAL.ends_at(at(2)) == at(5)
    warned = dataclasses.replace(USUAL, warned_at=at(2))
    assert warned.step(at(4.9)) is IdleStep.NOTHING
    assert warned.step(at(5)) is IdleStep.END


def test_late_warning_leaves_the_whole_time() -> None:
    assert USUAL.step(at(50)) is IdleStep.WARN
    assert USUAL.ends_at(at(50)) == at(53)
    assert dataclasses.replace(USUAL, warned_at=at(50)).step(at(52.9)) is IdleStep.NOTHING


def test_change_of_the_time_begins_anew() -> None:
    changed = dataclasses.replace(USUAL, warned_at=at(2), changed_at=at(4))
    assert changed.step(at(5)) is IdleStep.NOTHING
    assert changed.step(at(6)) is IdleStep.WARN


def test_either_term_alone() -> None:
    only_end = dataclasses.replace(USUAL, warn_hours=None)
    assert [only_end.step(at(n)) for n in (4, 5)] == [IdleStep.NOTHING, IdleStep.END]
    only_warning = dataclasses.replace(USUAL, end_hours=None, warned_at=at(2))
    assert only_warning.step(at(99)) is IdleStep.NOTHING
    assert only_warning.ends_at(at(99)) is None


def test_end_that_comes_first_is_left_alone() -> None:
    short = dataclasses.replace(USUAL, end=at(5), warned_at=at(2))
    assert short.ends_at(at(2)) is None
    assert short.step(at(5)) is IdleStep.NOTHING


_HOURS = st.integers(0, 30)


@given(_HOURS, st.none() | _HOURS, st.none() | _HOURS, st.integers(1, 9), st.integers(1, 9), _HOURS)
def test_never_ends_before_the_terms_allow(
    idle: int, warned: int | None, changed: int | None, warn: int, more: int, now: int
) -> None:
    item = IdleReservation(
        *("r", "l", at(idle)),
        None if warned is None else at(warned),
        None if changed is None else at(changed),
        *(warn, warn + more, at(1000)),
    )
    if item.step(at(now)) is IdleStep.END:
        since = max(idle, changed or 0)
        assert now >= since + warn + more
        assert warned is not None and since <= warned <= now - more
