"""Pages count by the clock of the scheduler, which may run faster than that of the browser."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from playwright.sync_api import Browser, Locator, expect
from tests.browser.dashboard_site import site

SPEED = 60
AN_ENDPOINT = {
    "id": "far",
    "name": "far",
    "target": {"kind": "http", "url": "http://127.0.0.1:9/"},
    "baseline": {"kind": "cron", "expression": "0 0 29 2 *"},
}


def moment(chart: Locator) -> float:
    return datetime.fromisoformat(chart.get_attribute("data-to") or "").timestamp()


def looked_at(chart: Locator) -> Iterator[float]:
    """The moments that it shows while it is drawn anew; then the server tells it the true one."""
    for _ in range(20):
        yield moment(chart)
        chart.page.wait_for_timeout(50)


def test_a_page_runs_as_fast_as_the_scheduler(browser: Browser, tmp_path: Path) -> None:
    demo = ("--demo", "--speed", str(SPEED))
    with site(tmp_path, browser, *demo, CADENZA_DEMO_PORT="0") as program, program.visit() as visit:
        program.ask("POST /v1/jobs", {"id": "job", "name": "job"})
        program.ask("POST /v1/jobs/job/endpoints", AN_ENDPOINT)
        visit.page.clock.install()
        page = visit.go("/endpoints/far")
        expect(page.locator(".live")).to_have_text("Live")
        chart = page.get_by_role("group", name=re.compile("^Timeline"))
        before = moment(chart)
        page.clock.fast_forward(10_000)
        assert any(590 < one - before < 1_200 for one in looked_at(chart)), (
            "ten seconds are ten minutes there"
        )
