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
from cadenza.domain.agents.users import Agent, User
from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.target import PromptTarget


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


@pytest.mark.parametrize("name", ["Check Orders!", "", "_check", "gr\u00f6\u00dfe", "x" * 129, "check\n", 7])
def test_a_name_that_is_no_id_is_refused(app: Cadenza, name: Any) -> None:
    with pytest.raises(InvalidRequest, match="give another one with name=, of 1 to 128 letters, digits"):
        app.every("1s", name=name)(lambda: None)


def test_a_lambda_needs_a_name(app: Cadenza) -> None:
    with pytest.raises(InvalidRequest, match="'<lambda>' is not a valid function name: give another"):
        app.every("1s")(lambda: None)


@pytest.mark.parametrize("wrong", [{"id": "Check Orders!"}, {"id": ""}, {"id": "page", "job_id": "my job"}])
def test_an_endpoint_with_an_id_that_no_surface_takes_is_refused(app: Cadenza, wrong: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"(id|job_id) must be 1 to 128 letters, digits"):
        app.add(Endpoint(name="page", target=HttpTarget("https://example.com"), **wrong))


@pytest.mark.parametrize("wrong", [7, "page", None, {"id": "page"}])
def test_only_an_endpoint_can_be_added(app: Cadenza, wrong: Any) -> None:
    with pytest.raises(InvalidRequest, match="`add` takes an Endpoint, not"):
        app.add(wrong)


@pytest.mark.parametrize("wrong", ["no", "", 0, 1, None])
def test_start_now_is_true_or_false(app: Cadenza, wrong: Any) -> None:
    with pytest.raises(InvalidRequest, match="start_now must be True or False, not"):
        app.every("1s", start_now=wrong)
    with pytest.raises(InvalidRequest, match="start_now must be True or False, not"):
        app.add(Endpoint(id="page", name="page", target=HttpTarget("https://example.com")), start_now=wrong)
    app.add(Endpoint(id="page", name="page", target=HttpTarget("https://example.com")), start_now=True)


async def test_a_schedule_of_a_user_is_refused_with_the_commands_that_change_it(app: Cadenza) -> None:
    prompt = Endpoint(
        id="ask",
        name="ask",
        target=PromptTarget("helper", "ada", "Go."),
        baseline=Once(datetime(2030, 1, 1, tzinfo=UTC)),
    )
    with pytest.raises(InvalidRequest, match="make it with `cadenza schedules create`"):
        app.add(prompt)
    async with app:
        store = app._started().store
        await store.users.put_user(User(id="ada"))
        await store.agents.put_agent(Agent(id="helper", name="Helper"))
        await store.endpoints.add(prompt)
        with pytest.raises(Conflict, match="delete it with `cadenza schedules delete`"):
            await app["ask"].pause_until(None)


def test_a_function_that_is_declared_twice_is_told_how_to_name_it(app: Cadenza) -> None:
    def check() -> None:
        """Do nothing."""

    app.every("1s")(check)
    app.cron("* * * * *", name="hourly")(check)
    with pytest.raises(Conflict, match=r"an endpoint 'check' already: give this function .* with name="):
        app.cron("* * * * *")(check)
    with pytest.raises(Conflict, match="an endpoint 'check' already: give this one another id"):
        app.add(Endpoint(id="check", name="check", target=HttpTarget("https://example.com")))


SPANS = "a span from 1ms to 10 years"
WRONG_SPANS: list[tuple[dict[str, Any], str]] = [
    ({"seconds": -1}, r"every\(seconds=-1\) is not an interval"),
    ({"minutes": 1, "seconds": -60}, r"every\(minutes=1, seconds=-60\) is not an interval"),
    ({"seconds": "5"}, r"every\(seconds='5'\) is not an interval"),
    ({"seconds": float("nan")}, r"every\(seconds=nan\) is not an interval"),
    ({"days": 1e12}, r"every\(days=1000000000000.0\) is not an interval"),
    ({"days": 5_000}, r"every\(days=5000\) is not an interval: .* from 1ms to 10 years"),
    ({"interval": timedelta(seconds=-1)}, f"interval must be {SPANS}"),
    ({"interval": "1s", "min": timedelta(0)}, f"min must be {SPANS}"),
    ({"interval": "1s", "timeout": timedelta(days=5_000)}, f"timeout must be {SPANS}"),
    ({"interval": "1s", "min": "10s", "max": "5s"}, "min must not be longer than max"),
    ({"interval": "1s", "description": 7}, "description must be a text"),
]


@pytest.mark.parametrize(("options", "sentence"), WRONG_SPANS)
def test_a_wrong_span_is_told_in_the_words_of_its_argument(
    app: Cadenza, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidRequest, match=sentence) as refused:
        app.every(**options, name="check")(lambda: None)
    assert "_ms" not in refused.value.message
    assert "316" not in refused.value.message


def test_a_cron_line_that_is_no_text_is_refused_by_its_name(app: Cadenza) -> None:
    with pytest.raises(InvalidRequest, match="line must be a text"):
        app.cron(7)(print)  # type: ignore[arg-type]


@pytest.mark.parametrize("url", ["mysql://user:hunter2@host/x", "", "cadenza.db", "sqlite:///:memory:"])
def test_a_database_of_another_kind_is_refused_at_construction(url: str) -> None:
    with pytest.raises(
        InvalidRequest, match=r"^database_url must be sqlite:///FILE or postgresql://"
    ) as told:
        Cadenza(url)
    assert "hunter2" not in told.value.message


def test_a_database_of_the_environment_is_refused_by_the_name_of_its_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_URL", "mysql://host/x")
    with pytest.raises(InvalidRequest, match=r"^CADENZA_DATABASE_URL must be"):
        Cadenza()


async def test_a_new_or_changed_declaration_is_in_the_audit_and_the_same_again_is_not(app: Cadenza) -> None:
    recorded = []
    for seconds in (60, 60, 90):
        program = Cadenza("sqlite:///cadenza.db")
        program.add(Endpoint(id="web", name="web", baseline=Every(seconds * 1_000)))
        async with program:
            assert program._live is not None
            recorded = await program._live.store.audit.records("default")
    changed, created = recorded
    assert {one.actor.surface for one in recorded} == {"program"}
    assert created.changes
    assert ("baseline.interval_ms", 60_000, 90_000) in changed.changes
    assert changed.restorable
