"""What is done daily, as the settings say it, and who is served inside other programs."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.daily.daily_fixtures import Clocks
from tests.integration.http.loopback_server import a_server, says
from tests.postgres import Databases, databases, newest_databases

from cadenza import Cadenza
from cadenza.adapters.clock import FastClock, SystemClock
from cadenza.adapters.daily.callable_target import CallableTargetRunner
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.domain.agents.users import Agent, User, UserKey
from cadenza.domain.daily.keys import ProgrammeKey, daily_key
from cadenza.domain.daily.programme import Programme
from cadenza.domain.daily.rules import enroll
from cadenza.domain.daily.user import DONE, DayStatus, enrollment
from cadenza.domain.errors import Conflict, InvalidRequest, NotFound
from cadenza.domain.job_failure import ErrorClass
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget
from cadenza.engine.supervision import Supervisor
from cadenza.operations.daily.programme_schemas import DailyHttpShape
from cadenza.ports.daily import DailyTargetRunner
from cadenza.roots.daily import TickMonitor, _check_target, launch
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.daily.programmes import DeclaredFunction, TargetsByProgramme
from cadenza.roots.wiring.daily.service import clocks_for, daily_parts_in_up
from cadenza.roots.wiring.daily.target import ImportedFunction, daily_target, open_target_runner
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext
from cadenza.testing import FakeLog, FakeTelemetry

__all__ = ["databases", "newest_databases"]

TODAY = date(2030, 1, 31)
FAST = 120


class Place:
    """A store on a file, and settings for it."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self._stack = stack
        self.url = f"sqlite:///{folder / 'cadenza.db'}"
        self.log = FakeLog()

    async def open(self) -> ProcessContext:
        opening = open_store(Settings(database_url=self.url), ids=TimeOrderedIds(), log=self.log)
        store = await self._stack.enter_async_context(opening)
        self.shop = ProcessContext(
            store=store, clock=SystemClock(), log=self.log, callables=CallableDispatcher()
        )
        return self.shop

    def settings(self, target: object, **more: object) -> Settings:
        written = target if isinstance(target, str) else json.dumps(target)
        return Settings(database_url=self.url, daily_target=written, **more)

    async def target_runner(self, target: object, **more: object) -> DailyTargetRunner:
        settings = self.settings(target, **more)
        found = daily_target(settings)
        assert found is not None
        return await open_target_runner(self._stack, settings, self.shop, found)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        made = Place(tmp_path, stack)
        await made.open()
        yield made


def target_of(written: str) -> object:
    return daily_target(Settings(daily_target=written))


def test_a_bare_url_is_a_post() -> None:
    found = target_of("https://example.com/daily")
    assert isinstance(found, DailyHttpShape)
    assert (found.method, found.url) == ("POST", "https://example.com/daily")
    assert daily_target(Settings()) is None


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("nonsense", "url"),
        ('{"kind": "prompt"}', "agent_id"),
        ('{"kind": "magic"}', "kind"),
        ('{"kind": "http", "url": "https://example.com", "secret": 1}', "secret"),
        ("{", "JSON"),
    ],
)
def test_what_is_wrong_is_said_without_showing_it(wrong: str, why: str) -> None:
    with pytest.raises(InvalidRequest, match="CADENZA_DAILY_TARGET is invalid") as problem:
        target_of(wrong)
    assert why in problem.value.message


async def test_a_request_is_sent_with_user_and_day(place: Place) -> None:
    async with a_server(says(b"{}")) as server:
        target_runner = await place.target_runner(server.url("/daily"), allow_private_targets=True)
        assert await target_runner.run("ada", TODAY, tenant_id="default") == DONE
    (request,) = server.requests
    assert json.loads(request.body).items() >= {"user_id": "ada", "service_date": "2030-01-31"}.items()
    assert request.headers["idempotency-key"] == "ada:2030-01-31"


async def test_a_private_address_is_refused_as_anywhere(place: Place) -> None:
    target_runner = await place.target_runner("http://127.0.0.1:9/daily")
    assert (await target_runner.run("ada", TODAY, tenant_id="default")).error_class is ErrorClass.REQ


