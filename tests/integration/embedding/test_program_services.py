"""What `cadenza up` has, inside a program: logs, telemetry, service levels, alerts and retention."""

import asyncio
import json
import logging
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.integration.embedding.test_embedding import until
from tests.monitoring.webhook_receiver import KEY, Receiver

from cadenza import Cadenza, EventBus
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sql.rows import write_run
from cadenza.adapters.stores.sqlite.cycle_statements import ADD_RUN
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.roots.command_line import main
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.worker import ProcessContext, retention_loop
from cadenza.testing.contracts.harness import Bench
from cadenza.testing.fakes import FakeIds, FakeLog

FAILING = """
import asyncio, logging, sys
from cadenza import Cadenza

app = Cadenza("sqlite:///cadenza.db")
done = asyncio.Event()

@app.every("1h", start_now=True)
def break_down():
    raise ValueError("no luck")

class Ended:
    def emit(self, event, measurements, metadata):
        done.set()

app.telemetry.attach("ended", Ended(), {"endpoint.failed"})

async def main():
    %s
    async with app:
        async with asyncio.timeout(60):
            await done.wait()

asyncio.run(main())
"""
CONFIGURES = 'logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")'


def logged(folder: Path, configure: str = "pass", **settings: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "program.py").write_text(FAILING % configure)
    command = [sys.executable, "program.py"]
    environment = os.environ | {"CADENZA_JITTER_MS": "0"} | settings
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=90, check=True
    )
    return done.stderr


def test_a_program_without_logging_gets_the_lines_of_the_settings(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in logged(tmp_path, CADENZA_LOG_JSON="true").splitlines()]
    (failed,) = [line for line in lines if line["event"] == "an endpoint started to fail"]
    assert failed["level"] == "warning"
    assert failed["error"] == "ValueError: no luck"
    assert "in break_down" in failed["traceback"]
    assert logged(tmp_path / "other", CADENZA_LOG_LEVEL="error") == ""


def test_a_program_with_logging_gets_the_lines_there_and_none_of_alembic(tmp_path: Path) -> None:
    text = logged(tmp_path, CONFIGURES)
    assert "WARNING cadenza an endpoint started to fail tenant_id=default job_id=embedded" in text
    assert "error=ValueError: no luck" in text
    assert 'in break_down\n    raise ValueError("no luck")\nValueError: no luck' in text
    assert "alembic" not in text
    assert all(line.split()[1] == "cadenza" for line in text.splitlines() if line.startswith("INFO"))


def test_runs_show_prints_the_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logged(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["runs", "list", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["items"]
    assert main(["runs", "show", run["id"]]) == 0
    shown = capsys.readouterr().out
    assert "traceback\nTraceback (most recent call last):\n" in shown
    assert 'in break_down\n    raise ValueError("no luck")\nValueError: no luck\n' in shown


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CADENZA_JITTER_MS", "0")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Handler:
    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any]]] = []

    def emit(self, event: str, measurements: Any, metadata: Any) -> None:
        self.seen.append((event, {**measurements, **metadata}))


@pytest.mark.usefixtures("folder")
async def test_handlers_are_attached_to_the_telemetry_of_an_app() -> None:
    app, handler = Cadenza("sqlite:///cadenza.db"), Handler()
    assert isinstance(app.telemetry, EventBus)
    app.telemetry.attach("mine", handler, {"sched.job.stop"})
    app.every("1h", name="check", start_now=True)(lambda: None)
    async with app:
        await until(lambda: handler.seen)
    ((event, facts),) = handler.seen
    assert (event, facts["result"]) == ("sched.job.stop", "ok")


@pytest.mark.usefixtures("folder")
async def test_settings_are_given_by_their_names() -> None:
    app = Cadenza("sqlite:///cadenza.db", tick_ms=500, log_level="error")
    assert (app._settings.tick_ms, app._settings.log_level) == (500, "error")
    with pytest.raises(InvalidRequest, match="Setting 'colour' not found"):
        Cadenza(colour="red")
    with pytest.raises(InvalidRequest, match=r"^tick_ms is invalid: '1' is not a whole number"):
        Cadenza(tick_ms=1)


async def test_alerts_of_failing_functions_and_breached_service_levels_are_sent(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_SECRET_ALERTS", KEY)
    async with Receiver().open() as receiver:
        app = Cadenza(
            f"sqlite:///{folder / 'cadenza.db'}",
            allow_targets=("127.0.0.1",),
            alert_url=receiver.address,
            alert_secret="env:CADENZA_SECRET_ALERTS",
            alert_failures=2,
            slo_eval_ms=100,
            breach_consecutive=1,
            sat_ratio=0.000001,
            worker_concurrency=1,
        )

        @app.every("50ms", start_now=True)
        async def break_down() -> None:
            await asyncio.sleep(0.05)
            raise ValueError("no luck")

        async with app:
            await receiver.until(
                lambda found: (
                    {"cadenza.endpoint.begun", "cadenza.slo.begun"} <= {one.body["type"] for one in found}
                )
            )
    begun = [one.body["data"] for one in receiver.messages if one.body["type"] == "cadenza.endpoint.begun"]
    assert [(one["endpoint_id"], one["failures"]) for one in begun] == [("break_down", 2)]


def old_run(at: datetime) -> Run:
    return Run(
        id="0" * 32,
        tenant_id="default",
        job_id="embedded",
        endpoint_id="check",
        slot=at,
        due_at=at,
        attempt=1,
        source=Source.FIRST,
        claimed_at=at,
        finished_at=at,
        status=RunStatus.SUCCESS,
        verdict=True,
    )


async def test_old_runs_are_deleted(folder: Path) -> None:
    await migrate("sqlite:///cadenza.db")
    store = SqliteStore(SqliteFile(folder / "cadenza.db"), TimeOrderedIds())
    key = EndpointKey("default", "check")
    app = Cadenza("sqlite:///cadenza.db", keep_runs_days=1)
    app.every("1h", name="check")(lambda: None)
    async with app:
        pass
    add_run(folder / "cadenza.db", old_run(datetime.now(UTC) - timedelta(days=2)))
    assert len(await store.runs.runs(key)) == 1
    async with app:
        async with asyncio.timeout(60):
            while await store.runs.runs(key):  # noqa: ASYNC110 - the database sets no event
                await asyncio.sleep(0.02)
    await store.close()


def add_run(path: Path, run: Run) -> None:
    connection = SqliteFile(path).connect()
    connection.execute(ADD_RUN, in_micros(write_run(run)))
    connection.commit()
    connection.close()


async def test_ages_are_by_the_clock_that_is_behind() -> None:
    store = MemoryStore(FakeIds())
    bench = Bench(store)
    endpoint = await bench.add()
    await bench.run_once()
    log = FakeLog()
    context = ProcessContext(store=store, clock=bench.clock, log=log, callables=CallableDispatcher())
    await retention_loop(Settings(), context).delete_old()
    assert len(await bench.runs(endpoint)) == 1
    bench.pass_ms(31 * 86_400_000)
    await retention_loop(Settings(), context).delete_old()
    assert await bench.runs(endpoint) == []


def test_the_logging_of_the_program_is_left_as_it_is(folder: Path) -> None:
    before = list(logging.getLogger().handlers), logging.getLogger().level
    Cadenza(f"sqlite:///{folder / 'cadenza.db'}", log_level="debug")
    assert (list(logging.getLogger().handlers), logging.getLogger().level) == before
