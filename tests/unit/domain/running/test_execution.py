"""How long before it is due an action is claimed."""

import datetime

from warre_blazar.domain.running.execution import END, LEAD, START, lead


def test_many_starts_are_claimed_a_minute_before_at_most():
    assert lead(START, 10_000) == datetime.timedelta(minutes=1)
    assert (lead(START, 1), lead(END, 10_000)) == (LEAD[START], LEAD[END])
