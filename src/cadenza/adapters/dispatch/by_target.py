"""Dispatches each claim by the kind of its target."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Self

from cadenza.domain.monitoring.heartbeat import outcome_of
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.target import (
    CallableTarget,
    HeartbeatTarget,
    HttpTarget,
    McpTarget,
    PromptTarget,
)
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.monitoring import HeartbeatStore


class DispatcherByTarget:
    """Chooses the dispatcher by the kind of target; a kind without a dispatcher is a failed run."""

    def __init__(
        self,
        *,
        http: Dispatcher | None = None,
        callables: Dispatcher | None = None,
        prompts: Dispatcher | None = None,
        heartbeats: Dispatcher | None = None,
        mcp: Dispatcher | None = None,
    ) -> None:
        self._dispatchers: dict[type, Dispatcher | None] = {
            HttpTarget: http,
            CallableTarget: callables,
            PromptTarget: prompts,
            HeartbeatTarget: heartbeats,
            McpTarget: mcp,
        }

    async def execute(self, claim: Claim) -> Outcome:
        """Run the target with the dispatcher of its kind."""
        target = claim.endpoint.target
        dispatcher = self._dispatchers.get(type(target))
        if dispatcher is None:
            kind = type(target).__name__.removesuffix("Target").lower()
            return Outcome(RunStatus.FAILURE, error=f"this worker does not run {kind} targets")
        return await dispatcher.execute(claim)


class HeartbeatDispatcher:
    """Reads the signals of a slot; the same ones again if the slot is run again."""

    def __init__(self, store: HeartbeatStore) -> None:
        self._store = store

    async def execute(self, claim: Claim) -> Outcome:
        """What the sender said; a heartbeat that is missing is a failure."""
        return outcome_of(await self._store.take_signals(claim.key, claim.slot), claim)


class DispatcherOnDemand:
    """A dispatcher that is opened for the first claim, so that a process without claims never opens it."""

    def __init__(self, open_dispatcher: Callable[[], AbstractAsyncContextManager[Dispatcher]]) -> None:
        self._open = open_dispatcher
        self._opened: Dispatcher | None = None
        self._opening_lock = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def execute(self, claim: Claim) -> Outcome:
        """Run the target, and open the dispatcher first if needed."""
        async with self._opening_lock:
            if self._opened is None:
                self._opened = await self._stack.enter_async_context(self._open())
        return await self._opened.execute(claim)
