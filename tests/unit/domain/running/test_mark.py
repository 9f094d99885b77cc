"""Placement's mark is never the higher one, unless the database was restored."""

import enum

from hypothesis import given
from hypothesis import strategies as st

from warre_blazar.domain.running.mark import NO_MARK, Mark, is_replaced


class Turn(enum.Enum):
    """How far a turn gets before a kill or an outage."""

    WHOLE = enum.auto()
    NOTHING = enum.auto()
    ONLY_DATABASE = enum.auto()
    #: The last transaction is lost with the database's machine, after Placement was written.
    LOST = enum.auto()


class Site:
    """A database and a Placement."""

    def __init__(self) -> None:
        self.mark = NO_MARK
        self.placement = 0

    def turn(self, how: Turn = Turn.WHOLE) -> None:
        if how is Turn.NOTHING:
            return
        before = self.mark.seen_beside(self.placement)
        self.mark = before if before.is_older else before.next()
        if how is not Turn.ONLY_DATABASE and self.mark.number > before.number > self.placement:
            self.placement = before.number
        if how is Turn.LOST:
            self.mark = before


@given(st.lists(st.sampled_from(Turn), max_size=30))
def test_database_that_was_never_restored_is_never_older(turns: list[Turn]):
    site = Site()
    for how in turns:
        site.turn(how)
        assert site.placement <= site.mark.number
    assert not site.mark.seen_beside(site.placement).is_older


@given(st.integers(0, 20), st.lists(st.sampled_from(Turn), max_size=20))
def test_database_of_three_minutes_ago_is_older(first: int, later: list[Turn]):
    site = Site()
    for _ in range(first):
        site.turn()
    dumped = site.mark
    for how in later:
        site.turn(how)
    for _ in range(3):
        site.turn()
    site.mark = dumped
    assert site.mark.seen_beside(site.placement).is_older


def test_older_database_stays_older_until_it_is_accepted():
    older = Mark(5, None, "a").seen_beside(9)
    assert older == Mark(5, 9, "a")
    # Somebody removes what Placement has.
    assert older.seen_beside(0) == older
    accepted = older.accepted()
    assert (accepted.number, accepted.is_older) == (10, False)
    assert not accepted.seen_beside(9).is_older
    assert accepted.lineage not in ("", "a")


def test_database_that_was_replaced_under_a_process_is_noticed():
    known = Mark(9, None, "a")
    assert not is_replaced(NO_MARK, known)
    # A replica may be behind by one transaction.
    assert not is_replaced(Mark(1, None, "a"), NO_MARK)
    assert not is_replaced(known, Mark(8, None, "a"))
    assert not is_replaced(known, Mark(10, None, "a"))
    assert is_replaced(known, Mark(7, None, "a"))
    assert is_replaced(known, Mark(10, 9, "b"))
    assert is_replaced(known, NO_MARK)
