"""Checks pages for faults that keep people from using them."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def no_serious_faults(page: Page) -> None:
    """Check the part of the page that is ours with axe."""
    found = Axe().run(page, context=".flavor-reservations")
    serious = [
        (violation["id"], [node["html"][:200] for node in violation["nodes"]])
        for violation in found.response["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
    assert not serious, serious
