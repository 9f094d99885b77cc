"""The judge of what is told finds each kind of mistake, and lets a right telling pass."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.explorer import telling
from tests.explorer.telling import CHANNELS, DELIVERED, KEPT, Kept, Note

FIRST: dict[str, Any] = {"start": "10", "end": "14", "instance_count": 2, "name": None}
LONGER = {**FIRST, "end": "15"}
FEWER = {**LONGER, "instance_count": 1}
LIFE: Sequence[tuple[str, dict[str, Any]]] = [
    ("created", FIRST),
    ("rescheduled", LONGER),
    ("started", LONGER),
    ("resized", FEWER),
    ("ended", FEWER),
]
OVER = {"r": Kept("TERMINATED", FEWER)}


def notes(life: Sequence[tuple[str, dict[str, Any]]], *channels: str) -> list[Note]:
    return [Note(channel, "r", *each) for channel in channels or CHANNELS for each in life]


def wrong(life: Any, there: Any = OVER, *, may_repeat: bool = False) -> list[str]:
    """What the judge says if the channel of deliveries was told a life, and the other the truth."""
    told = [*notes(life, DELIVERED), *notes(LIFE, KEPT)]
    return telling.wrong(told, there, may_repeat=may_repeat)


def test_life_that_was_told_is_right():
    assert wrong(LIFE) == []


@pytest.mark.parametrize("number", range(len(LIFE)))
def test_each_dropped_notice_is_found(number: int):
    assert wrong([*LIFE[:number], *LIFE[number + 1 :]])


@pytest.mark.parametrize("number", range(len(LIFE) - 1))
def test_each_broken_order_is_found(number: int):
    first, second = LIFE[number : number + 2]
    assert wrong([*LIFE[:number], second, first, *LIFE[number + 2 :]])


@pytest.mark.parametrize("number", range(len(LIFE)))
def test_notice_that_is_told_twice_is_found_unless_a_manager_has_died(number: int):
    twice = [*LIFE[: number + 1], *LIFE[number:]]
    assert wrong(twice)
    assert wrong(twice, may_repeat=True) == []


def test_repetition_in_the_outbox_is_found_even_if_a_manager_has_died():
    told = [*notes(LIFE, DELIVERED), *notes([*LIFE, LIFE[-1]], KEPT)]
    assert telling.wrong(told, OVER, may_repeat=True)


@pytest.mark.parametrize(
    ("kind", "fields"), [("started", FIRST), ("deleted", FIRST), ("rescheduled", LONGER)]
)
def test_what_has_not_happened_is_found(kind: str, fields: dict[str, Any]):
    life = [("created", FIRST), (kind, fields)]
    assert telling.wrong(notes(life), {"r": Kept("PENDING", FIRST)}, may_repeat=False)


def test_reservation_of_which_nobody_has_heard_is_found():
    assert telling.wrong([], {"r": Kept("PENDING", FIRST)}, may_repeat=False)


def test_booking_that_was_told_and_is_not_there_is_found():
    assert telling.wrong(notes(LIFE[:1]), {}, may_repeat=False)
    gone = [*LIFE[:1], ("deleted", FIRST)]
    assert telling.wrong(notes(gone), {}, may_repeat=False) == []


def test_nothing_may_be_told_after_the_deletion():
    life = [("created", FIRST), ("deleted", FIRST), ("renamed", {**FIRST, "name": "new"})]
    assert telling.wrong(notes(life), {}, may_repeat=False)


def test_imported_reservation_needs_no_beginning():
    life = [("rescheduled", LONGER)]
    there = {"r": Kept("ACTIVE", LONGER, is_imported=True)}
    assert telling.wrong(notes(life), there, may_repeat=False) == []
