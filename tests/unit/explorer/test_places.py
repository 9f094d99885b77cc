"""The explorer's judge finds out whether instances can keep their devices."""

import pytest

from tests.explorer.places import Stay, exists


def stays(*facts: tuple[int, int, int]) -> list[Stay]:
    return [Stay([(f"{start:02}", f"{end:02}")], units) for start, end, units in facts]


@pytest.mark.parametrize(
    ("devices", "wanted", "possible"),
    [
        ((2, 2), stays((0, 9, 2), (0, 9, 2)), True),
        ((2, 2), stays((0, 9, 2), (0, 9, 1), (0, 9, 1)), True),
        ((2, 2), stays((0, 9, 2), (0, 9, 2), (8, 9, 1)), False),
        ((2, 2), stays((0, 5, 2), (0, 5, 2), (5, 9, 2), (5, 9, 2)), True),
        ((2, 2), stays((0, 2, 2), (0, 2, 1), (1, 4, 1), (2, 3, 2), (3, 4, 2)), True),
        ((2, 1), stays((0, 2, 2), (1, 4, 1), (3, 4, 2)), True),
        ((2, 1), stays((0, 2, 2), (0, 4, 1), (2, 4, 1), (3, 4, 2)), False),
        ((2, 2), stays((0, 2, 2), (0, 6, 1), (1, 6, 1), (5, 6, 2)), True),
        ((2, 2), stays((0, 2, 2), (1, 6, 1), (2, 4, 2), (3, 6, 1), (5, 6, 2)), True),
        ((), stays((0, 1, 1)), False),
        ((), [], True),
    ],
)
def test_places(devices: tuple[int, ...], wanted: list[Stay], possible: bool):
    assert exists(wanted, devices) is possible


def test_instance_that_would_have_to_change_its_device():
    """At each moment it fits: a whole device, and two halves that must share the other device."""
    first, both, second = stays((0, 5, 1), (0, 8, 1), (3, 8, 1))
    beside_first, beside_second = stays((0, 3, 2), (5, 8, 2))
    assert exists([first, both, second, beside_first], (2, 2))
    assert exists([first, both, second, beside_second], (2, 2))
    assert not exists([first, both, second, beside_first, beside_second], (2, 2))


def test_promised_time_counts_as_well():
    moved = Stay([("00", "02"), ("04", "06")], 2)
    assert exists([moved, *stays((2, 4, 2))], (2,))
    assert not exists([moved, *stays((3, 5, 1))], (2,))
