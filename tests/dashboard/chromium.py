"""The browser of the tests that look at what people see."""

import contextlib
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright


@contextlib.contextmanager
def started() -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.fail("no chromium: install Debian's package chromium", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
