"""Hostile bodies of v1 leases don't harm the cloud. ``tools/fuzz`` sends many more of them."""

import pytest

from tests.unit.wsgi.fuzzing import Fuzz, stock
from tests.unit.wsgi.whole import WholeSite

pytestmark = pytest.mark.slow
EXAMPLES = 150


def test_hostile_bodies_leave_the_cloud_working(site: WholeSite):
    report = Fuzz(site, site.app).run(EXAMPLES, seed=1)
    assert report.wrong == []
    assert report.controls > EXAMPLES // 20
    # Not all requests are refused by the checks.
    assert report.statuses[200] > EXAMPLES // 30
    assert report.statuses[201] > EXAMPLES // 30
    assert sum(report.statuses.values()) == EXAMPLES


def test_hostile_bodies_break_stock_blazar(site: WholeSite, monkeypatch: pytest.MonkeyPatch):
    """This shows that the fuzzer notices broken leases."""
    monkeypatch.setattr(site._manager.enforcement, "enabled_filters", [])
    report = Fuzz(site, stock(site)).run(EXAMPLES, seed=3)
    for wanted in ("an event without a lease", "lease UPDATING", "lease ERROR"):
        assert any(wrong.startswith(wanted) for wrong in report.wrong), wanted
