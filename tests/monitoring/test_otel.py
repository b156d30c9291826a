"""Figures reach a collector: over loopback, in OpenTelemetry's own protocol."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from cadenza.adapters.telemetry.otel import open_otel

WITHOUT = """
import sys
sys.modules["opentelemetry.sdk.metrics"] = None
from cadenza.adapters.telemetry.otel import open_otel
from cadenza.domain.errors import Unavailable
try:
    with open_otel("http://127.0.0.1:1", every_ms=1, process="here"):
        pass
except Unavailable as problem:
    print(problem.message)
"""


@contextmanager
def a_collector() -> Iterator[tuple[str, list[ExportMetricsServiceRequest]]]:
    """A collector on loopback, and what it was sent."""
    taken: list[ExportMetricsServiceRequest] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/metrics"
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append(ExportMetricsServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", taken
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def metric_values(metric: Any) -> list[tuple[dict[str, str], float]]:
    """What a metric says, beside which attributes."""
    kind = metric.WhichOneof("data")
    found = getattr(metric, kind).data_points
    return [
        (
            {one.key: one.value.string_value for one in point.attributes},
            point.sum if kind == "histogram" else point.as_double or point.as_int,
        )
        for point in found
    ]


def test_events_reach_a_collector_with_nobody_named() -> None:
    with a_collector() as (address, taken):
        with open_otel(address, every_ms=60_000, process="here") as figures:
            ticked = {"users_scanned": 0, "eligible_in_window": 5, "enqueued": 3, "cutoff_finalized": 0}
            figures.emit("sched.tick.stop", {"duration_ms": 9.0}, {"scheduler": "daily", **ticked})
            job = {"scheduler": "daily", "result": "error", "error_class": "req", "user_id": "ada"}
            figures.emit("sched.job.stop", {"duration_ms": 40.0, "late_ms": 2}, job)
            figures.emit("sched.job.stop", {"duration_ms": 2.0}, job)
            figures.emit("sched.queue.depth", {"depth": 7}, {"scheduler": "daily", "today": "2025-01-01"})
            figures.emit(
                "sched.finalize", {"days": 1}, {"status": "success", "due_bucket": 540, "late": False}
            )
            figures.emit("nobody.knows", {}, {})
        request = taken[-1]
    (sent,) = request.resource_metrics
    about = {one.key: one.value.string_value for one in sent.resource.attributes}
    assert (about["service.name"], about["service.instance.id"]) == ("cadenza", "here")
    metrics = {metric.name: metric_values(metric) for scope in sent.scope_metrics for metric in scope.metrics}
    daily = {"scheduler": "daily"}
    assert metrics == {
        "cadenza.tick.duration": [(daily, 9.0)],
        "cadenza.tick.work": [({**daily, "kind": "enqueued"}, 3)],
        "cadenza.eligible_in_window": [(daily, 5)],
        "cadenza.job.duration": [({**daily, "result": "error"}, 42.0)],
        "cadenza.job.lateness": [(daily, 2.0)],
        "cadenza.job.errors": [({**daily, "error_class": "req"}, 2)],
        "cadenza.queue.depth": [(daily, 7.0)],
        "cadenza.finalized": [({"status": "success", "late": "False"}, 1)],
    }
    assert b"ada" not in request.SerializeToString()


def test_the_library_is_loaded_only_when_it_is_asked_for() -> None:
    program = (
        "import sys, cadenza.roots.wiring.monitoring; print([m for m in sys.modules if 'telemetry.sdk' in m])"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ended.stdout == "[]\n"


def test_without_the_extra_one_sentence_says_so() -> None:
    ended = subprocess.run([sys.executable, "-c", WITHOUT], check=True, capture_output=True, text=True)
    assert ended.stdout == "OpenTelemetry takes the extra otel, which is not installed.\n"


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_collector_that_is_away_holds_nobody_up() -> None:
    with a_collector() as (address, _):
        pass
    with open_otel(address, every_ms=60_000, process="here") as figures:
        figures.emit("sched.tick.stop", {"duration_ms": 1}, {"scheduler": "daily"})
