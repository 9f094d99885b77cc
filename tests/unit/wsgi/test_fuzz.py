"""Hostile bodies of v1 leases: the cloud goes on. ``tools/fuzz`` does many more of them."""

import pytest

from tests.unit.wsgi.fuzzing import Fuzz, stock
from tests.unit.wsgi.whole import WholeSite

EXAMPLES = 150


def test_the_cloud_goes_on(site: WholeSite):
    report = Fuzz(site, site.app).run(EXAMPLES, seed=1)
    assert report.wrong == []
    assert report.controls > EXAMPLES // 20
    # It isn't all refused at the door.
    assert report.statuses[200] > EXAMPLES // 30
    assert report.statuses[201] > EXAMPLES // 30
    assert sum(report.statuses.values()) == EXAMPLES


def test_blazar_alone_does_not(site: WholeSite, monkeypatch: pytest.MonkeyPatch):
    """The watch sees what it is there for."""
    monkeypatch.setattr(site._manager.enforcement, "enabled_filters", [])
    report = Fuzz(site, stock(site)).run(EXAMPLES, seed=3)
    for wanted in ("an event without a lease", "lease UPDATING", "lease ERROR"):
        assert any(wrong.startswith(wanted) for wrong in report.wrong), wanted
