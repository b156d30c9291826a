"""A shop with a past for the pages of runs, jobs and alerts: endpoints that fail, and a target that hangs."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

from playwright.sync_api import ViewportSize
from tests.browser.database_seed import seed
from tests.browser.run_history import MINUTE, a_surge, right_now, steered, write_hints, write_runs

from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.testing.builders import an_endpoint

DESK = ViewportSize(width=1440, height=900)
HOSTILE = "<img src=x onerror=alert(1)>"
ANSWER: Json = {"status": 503, "body": {"note": HOSTILE}}
APART = 4
FAILED = f"{16 * APART:032x}"
"""A run of `checkout` that failed while a hint was in force."""


def an_endpoint_of_the_shop(name: str, url: str = "http://127.0.0.1:9/health", **fields: Any) -> Endpoint:
    """An endpoint that is not due while the tests run, unless they ask for it."""
    now = right_now()
    given: dict[str, Any] = {
        "job_id": "shop",
        "target": HttpTarget(url, "POST", {"X-Team": "web"}, {"deep": True}),
        "baseline": Every(300_000),
        "last_run_at": now - timedelta(minutes=2),
        "next_run_at": now + 40 * MINUTE,
        "next_source": Source.BASELINE_INTERVAL,
    }
    return an_endpoint(name, **(given | fields))


def write_scene(path: Path, *more: Endpoint) -> None:
    """`checkout` with a surge, two endpoints that fail, one that is switched off, and one of another job."""
    checkout = an_endpoint_of_the_shop("checkout")
    others = [
        an_endpoint_of_the_shop("search", failure_count=3),
        an_endpoint_of_the_shop("stock", failure_count=1),
        an_endpoint_of_the_shop("off", failure_count=9, enabled=False),
        an_endpoint_of_the_shop("report", job_id="office"),
    ]
    seed(path, [checkout, *others, *more], runs=0)
    write_runs(path, _in_order([checkout, *others]))
    write_hints(path, checkout, steered("visitors rise", right_now()))


def _in_order(endpoints: list[Endpoint]) -> Iterator[Run]:
    """The surge of the first, and after each of its runs one of another endpoint."""
    first, *others = endpoints
    for place, run in enumerate(a_surge(first, right_now(), ANSWER)):
        yield run._replace(id=f"{place * APART:032x}")
        other = others[place % len(others)]
        yield run._replace(id=f"{place * APART + 1:032x}", endpoint_id=other.id, job_id=other.job_id)


class Target:
    """An HTTP target that answers when it is released, at first with an error."""

    def __init__(self) -> None:
        self.address = ""
        self.status = 200
        self.released = Event()
        self.released.set()

    @contextmanager
    def listening(self) -> Iterator["Target"]:
        """Listen on the loopback; requests that still hang are let go in the end."""
        target = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                target.released.wait(60)
                body = b"{}"
                self.send_response(target.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Nothing is written to the output of the tests."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            self.address = f"http://127.0.0.1:{server.server_port}/"
            Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield self
            finally:
                self.released.set()
                server.shutdown()
