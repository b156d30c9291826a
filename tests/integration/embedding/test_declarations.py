"""What may be declared, when, and what is refused with a sentence."""

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.integration.embedding.test_embedding import until

import cadenza
from cadenza import Cadenza, Endpoint, Every, HttpTarget, RunContext
from cadenza.domain.errors import Conflict, InvalidRequest


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cadenza:
    monkeypatch.setenv("CADENZA_JITTER_MS", "0")
    monkeypatch.chdir(tmp_path)
    return Cadenza("sqlite:///cadenza.db")


async def test_a_function_that_is_declared_while_the_app_runs_takes_effect(app: Cadenza) -> None:
    seen: list[str] = []
    async with app:

        @app.every("1h", start_now=True)
        def late() -> None:
            seen.append("every")

        @app.once(datetime.now(UTC) + timedelta(milliseconds=50))
        async def later() -> None:
            seen.append("once")

        await until(lambda: sorted(seen) == ["every", "once"])


async def test_a_function_that_was_just_declared_can_be_steered(app: Cadenza) -> None:
    seen: list[str] = []
    async with app:

        @app.every("1h")
        def late(run: RunContext) -> None:
            seen.append(run.source)

        await app["late"].propose_next_time("10ms")
        await until(lambda: seen)
    assert seen == ["ai-oneshot"]


async def test_another_thread_may_declare(app: Cadenza) -> None:
    seen: list[int] = []
    async with app:
        declare = app.every("1h", name="late", start_now=True)
        threading.Thread(target=lambda: declare(lambda: seen.append(1))).start()
        await until(lambda: seen)


async def test_an_endpoint_that_is_added_while_the_app_runs_is_stored(app: Cadenza) -> None:
    page = Endpoint(id="page", name="page", target=HttpTarget("https://example.com"), baseline=Every(60_000))
    async with app:
        app.add(page)
        changed = await app["page"].pause_until(None)
    assert changed.endpoint.id == "page"


async def test_a_late_declaration_is_known_at_the_next_start(app: Cadenza) -> None:
    seen: list[int] = []
    async with app:
        app.every("50ms", name="late")(lambda: seen.append(1))
        await until(lambda: seen)
    before = len(seen)
    async with app:
        await until(lambda: len(seen) > before)


async def test_a_daily_function_is_declared_before_the_start(app: Cadenza) -> None:
    async with app:
        with pytest.raises(Conflict, match="before it starts"):
            app.daily(lambda user_id, service_date: None)


class Methods:
    def unbound(self) -> None:
        """Do nothing."""


def generator() -> Any:
    yield


async def async_generator() -> Any:
    yield


CANNOT_BE_CALLED: list[tuple[Callable[..., Any], str]] = [
    (lambda customer: None, "nothing gives it 'customer'"),
    (lambda run, customer: None, "nothing gives it 'customer'"),
    (lambda *, run: None, "nothing gives it 'run'"),
    (Methods.unbound, "nothing gives it 'self'"),
    (generator, "is a generator"),
    (async_generator, "is a generator"),
]


@pytest.mark.parametrize(("function", "sentence"), CANNOT_BE_CALLED)
def test_a_function_that_cannot_be_called_is_refused(
    app: Cadenza, function: Callable[..., Any], sentence: str
) -> None:
    with pytest.raises(InvalidRequest, match=sentence):
        app.every("1s", name="function")(function)
    app.every("1s", name="function")(lambda: None)  # Nothing is left of it.


@pytest.mark.parametrize("what", [7, None, "function"])
def test_what_cannot_be_called_at_all_is_refused(app: Cadenza, what: Any) -> None:
    with pytest.raises(InvalidRequest, match="Only functions"):
        app.every("1s")(what)


def test_a_function_without_a_name_needs_one(app: Cadenza) -> None:
    with pytest.raises(InvalidRequest, match="give it one"):
        app.every("1s")(partial(print, "hello"))
    app.every("1s", name="hello")(partial(print, "hello"))


@pytest.mark.parametrize("function", [lambda user: None, lambda: None, lambda one, two, three: None])
def test_a_daily_function_that_cannot_be_called_is_refused(
    app: Cadenza, function: Callable[..., Any]
) -> None:
    with pytest.raises(InvalidRequest, match="a user's id and a service date"):
        app.daily(function)
    app.daily(lambda user_id, service_date, greeting="hello": None)


async def test_the_run_is_given_by_name_or_by_annotation(app: Cadenza) -> None:
    given: dict[str, Any] = {}

    @app.every("1h", start_now=True)
    def named(run: Any) -> None:
        given["named"] = run

    @app.every("1h", start_now=True)
    async def annotated(one: RunContext) -> None:
        given["annotated"] = one

    @app.every("1h", start_now=True)
    async def written(one: "cadenza.RunContext") -> None:
        given["written"] = one

    @app.every("1h", start_now=True)
    async def optional(run: RunContext | None = None) -> None:
        given["optional"] = run

    @app.every("1h", start_now=True)
    async def other(greeting: str = "hello") -> None:
        given["other"] = greeting

    async with app:
        await until(lambda: len(given) == 5)
        await asyncio.sleep(0)
    assert given.pop("other") == "hello"
    assert {name: one.endpoint.id for name, one in given.items()} == {name: name for name in given}
    assert all(isinstance(one, RunContext) for one in given.values())
    assert isinstance(given["named"].slot.date(), date)
