"""Functions on a cadence, inside a program, on a real file."""

import asyncio
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cadenza import Cadenza, Cron, Endpoint
from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.roots.embedding.functions import RunContext


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cadenza:
    monkeypatch.setenv("CADENZA_JITTER_MS", "0")
    monkeypatch.chdir(tmp_path)
    return Cadenza("sqlite:///cadenza.db")


async def until(condition: Any, seconds: float = 60) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        await asyncio.sleep(0.01)


async def test_a_function_runs_on_its_interval_and_steers_itself(app: Cadenza) -> None:
    sources: list[str] = []

    @app.every(seconds=30, start_now=True)
    async def check(run: RunContext) -> None:
        sources.append(run.source)
        if len(sources) == 1:
            await run.propose_interval("50ms", ttl="1m", reason="surge")

    async with app:
        await until(lambda: len(sources) >= 3)
    assert sources[:3] == ["first", "ai-interval", "ai-interval"]


async def test_a_plain_function_runs_in_a_thread_and_may_steer_too(app: Cadenza) -> None:
    seen: list[int] = []

    @app.every("30s", start_now=True)
    def check(run: RunContext) -> dict[str, int]:
        seen.append(run.attempt)
        run.wait(run.propose_next_time("10ms"))
        return {"seen": len(seen)}

    async with app:
        await until(lambda: len(seen) >= 3)


async def test_a_function_that_raises_is_tried_again(app: Cadenza) -> None:
    attempts: list[int] = []

    @app.every("1h", start_now=True, max_attempts=3, retry_delay="10ms")
    def fail(run: RunContext) -> None:
        attempts.append(run.attempt)
        raise ValueError("no")

    async with app:
        await until(lambda: len(attempts) == 3)
        await asyncio.sleep(0.1)
    assert attempts == [1, 2, 3]


async def test_a_moment_is_served_once(app: Cadenza) -> None:
    seen: list[datetime] = []

    @app.once(datetime.now(UTC) + timedelta(milliseconds=100))
    def celebrate(run: RunContext) -> None:
        seen.append(run.slot)

    async with app:
        await until(lambda: seen)
        await asyncio.sleep(0.3)
    assert len(seen) == 1


async def test_a_function_is_steered_from_outside_within_a_moment(
    app: Cadenza, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_POLL_MS", "60000")  # It is not found by looking now and then.
    seen: list[str] = []

    @app.every("1h")
    def check(run: RunContext) -> None:
        seen.append(run.source)

    async with app:
        await asyncio.sleep(0.1)
        await app["check"].propose_next_time("10ms", reason="somebody asked")
        await until(lambda: seen, seconds=30)
    assert seen == ["ai-oneshot"]


async def test_a_changed_decorator_takes_effect_at_the_next_start(app: Cadenza) -> None:
    seen: list[int] = []

    @app.every("1h")
    def check() -> None:
        seen.append(1)

    async with app:
        pass
    again = Cadenza("sqlite:///cadenza.db")
    again.every("50ms", name="check")(check)
    async with again:
        await until(lambda: len(seen) >= 2)


def test_wrong_declarations_are_refused_in_one_sentence(app: Cadenza) -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("every", {}),
        ("every", {"interval": "soon"}),
        ("every", {"interval": "0s"}),
        ("every", {"seconds": 1, "interval": "1s"}),
        ("every", {"seconds": 1, "min": "10s", "max": "5s"}),
        ("every", {"seconds": 1, "colour": "red"}),
        ("every", {"seconds": 1, "misfire": "later"}),
        ("cron", {"line": "0 0 30 2 *"}),
        ("cron", {"line": "* * * * *", "timezone": "Nowhere"}),
        ("once", {"at": datetime.fromisoformat("2030-01-01")}),
    ]
    for decorator, options in wrong:
        with pytest.raises(InvalidRequest):
            getattr(app, decorator)(**options)(lambda: None)


def test_a_program_declares_no_prompts(app: Cadenza) -> None:
    prompt = Endpoint(
        id="ask", name="ask", target=PromptTarget("helper", "ada", "Go."), baseline=Cron("0 9 * * *")
    )
    with pytest.raises(InvalidRequest, match="cadenza schedules create"):
        app.add(prompt)
    with pytest.raises(Conflict, match="agenda holds the schedules of users"):
        app.add(Endpoint(id="check", name="check", job_id="agenda"))


def test_two_functions_need_two_names(app: Cadenza) -> None:
    app.every("1s", name="check")(lambda: None)
    with pytest.raises(Conflict):
        app.every("1s", name="check")(lambda: None)


async def test_an_app_that_does_not_run_says_so(app: Cadenza) -> None:
    with pytest.raises(Conflict, match="does not run"):
        await app["check"].pause_until(None)


PROGRAM = """
import sys, time
from cadenza import Cadenza
app = Cadenza("sqlite:///cadenza.db")

@app.every("100ms", start_now=True)
def check(run):
    with open("slots.txt", "a") as out:
        out.write(f"{run.slot.isoformat()} {run.attempt}\\n")

app.run()
"""


def test_the_same_program_in_several_processes_runs_each_slot_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setenv("CADENZA_JITTER_MS", "0")
    out = tmp_path / "slots.txt"
    out.touch()
    processes = [subprocess.Popen([sys.executable, "program.py"], cwd=tmp_path) for _ in range(3)]
    try:
        limit = time.monotonic() + 60
        while len(out.read_text().splitlines()) < 40 and time.monotonic() < limit:
            time.sleep(0.05)
    finally:
        for process in processes:
            process.terminate()
        codes = [process.wait(timeout=20) for process in processes]
    slots = Counter(out.read_text().splitlines())
    assert codes == [0, 0, 0]
    assert len(slots) >= 40
    assert set(slots.values()) == {1}
