"""Start the demo, let it run for a while, and take pictures of the dashboard."""

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, BrowserContext, Page, StorageState, sync_playwright
from tests.browser.dashboard_site import A_LINK, launch
from tests.surfaces.server_process import UP, Program, running

SPEED = 30
WARM_UP_MS = 130_000
"""In real time: the whole sale, and enough after it that its start has left the charts."""
PAGE_SETTLE_MS = 1_500
SLIDER_SECOND = 1_200


class Screenshot(NamedTuple):
    """A screenshot: which page, its size, and its colours."""

    name: str
    path: str
    size: tuple[int, int]
    dark: bool = False


SCREENSHOTS = (
    Screenshot("overview", "/", (1280, 840)),
    Screenshot("endpoints", "/endpoints", (1280, 840)),
    Screenshot("endpoint", "/endpoints/traffic_monitor", (1280, 1000)),
    Screenshot("planners", "/planners", (1280, 840)),
    Screenshot("simulator", "/simulator", (1280, 1000)),
    Screenshot("daily", "/daily", (1280, 840)),
    Screenshot("agents", "/agents?user=ada&agent=helper", (1280, 840)),
    Screenshot("overview-dark", "/", (1280, 840), dark=True),
    Screenshot("endpoints-phone", "/endpoints", (390, 844), dark=True),
)


JOB = """
def serve(user_id, service_date):
    if user_id.endswith("7"):
        raise RuntimeError("always fails")
"""
DAILY_USERS = 400


def create_data(context: BrowserContext, program: Program) -> None:
    """Create an agent, a user, and users with a daily job, due in this hour and the next."""
    now = datetime.now(UTC)
    dues = [now + timedelta(minutes=3 + n * 90 // DAILY_USERS) for n in range(DAILY_USERS)]
    users = [{"user_id": f"user-{n:03}", "due_time": f"{due:%H:%M}"} for n, due in enumerate(dues)]
    for request, body in (
        ("PUT /v1/users/ada", {"timezone": "Europe/Berlin"}),
        ("PUT /v1/agents/helper", {"name": "Helper"}),
        ("POST /v1/daily/users", {"users": users}),
    ):
        method, path = request.split(" ")
        headers = {"authorization": f"Bearer {program.key}", "content-type": "application/json"}
        response = context.request.fetch(
            program.address + path, method=method, headers=headers, data=json.dumps(body)
        )
        assert response.ok, response.text()


@contextmanager
def job_folder() -> Iterator[Path]:
    """A folder with a daily job in it."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "work.py").write_text(JOB)
        yield Path(folder)


def converse(page: Page) -> None:
    """Have the agent schedule something, and wait until it has fired."""
    for message in ("every weekday at 9:00 tell me what is planned", "remind me in 1 minute to stretch"):
        page.get_by_role("textbox", name="Message to").fill(message)
        page.keyboard.press("Enter")
        page.wait_for_timeout(PAGE_SETTLE_MS)
    page.get_by_role("link", name="scheduled").first.wait_for()


def take_screenshot(
    screenshot: Screenshot, browser: Browser, folder: Path, *, address: str, state: StorageState
) -> None:
    """Take one screenshot."""
    width, height = screenshot.size
    context = browser.new_context(
        storage_state=state,
        viewport={"width": width, "height": height},
        color_scheme="dark" if screenshot.dark else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(address + screenshot.path)
    page.locator("main .card, main .table, main .endpoint").first.wait_for()
    page.wait_for_timeout(PAGE_SETTLE_MS)
    if screenshot.name == "agents":
        converse(page)
    if screenshot.name == "simulator":
        page.get_by_role("slider", name="Minute").fill(str(SLIDER_SECOND))
    page.screenshot(path=folder / f"{screenshot.name}.png", animations="disabled")
    context.close()


def main(folder: Path) -> None:
    """Take all screenshots."""
    folder.mkdir(parents=True, exist_ok=True)
    target = json.dumps({"kind": "callable", "function": "work:serve"})
    settings = {"CADENZA_DEMO_PORT": "0", "CADENZA_DAILY_TARGET": target, "CADENZA_TICK_MS": "500"}
    settings |= {"CADENZA_SLO_EVAL_MS": "5000"}
    with (
        job_folder() as folder_with_job,
        running(folder_with_job, [*UP, "--demo", "--speed", str(SPEED)], **settings) as program,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        login_context = browser.new_context()
        page = login_context.new_page()
        page.goto(A_LINK.findall(program.said)[-1])
        create_data(login_context, program)
        page.wait_for_timeout(WARM_UP_MS)
        state = login_context.storage_state()
        for screenshot in SCREENSHOTS:
            take_screenshot(screenshot, browser, folder, address=program.address, state=state)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
