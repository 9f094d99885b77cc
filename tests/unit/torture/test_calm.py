"""How much undisturbed time there was."""

import pytest

from tests.torture.calm import RECOVERY, Absence, Absences


def absences(*times: tuple[str, float, float | None]) -> Absences:
    made = Absences()
    for service, began, back in times:
        made.begin(service, "kill -9", began).back = back
    return made


@pytest.mark.parametrize(
    ("times", "calm"),
    [
        pytest.param([], 100, id="nothing-away"),
        pytest.param([("mariadb", 10, 20)], 90 - RECOVERY, id="away-and-recovering"),
        pytest.param([("mariadb", 10, None)], 10, id="still-away"),
        pytest.param([("mariadb", -50, -RECOVERY)], 100, id="before"),
        pytest.param([("nova-api", 10, 20), ("rabbitmq", 15, 30)], 80 - RECOVERY, id="overlapping"),
        pytest.param([("blazar-api", 10, 20)], 100, id="not-needed"),
        pytest.param([("blazar-manager1", 10, 12)], 75, id="until-the-other-takes-over"),
    ],
)
def test_calm_seconds(times: list, calm: float):
    assert absences(*times).calm(0, 100) == calm


def test_what_was_away_or_recovering_meanwhile():
    away = absences(("mariadb", 10, 20), ("keystone", 50, None))
    for since, until, expected in (
        (0, 9, []),
        (0, 11, ["mariadb"]),
        (20 + RECOVERY - 1, 40, ["mariadb"]),
        (20 + RECOVERY + 1, 40, []),
        (60, 70, ["keystone"]),
    ):
        assert [each.service for each in away.during(since, until)] == expected


def test_absence_is_shown_with_its_way():
    assert str(Absence("mariadb", "hang", 0)) == "mariadb (hang)"
