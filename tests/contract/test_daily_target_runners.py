"""Every runner of the daily target keeps its contract."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import date

import pytest
from tests.agents.agent_fixtures import HELPER, AgentFixture
from tests.agents.scripted_agent import failed, reply
from tests.integration.http.loopback_server import Request, a_dispatcher, a_server, answer

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.daily.callable_target import CallableTargetRunner
from cadenza.adapters.daily.http_target import HttpTargetRunner
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.engine.daily.prompt_target import PromptTargetRunner
from cadenza.ports.agents import CallTool, Prompt, Reply
from cadenza.ports.daily import DailyTargetRunner
from cadenza.testing import FakeIds
from cadenza.testing.contracts import DailyTargetRunnerContract


class TestAsyncFunction(DailyTargetRunnerContract):
    @pytest.fixture
    def target_runner(self, calls: list[str]) -> DailyTargetRunner:
        async def target(user_id: str, _: date) -> None:
            calls.append(user_id)
            if user_id == "ben":
                raise ValueError("no")
            if user_id == "cleo":
                await asyncio.Event().wait()

        return CallableTargetRunner(target)


class TestFunctionInAThread(DailyTargetRunnerContract):
    """A thread cannot be stopped: a cancelled run is awaited, which another test looks at."""

    hangs = False

    @pytest.fixture
    def target_runner(self, calls: list[str]) -> DailyTargetRunner:
        def target(user_id: str, _: date) -> None:
            calls.append(user_id)
            if user_id == "ben":
                raise ValueError("no")

        return CallableTargetRunner(target)


class TestHttpTarget(DailyTargetRunnerContract):
    @pytest.fixture
    async def target_runner(self, calls: list[str]) -> AsyncIterator[DailyTargetRunner]:
        async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
            user_id = json.loads(request.body)["user_id"]
            calls.append(user_id)
            if user_id == "cleo":
                await asyncio.Event().wait()
            writer.write(answer("{}", 500 if user_id == "ben" else 200))

        async with a_server(respond) as server, a_dispatcher() as dispatcher:
            yield HttpTargetRunner(
                HttpTarget(server.url("/daily"), "POST"),
                dispatcher=dispatcher,
                clock=SystemClock(),
                ids=FakeIds(),
                timeout_ms=60_000,
            )


class TestPromptTarget(DailyTargetRunnerContract):
    @pytest.fixture
    async def target_runner(self, calls: list[str]) -> DailyTargetRunner:
        class Agent:
            async def process_prompt(self, prompt: Prompt, _: CallTool) -> Reply:
                calls.append(prompt.user.id)
                if prompt.user.id == "cleo":
                    await asyncio.Event().wait()
                return failed() if prompt.user.id == "ben" else reply("Good morning.")

        agents = await AgentFixture(Agent()).open()
        await agents.ask("put_user", user_id="cleo")
        return PromptTargetRunner(
            conversations=agents.conversations,
            store=agents.store.conversations,
            agent_id=HELPER,
            prompt="Say good morning.",
        )
