"""Simulated people: they create, steer, pause and delete over the API, and ask again if nothing answers."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from hashlib import sha256

from tests.simulation.whole_system.actions import DONE, REFUSED, TENANT, Actions, Request, SeenByPeople
from tests.simulation.whole_system.roles import Roles
from tests.simulation.whole_system.simulated_world import SimulatedWorld

from cadenza.domain.errors import CadenzaError, Unavailable
from cadenza.operations.application import Application
from cadenza.operations.idempotency import Answer, IdempotentRequest, ReplySubject, StillRunning, reply_once
from cadenza.operations.table import BY_NAME
from cadenza.testing.simulated_process import SimulatedProcess

PATIENCE_S = 6.0


class ConnectionLost(Exception):
    """No answer came."""


class SimulatedPeople:
    """Ask for things, each with an idempotency key, until there is an answer."""

    def __init__(
        self, world: SimulatedWorld, roles: Roles, *, endpoints: list[str], runs: SeenByPeople | None = None
    ) -> None:
        self._world = world
        self._roles = roles
        self._waiting: dict[SimulatedProcess, list[asyncio.Future[Answer]]] = {}
        self._random = world.chance("people")
        self.actions = Actions(world, endpoints, runs)
        self.is_over = False

    def forget(self, process: SimulatedProcess) -> None:
        """A process died: who waits for it learns that."""
        for answer in self._waiting.pop(process, ()):
            if not answer.done():
                answer.set_exception(ConnectionLost())

    async def live(self) -> None:
        """Ask for something now and then."""
        while not self.is_over:
            await asyncio.sleep(self._random.random() * 5)
            await self._ask(self.actions.choose())

    async def _ask(self, request: Request) -> None:
        """Ask until there is an answer, or the simulation ends."""
        while request.answer is None:
            with suppress(ConnectionLost, Unavailable, StillRunning, TimeoutError):
                self.actions.note(request, await self._ask_once(request))
                return
            await asyncio.sleep(1 + self._random.random() * 2)

    async def _ask_once(self, request: Request) -> Answer:
        servers = list(self._roles.applications.items())
        if not servers:
            raise ConnectionLost
        process, application = self._random.choice(servers)
        answer: asyncio.Future[Answer] = self._world.loop.create_future()
        self._waiting.setdefault(process, []).append(answer)
        work = partial(self._serve, partial(_reply, request, application), answer)
        self._world.loop.run_in_process(process, lambda: asyncio.create_task(work()))
        try:
            async with asyncio.timeout(PATIENCE_S):
                given = await answer
        finally:
            if answer in (waiting := self._waiting.get(process, [])):
                waiting.remove(answer)
        endpoint_id = request.arguments.get("endpoint_id", "")
        self._world.note("person", f"{request.action} {endpoint_id}: {given.status}")
        return given

    async def _serve(self, reply: Callable[[], Awaitable[Answer]], answer: "asyncio.Future[Answer]") -> None:
        """What a server does with a request."""
        try:
            given = await reply()
        except CadenzaError as problem:
            self._world.later(0.001, _fail, answer, problem)
        except Exception as bug:  # noqa: BLE001 - no request may end so
            self._world.violation(f"a request failed: {bug!r}")
        else:
            self._world.later(0.001, _succeed, answer, given)


async def _reply(request: Request, application: Application) -> Answer:
    operation, arguments = BY_NAME[request.action], request.arguments
    content = f"{request.action} {sorted(arguments.items())}"
    idempotent = IdempotentRequest(ReplySubject(TENANT), request.key, sha256(content.encode()).hexdigest())

    async def carry_out() -> Answer:
        try:
            view = await application.perform(operation, arguments, request.caller)
        except Unavailable:
            raise
        except CadenzaError as problem:
            return Answer(REFUSED, problem.message.encode())
        return Answer(DONE, view.model_dump_json().encode())

    return await reply_once(application.dependencies, idempotent, carry_out, calls_out=operation.calls_out)


def _succeed(answer: "asyncio.Future[Answer]", given: Answer) -> None:
    if not answer.done():
        answer.set_result(given)


def _fail(answer: "asyncio.Future[Answer]", problem: CadenzaError) -> None:
    if not answer.done():
        answer.set_exception(problem)
