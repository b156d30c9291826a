"""How soon pages of the dashboard show something in a real Chromium, in front of the real program."""

from pathlib import Path
from statistics import median
from typing import NamedTuple

from playwright.sync_api import Browser, BrowserContext, sync_playwright
from tests.browser.dashboard_site import WIDE, launch, site

FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


class View(NamedTuple):
    """A page, and what is there when it shows its data."""

    name: str
    path: str
    shown: str


VIEWS = (
    View("overview", "/", ".figures"),
    View("endpoints", "/endpoints", ".table-body .table-row"),
    View("endpoint", "/endpoints/endpoint-7", "main canvas, main svg.timeline, main table"),
    View("runs", "/runs", ".runs tbody tr"),
    View("job", "/jobs/default", ".table-body .table-row"),
    View("alerts", "/alerts", ".conditions > li, .empty"),
    View("agents", "/agents?user=user-0000", ".schedule-list li"),
    View("daily", "/daily", ".figures"),
    View("planners", "/planners", ".analyses li"),
    View("simulator", "/simulator", ".run-chart svg"),
)


def measure_in_chromium(folder: Path, key: str, laps: int) -> dict[str, dict[str, float]]:
    """Milliseconds from the start of the navigation to the first content, and to the page's data."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        with site(folder, browser, CADENZA_DAILY="false") as running:
            results = _measure_pages(browser, running.address, key, laps)
        browser.close()
    return results


def _measure_pages(browser: Browser, address: str, key: str, laps: int) -> dict[str, dict[str, float]]:
    context = browser.new_context(base_url=address, viewport=WIDE)
    assert context.request.post("/v1/session", data={"key": key}).ok
    results = {}
    for view in VIEWS:
        took = [_measure_page(context, view) for _ in range(laps)]
        paints, datas = zip(*took, strict=True)
        results[view.name] = {
            "first_content_ms": round(median(paints)),
            "data_ms": round(median(datas)),
            "slowest_data_ms": round(max(datas)),
        }
    context.close()
    return results


def _measure_page(context: BrowserContext, view: View) -> tuple[float, float]:
    page = context.new_page()
    page.goto(view.path, wait_until="commit")
    page.wait_for_selector(view.shown)
    shown = page.evaluate("performance.now()")
    painted = page.evaluate(FIRST_PAINT)
    page.close()
    return painted, shown
