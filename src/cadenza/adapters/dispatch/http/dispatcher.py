"""Runs HTTP targets."""

import asyncio
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver

from cadenza.adapters.dispatch.http.connections import ConnectionPools, HttpSettings
from cadenza.adapters.dispatch.http.exchange import Exchange
from cadenza.adapters.dispatch.http.failure import ExchangeFailed, Failure, as_exchange_failure
from cadenza.adapters.dispatch.http.name_resolver import lookups_for
from cadenza.adapters.null import NoLog
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.ports.clock import Clock
from cadenza.ports.secrets import SecretResolver
from cadenza.ports.telemetry import Logger

DEFAULTS = HttpSettings()
NO_LOG = NoLog()


class HttpDispatcher:
    """Sends a claim's request and records what comes back: bounded in time and size, without secrets.

    It holds its connections from `open` to `close`, or as an async context manager.
    """

    def __init__(
        self,
        *,
        secrets: SecretResolver,
        clock: Clock,
        settings: HttpSettings = DEFAULTS,
        resolver: AbstractResolver | None = None,
        log: Logger = NO_LOG,
    ) -> None:
        self._secrets = secrets
        self._clock = clock
        self._log = log
        self._pools = ConnectionPools(settings, resolver)

    async def open(self) -> Self:
        """Open the connection pools."""
        await self._pools.open()
        return self

    async def close(self) -> None:
        """Close every connection."""
        await self._pools.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def execute(self, claim: Claim) -> Outcome:
        """Run the claimed endpoint's target once; every failure of the exchange is an outcome."""
        loop, target = asyncio.get_running_loop(), claim.endpoint.target
        assert isinstance(target, HttpTarget), "only HTTP targets come here"
        exchange, began = Exchange(claim, target), loop.time()
        before = lookups_for.set(claim.endpoint.tenant_id)
        try:
            failed = await self._run(exchange, claim.endpoint.policy.timeout_ms)
        finally:
            lookups_for.reset(before)
        duration_ms = max(0, round((loop.time() - began) * 1_000))
        if failed is None:
            return Outcome(RunStatus.SUCCESS, duration_ms, response=exchange.response)
        if failed.detail:
            endpoint = claim.endpoint
            self._log.debug(
                "target refused", reason=failed.detail, tenant=endpoint.tenant_id, endpoint=endpoint.id
            )
        status = RunStatus.TIMEOUT if failed.failure is Failure.TIMEOUT else RunStatus.FAILURE
        response: Json = {"failure": failed.failure.value, **exchange.response}
        error, kind = exchange.revealed.mask(failed.sentence), failed.failure.error_class
        return Outcome(status, duration_ms, error, response, error_class=kind)

    async def _run(self, exchange: Exchange, timeout_ms: int) -> ExchangeFailed | None:
        try:
            await exchange.run(self._pools, secrets=self._secrets, now=self._clock.now())
        except ExchangeFailed as failed:
            return failed
        except TimeoutError:
            return ExchangeFailed(Failure.TIMEOUT, f"no answer within {timeout_ms} ms")
        except (aiohttp.ClientError, OSError) as problem:
            return as_exchange_failure(problem)
        return None
