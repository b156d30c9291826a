"""One browser for a file of tests."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from tests.browser.dashboard_site import AXE, launch

from cadenza.surfaces.dashboard.pages import STATIC

expect.set_options(timeout=15_000)  # A busy machine is slow, not wrong.


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, with a dashboard to look at."""
    assert (STATIC / "index.html").is_file(), "The dashboard is not built; run `scripts/test`."
    assert AXE.is_file(), "web/node_modules is missing; run `npm ci` in web."
    with sync_playwright() as playwright:
        chromium = launch(playwright)
        yield chromium
        chromium.close()
