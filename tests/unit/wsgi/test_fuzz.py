"""Hostile bodies of v1 leases: the cloud goes on. ``tools/fuzz`` does many more of them."""

from tests.unit.wsgi.fuzzing import Fuzz
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


def test_blazar_alone_does_not(site: WholeSite):
    """The watch sees what it is there for."""

    def stock(environ, start_response):
        # Blazar fails on some requests outright.
        try:
            return blazar(environ, start_response)
        except Exception:
            start_response("500 Failed", [("Content-Type", "application/json")])
            return [b"{}"]

    blazar = site.stock_app()
    report = Fuzz(site, stock).run(EXAMPLES, seed=1)
    for wanted in ("an event without a lease", "lease CREATING", "lease ERROR", "lease PENDING"):
        assert any(wrong.startswith(wanted) for wrong in report.wrong), wanted
