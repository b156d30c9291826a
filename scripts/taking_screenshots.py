"""Start the demo, let it run for a while, and take pictures of the dashboard."""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import sync_playwright
from tests.browser.site import A_LINK, launch
from tests.rest.program import UP, running

SPEED = 30
A_WHILE_MS = 45_000
"""Of real time: more than twenty minutes of the sale."""
SETTLED_MS = 1_500


class Shot(NamedTuple):
    """A picture: which page, how wide, and in which colours."""

    name: str
    path: str
    size: tuple[int, int]
    dark: bool = False


SHOTS = (
    Shot("overview", "/", (1280, 840)),
    Shot("endpoints", "/endpoints", (1280, 840)),
    Shot("overview-dark", "/", (1280, 840), dark=True),
    Shot("endpoints-phone", "/endpoints", (390, 844), dark=True),
)


def main(folder: Path) -> None:
    """Take all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"CADENZA_DEMO_PORT": "0"}
    with (
        tempfile.TemporaryDirectory() as place,
        running(Path(place), [*UP, "--demo", "--speed", str(SPEED)], **settings) as program,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        first = browser.new_context()
        page = first.new_page()
        page.goto(A_LINK.findall(program.said)[-1])
        page.wait_for_timeout(A_WHILE_MS)
        state = first.storage_state()
        for shot in SHOTS:
            width, height = shot.size
            context = browser.new_context(
                storage_state=state,
                viewport={"width": width, "height": height},
                color_scheme="dark" if shot.dark else "light",
                reduced_motion="reduce",
            )
            page = context.new_page()
            page.goto(program.address + shot.path)
            page.wait_for_timeout(SETTLED_MS)
            page.screenshot(path=folder / f"{shot.name}.png", animations="disabled")
            context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
