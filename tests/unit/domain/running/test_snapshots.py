"""Snapshots: the names and the properties of their images, and what is done before an end."""

import datetime
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warre_blazar.domain.running import snapshots
from warre_blazar.domain.running.snapshots import (
    ServerSnapshot,
    Status,
    image_name,
    image_properties,
    plain,
)
from warre_blazar.errors import exceptions

AT = datetime.datetime(2026, 12, 1, 10, 30)


def snapshot(name: str | None = "web", number: int = 1) -> ServerSnapshot:
    return ServerSnapshot("1234567890", "server-1", number, "p", name, Status.WAITING, AT)


NAMES = [
    ("training", "web", "training, web, 2026-12-01 10:30 UTC"),
    (None, "web", "reservation 12345678, web, 2026-12-01 10:30 UTC"),
    ("x", None, "x, server-1, 2026-12-01 10:30 UTC"),
    ("a\nb", "😀", "a?b, ?, 2026-12-01 10:30 UTC"),
    ("x", " ", "x, ?, 2026-12-01 10:30 UTC"),
    ("é", "日本", "é, 日本, 2026-12-01 10:30 UTC"),
]


@pytest.mark.parametrize(("reservation", "server", "name"), NAMES)
def test_name_says_reservation_server_and_time(reservation, server, name):
    assert image_name(snapshot(server), reservation) == name


@given(st.text(max_size=300), st.text(max_size=300))
def test_nova_accepts_any_name(reservation: str, server: str):
    """Nova's rule: 1 to 255 printable characters up to U+FFFF, without spaces at the ends."""
    name = image_name(snapshot(server), reservation)
    assert 1 <= len(name) <= 255
    assert name == name.strip()
    assert name.isprintable()
    assert all(c < "\uffff" for c in name)
    assert plain(name) == name


def test_properties_tell_snapshots_apart():
    first, second = (image_properties(snapshot(number=number)) for number in (1, 2))
    assert first != second
    assert all(isinstance(value, str) for value in first.values())


@pytest.mark.parametrize(
    ("chosen", "of_flavor", "site"),
    list(itertools.product([None, "nothing", "snapshot"], [None, "nothing", "snapshot"], "ab")),
)
def test_the_nearest_one_decides(chosen, of_flavor, site):
    said = [each for each in (chosen, of_flavor, site) if each is not None]
    assert snapshots.effective_before_end(chosen, of_flavor, site) == said[0]


def test_words_are_those_of_the_field():
    words = (snapshots.NOTHING, snapshots.SNAPSHOT)
    assert snapshots.ReservationFields.before_end.kind.words == words
    assert [snapshots.checked_before_end(word) for word in (*words, None)] == [*words, None]
    with pytest.raises(exceptions.InvalidField):
        snapshots.checked_before_end("default")
