"""The same seed gives the same choices, and all kinds of them are chosen."""

import itertools

import pytest

from tests.torture import choices, nonsense


def some(chosen, number: int = 2000) -> list:
    return list(itertools.islice(chosen, number))


@pytest.mark.parametrize("of", [lambda s: choices.of_user(s, 3), choices.of_outages])
def test_choices_are_the_seeds(of):
    assert some(of(7), 200) == some(of(7), 200)
    assert some(of(7), 200) != some(of(8), 200)


def test_users_choose_differently():
    assert some(choices.of_user(7, 1), 20) != some(choices.of_user(7, 2), 20)


def test_every_kind_way_and_nonsense_is_chosen():
    found = some(choices.of_user(1, 1, stock=True))
    for field, all_there_are in (
        ("kind", {*choices._KINDS, choices.STOCK}),
        ("way", set(choices._WAYS)),
        ("change", set(choices._CHANGES)),
        ("patience", set(choices._PATIENCE)),
    ):
        assert {getattr(choice, field) for choice in found} == all_there_are
    names = {nonsense.NAMES[choice.variant % len(nonsense.NAMES)] for choice in found}
    assert names == set(nonsense.NAMES)


def test_blazars_own_types_are_booked_only_where_they_are_exact():
    assert choices.STOCK not in {choice.kind for choice in some(choices.of_user(1, 1))}


def test_every_service_is_taken_away_in_every_way():
    found = {(each.target, each.way) for each in some(choices.of_outages(1))}
    assert {target for target, _ in found} == set(choices.TARGETS)
    for target in choices.TARGETS:
        ways = {way for each, way in found if each == target}
        every = {choices.KILL, choices.STOP, choices.HANG}
        assert ways == ({choices.KILL} if target.endswith(choices.WORKER) else every)
