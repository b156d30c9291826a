"""The dispatchers behind the engine's own executor."""

import asyncio

from tests.integration.http.loopback_server import a_claim, a_dispatcher, a_server

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.by_target import DispatcherByTarget
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.null import NoQuota
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget
from cadenza.engine.worker.execute import Executor
from cadenza.ports.access import QuotaAnswer


async def test_requests_and_functions_run_side_by_side_and_a_hanging_one_is_a_timeout() -> None:
    callables = CallableDispatcher()
    callables.register("work", lambda: "done")
    async with a_server() as good, a_server(lambda *_: asyncio.sleep(60)) as bad, a_dispatcher() as http:
        table = DispatcherByTarget(http=http, callables=callables)
        executor = Executor(dispatcher=table, quota=NoQuota(), clock=SystemClock())
        request = a_claim(HttpTarget(good.url()))
        function = request._replace(endpoint=evolve(request.endpoint, target=CallableTarget("work")))
        hanging = a_claim(HttpTarget(bad.url()), timeout_ms=100)
        completions = await asyncio.gather(
            *(executor.execute(claim, QuotaAnswer()) for claim in (request, function, hanging))
        )
    assert [completion.outcome.status for completion in completions] == [
        RunStatus.SUCCESS,
        RunStatus.SUCCESS,
        RunStatus.TIMEOUT,
    ]
