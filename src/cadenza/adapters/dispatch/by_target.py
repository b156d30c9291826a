"""Hands each claim to the dispatcher of its target's kind, which may be opened only then."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Self

from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget, PromptTarget
from cadenza.ports.dispatcher import Dispatcher


class DispatcherByTarget:
    """Knows who carries out what; a kind that nobody carries out here is a failure that says so."""

    def __init__(
        self,
        *,
        http: Dispatcher | None = None,
        callables: Dispatcher | None = None,
        prompts: Dispatcher | None = None,
    ) -> None:
        self._dispatchers = {HttpTarget: http, CallableTarget: callables, PromptTarget: prompts}

    async def execute(self, claim: Claim) -> Outcome:
        """Let the right dispatcher run the target."""
        target = claim.endpoint.target
        dispatcher = self._dispatchers.get(type(target))
        if dispatcher is None:
            kind = type(target).__name__.removesuffix("Target").lower()
            return Outcome(RunStatus.FAILURE, error=f"this worker does not run {kind} targets")
        return await dispatcher.execute(claim)


class DispatcherOnDemand:
    """Opened for the first claim, and closed in the end: who runs nothing does not wait for it."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[Dispatcher]]) -> None:
        self._opening = opening
        self._opened: Dispatcher | None = None
        self._one_at_a_time = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def execute(self, claim: Claim) -> Outcome:
        """Let it run the target."""
        async with self._one_at_a_time:
            if self._opened is None:
                self._opened = await self._stack.enter_async_context(self._opening())
        return await self._opened.execute(claim)
