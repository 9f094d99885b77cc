"""Which refusals are noted."""

import pytest

from warre_blazar.api import operations
from warre_blazar.domain.records.refusals import counted_code

#: Codes of bookings that aren't the refusal of a rule: the site isn't set up.
NO_REFUSALS = {"limits_not_registered"}


@pytest.mark.parametrize("code", sorted({*operations._BOOKABLE} - NO_REFUSALS))
def test_every_rule_about_bookings_counts(code: str):
    assert counted_code(code) is not None


@pytest.mark.parametrize("code", ["invalid_field", "forbidden", "service_unavailable"])
def test_what_is_no_refusal_of_a_rule_does_not_count(code: str):
    assert counted_code(code) is None