async def test_a_function_of_the_working_directory_is_called(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "digests.py").write_text("seen = []\ndef digest(*given):\n    seen.append(given)\nx = 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    target_runner = await place.target_runner({"kind": "callable", "function": "digests:digest"})
    assert await target_runner.run("ada", TODAY, tenant_id="default") == DONE
    assert import_module("digests").seen == [("ada", TODAY)]
    for name in ("digests:none", "nowhere:digest", "digests", "digests:x", ":"):
        with pytest.raises(InvalidRequest, match="CADENZA_DAILY_TARGET is invalid"):
            await place.target_runner(ImportedFunction(kind="callable", function=name).model_dump())


async def test_a_function_that_never_ends_does_not_outlive_the_program(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "endless.py").write_text("from threading import Event\ndef wait(*_):\n    Event().wait()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    target = ImportedFunction(kind="callable", function="endless:wait")
    async with AsyncExitStack() as stack:
        target_runner = await open_target_runner(
            stack, place.settings(target.model_dump()), place.shop, target
        )
        running = asyncio.create_task(target_runner.run("ada", TODAY, tenant_id="default"))
        await asyncio.sleep(0)
    assert (await running).error_class is ErrorClass.UNKNOWN


async def test_a_prompt_is_answered_and_the_answer_is_owed(place: Place) -> None:
    store = place.shop.store
    await store.users.put_user(User(id="ada", timezone="UTC"))
    await store.agents.put_agent(Agent(id="helper", name="Helper"))
    target_runner = await place.target_runner(
        {"kind": "prompt", "agent_id": "helper", "prompt": "list my reminders"}
    )
    for _ in range(2):
        assert await target_runner.run("ada", TODAY, tenant_id="default") == DONE
    undelivered = await store.deliveries.undelivered(UserKey("default", "ada"), after=0, limit=10)
    assert len(undelivered) == 1


async def test_up_serves_daily_users_unless_it_shall_not(place: Place) -> None:
    async with AsyncExitStack() as stack:
        alone = Settings(database_url=place.url)
        parts = await daily_parts_in_up(stack, alone, place.shop)
        assert [part.name for part in parts] == [
            "daily-tick",
            "daily-executor",
            "daily-finalizer",
            "daily-lanes",
        ]
        assert await daily_parts_in_up(stack, alone.model_copy(update={"daily": False}), place.shop) == []


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_up_without_a_target_cuts_days_off_and_warns(
    database: str, tmp_path: Path, newest_databases: Databases
) -> None:
    """Also for a user who is enrolled when it is up."""
    url = f"sqlite:///{tmp_path / 'up.db'}"
    if database == "postgresql":
        url = await asyncio.to_thread(newest_databases.clean)
    settings, log = Settings(database_url=url, tick_ms=10_000), FakeLog()
    clock = FastClock(FAST, datetime(2030, 1, 31, 10, tzinfo=UTC))
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        context = ProcessContext(
            store=store, clock=clock, log=log, callables=CallableDispatcher(), telemetry=FakeTelemetry()
        )
        supervisor = Supervisor(clock=SystemClock(), log=log, telemetry=FakeTelemetry())
        parts = await daily_parts_in_up(stack, settings, context, clocks_for(clock))
        running = asyncio.create_task(supervisor.run(*parts))
        due = (clock.now() + timedelta(minutes=3)).time().replace(second=0, microsecond=0)
        await store.daily.enroll([enrollment("default", "ada", due)], partial(enroll, now=clock.now()))
        async with asyncio.timeout(60):
            while not (verdicts := await store.daily.verdicts_of(daily_key("default", "ada"))):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        supervisor.stop()
        await running
    assert [one.status for one in verdicts] == [DayStatus.CUTOFF_REACHED]
    assert log.events("warning") == ["daily users are due, but CADENZA_DAILY_TARGET is not set"]


def test_a_role_without_a_target_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidRequest, match="CADENZA_DAILY_TARGET"):
        launch()


def test_a_process_is_alive_as_long_as_ticks_come() -> None:
    clocks = Clocks(datetime(2030, 1, 31, tzinfo=UTC))
    ticks = TickMonitor(clocks, tick_ms=60_000)
    alive = [ticks.alive]
    for later in (timedelta(minutes=3), timedelta(milliseconds=1)):
        clocks.advance(later)
        clocks.step(timedelta(days=1))
        alive.append(ticks.alive)
    ticks.emit("sched.tick.stop", {}, {})
    assert [*alive, ticks.alive] == [True, True, False, True]


async def test_a_program_serves_its_own_users_daily(tmp_path: Path) -> None:
    app = Cadenza(f"sqlite:///{tmp_path / 'own.db'}")
    called = asyncio.Event()

    @app.daily
    async def digest(user_id: str, _: date) -> None:
        assert user_id == "ada"
        called.set()

    with pytest.raises(Conflict):
        app.daily(digest)
    due = (datetime.now(UTC) + timedelta(minutes=30)).time().replace(second=0, microsecond=0)
    async with app:
        await app.enroll("ada", due)
        store = app._started().store
    async with app:
        async with asyncio.timeout(30):
            await called.wait()
    async with open_store(
        Settings(database_url=f"sqlite:///{tmp_path / 'own.db'}"), ids=TimeOrderedIds(), log=FakeLog()
    ) as store:
        (verdict,) = await store.daily.verdicts_of(daily_key("default", "ada"))
        assert verdict.status is DayStatus.SUCCESS


async def test_a_program_serves_a_user_in_two_programmes(tmp_path: Path) -> None:
    app = Cadenza(f"sqlite:///{tmp_path / 'own.db'}")
    called: set[tuple[str, str]] = set()
    both = asyncio.Event()

    def call(programme: str, user_id: str) -> None:
        called.add((programme, user_id))
        if len(called) == 2:
            both.set()

    @app.daily
    async def digest(user_id: str, _: date) -> None:
        call("daily", user_id)

    @app.daily(programme="evening")
    async def summary(user_id: str, _: date) -> None:
        call("evening", user_id)

    soon = datetime.now(UTC) + timedelta(minutes=30)
    berlin = soon.astimezone(ZoneInfo("Europe/Berlin")).time().replace(second=0, microsecond=0)
    async with app:
        await app.enroll("ada", soon.time().replace(second=0, microsecond=0))
        await app.enroll("ada", berlin, timezone="Europe/Berlin", programme="evening")
    async with app, asyncio.timeout(30):
        await both.wait()
    assert called == {("daily", "ada"), ("evening", "ada")}


async def test_no_other_process_serves_the_programme_of_a_function(tmp_path: Path) -> None:
    app = Cadenza(f"sqlite:///{tmp_path / 'own.db'}")

    @app.daily(programme="evening")
    async def summary(*_: object) -> None: ...

    async with app:
        evening = await app._started().store.programmes.programme(ProgrammeKey("default", "evening"))
    assert evening.target == CallableTarget("summary")
    beside = TargetsByProgramme(FakeLog(), default=lambda _: CallableTargetRunner(summary))
    assert beside.runner_for(evening) is None
    renamed = {"evening": DeclaredFunction("digest", CallableTargetRunner(summary))}
    own = TargetsByProgramme(FakeLog(), functions=renamed)
    assert own.runner_for(evening) is renamed["evening"].runner


async def test_a_program_is_told_of_wrong_programmes_and_zones(tmp_path: Path) -> None:
    app = Cadenza(f"sqlite:///{tmp_path / 'own.db'}")

    @app.daily(programme="evening")
    async def summary(*_: object) -> None: ...

    with pytest.raises(Conflict, match="of the programme evening already"):
        app.daily(programme="evening")(summary)
    with pytest.raises(InvalidRequest, match="programme"):
        app.daily(programme="an evening")(summary)
    async with app:
        with pytest.raises(NotFound, match="night"):
            await app.enroll("ada", time(7), programme="night")
        with pytest.raises(InvalidRequest, match="time zone"):
            await app.enroll("ada", time(7), timezone="Europe/Berlim")


async def test_a_program_leaves_a_window_alone_that_has_opened_by_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_WINDOW_MINUTES", "1440")
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    due, other = (now + timedelta(hours=10)).time(), (now + timedelta(hours=12)).time()
    async with Cadenza(f"sqlite:///{tmp_path / 'own.db'}") as app:
        await app.enroll("ada", due)
        await app.enroll("ada", other)
        user = await app._started().store.daily.daily_user(daily_key("default", "ada"))
    assert (user.due, user.wanted_due) == (due, other)


def test_a_programme_with_a_target_of_its_own_is_enough_for_the_role(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'own.db'}")

    async def check(*programmes: Programme) -> None:
        async with open_store(settings, ids=TimeOrderedIds(), log=FakeLog()) as store:
            for one in programmes:
                await store.programmes.put_programme(one)
            await _check_target(settings, store.programmes)

    evening = Programme(id="evening", created_at=datetime(2030, 1, 31, tzinfo=UTC))
    with pytest.raises(InvalidRequest, match="CADENZA_DAILY_TARGET"):
        asyncio.run(check(evening))
    asyncio.run(check(replace(evening, target=HttpTarget("https://example.com/evening", "POST"))))
