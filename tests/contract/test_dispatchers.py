"""Every dispatcher keeps its contract."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count

import pytest
from tests.agents.agent_fixtures import HELPER, TENANT, AgentFixture
from tests.agents.scripted_agent import failed, reply
from tests.integration.http.loopback_server import Request, a_dispatcher, a_server, answer

from cadenza.adapters.dispatch.by_target import DispatcherByTarget
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget, PromptTarget
from cadenza.ports.agents import CallTool, Prompt, Reply
from cadenza.ports.dispatcher import Dispatcher
from cadenza.testing import FakeDispatcher
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts import DispatcherContract
from cadenza.testing.contracts.dispatcher import a_claim


class TestFakeDispatcher(DispatcherContract):
    @pytest.fixture
    def dispatcher(self) -> Dispatcher:
        fake = FakeDispatcher()
        fake.fails("bad")
        return fake

    def succeeding(self, name: str) -> Claim:
        return a_claim(name)

    def failing(self, name: str) -> Claim:
        return a_claim(name)


class TestCallableDispatcher(DispatcherContract):
    @pytest.fixture
    def dispatcher(self) -> Dispatcher:
        callables = CallableDispatcher()
        callables.register("succeeds", lambda: 7)
        callables.register("hangs", asyncio.Event().wait)
        return callables

    def succeeding(self, name: str) -> Claim:
        return a_claim(name, target=CallableTarget("succeeds"))

    def failing(self, name: str) -> Claim:
        return a_claim(name, target=CallableTarget("nobody registered it"))

    def hanging(self, name: str) -> Claim:
        return a_claim(name, target=CallableTarget("hangs"))


class TestCallableDispatcherWithThreads(TestCallableDispatcher):
    @pytest.fixture
    def dispatcher(self) -> Dispatcher:
        def raises() -> None:
            raise ValueError("no")

        callables = CallableDispatcher()
        callables.register("succeeds", lambda: 7)
        callables.register("raises", raises)
        callables.register("hangs", asyncio.Event().wait)
        return callables

    def failing(self, name: str) -> Claim:
        return a_claim(name, target=CallableTarget("raises"))


class TestHttpDispatcher(DispatcherContract):
    @pytest.fixture
    async def dispatcher(self) -> AsyncIterator[Dispatcher]:
        async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
            if request.path == "/hangs":
                await asyncio.Event().wait()
            writer.write(answer(status=200 if request.path == "/succeeds" else 500))

        async with a_server(respond) as server, a_dispatcher() as http:
            self.url = server.url
            yield http

    def succeeding(self, name: str) -> Claim:
        return a_claim(name, target=HttpTarget(self.url("/succeeds")))

    def failing(self, name: str) -> Claim:
        return a_claim(name, target=HttpTarget(self.url("/fails")))

    def hanging(self, name: str) -> Claim:
        return a_claim(name, target=HttpTarget(self.url("/hangs")))


class TestDispatcherByTarget(TestCallableDispatcher):
    @pytest.fixture
    def dispatcher(self) -> Dispatcher:
        callables = CallableDispatcher()
        callables.register("succeeds", lambda: 7)
        callables.register("hangs", asyncio.Event().wait)
        return DispatcherByTarget(callables=callables)

    def failing(self, name: str) -> Claim:
        return a_claim(name, target=HttpTarget("https://example.com"))  # It was given no dispatcher for this.


class AgentByWords:
    """Answers, fails or waits, as it is told."""

    async def process_prompt(self, prompt: Prompt, _: CallTool) -> Reply:
        if prompt.words == "hang":
            await asyncio.Event().wait()
        return failed() if prompt.words == "fail" else reply("done")


class TestPromptDispatcher(DispatcherContract):
    """Each claim is for another user, as a conversation has one turn at a time until its run settles."""

    users = count()

    @pytest.fixture
    async def dispatcher(self) -> Dispatcher:
        self.users = count()
        agents = await AgentFixture(AgentByWords()).open()
        for number in range(8):
            await agents.ask("put_user", user_id=f"user-{number}")
        return agents.prompts

    def succeeding(self, name: str) -> Claim:
        return self._claim(name, "succeed")

    def failing(self, name: str) -> Claim:
        return self._claim(name, "fail")

    def hanging(self, name: str) -> Claim:
        return self._claim(name, "hang")

    def _claim(self, name: str, words: str) -> Claim:
        target = PromptTarget(HELPER, f"user-{next(self.users)}", words)
        return a_claim(name, tenant_id=TENANT, baseline=Once(NEW_YEAR), target=target)
