"""Trials of targets that hang: they end with their client, in time, and few go on at once."""

import asyncio
from functools import partial
from typing import Any

import pytest
from tests.surfaces.api_in_process import ApiInProcess

from cadenza.domain.scheduling.run import Claim, Outcome
from cadenza.operations.scheduling.preview import LONGEST_TRIAL_MS, TRIALS_AT_ONCE

TRIAL = "POST /v1/endpoints/traffic/test"


class HangingTarget:
    """A target that never answers."""

    def __init__(self, api: ApiInProcess) -> None:
        self.begun, self.ended = asyncio.Semaphore(0), asyncio.Semaphore(0)
        self.timeouts: list[int] = []
        api.dispatcher.on("traffic", self)

    async def __call__(self, claim: Claim) -> Outcome:
        self.timeouts.append(claim.endpoint.policy.timeout_ms)
        self.begun.release()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.release()
        raise AssertionError


@pytest.fixture
async def hanging(api: ApiInProcess) -> HangingTarget:
    await api.create_endpoint()
    return HangingTarget(api)


async def ask_until(api: ApiInProcess, left: asyncio.Event, **headers: str) -> list[Any]:
    """Ask for a trial as a client who leaves when the event is set; what they were sent."""
    sent: list[Any] = []
    given = {"authorization": f"Bearer {await api.key()}", **headers}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/endpoints/traffic/test",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    parts = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        if parts:
            return parts.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await api.app(scope, receive, send)
    return sent


async def test_a_trial_ends_when_its_client_leaves(api: ApiInProcess, hanging: HangingTarget) -> None:
    left = asyncio.Event()
    asking = asyncio.create_task(ask_until(api, left, **{"idempotency-key": "k1"}))
    await hanging.begun.acquire()
    left.set()
    assert await asking == []
    await hanging.ended.acquire()
    assert not api.application.dependencies.trials
    again = asyncio.create_task(api.ask(TRIAL, {}, idempotency_key="k1"))
    await hanging.begun.acquire()
    again.cancel()
    await again


async def test_a_trial_has_a_timeout_that_somebody_would_wait_for(
    api: ApiInProcess, hanging: HangingTarget
) -> None:
    patient = {"policy": {"timeout_ms": 600_000}}
    assert (await api.ask("PATCH /v1/endpoints/traffic", patient)).status == 200
    asking = asyncio.create_task(api.ask(TRIAL))
    await hanging.begun.acquire()
    assert hanging.timeouts == [LONGEST_TRIAL_MS]
    asking.cancel()
    answer = await asking
    assert (answer.status, answer.problem) == (503, "unavailable")


async def test_of_a_tenant_few_trials_go_on_at_once(api: ApiInProcess, hanging: HangingTarget) -> None:
    trial = partial(api.ask, TRIAL)
    going_on = []
    for _ in range(TRIALS_AT_ONCE):
        api.clock.jump(10_000)  # A window of the rate of trials.
        going_on.append(asyncio.create_task(trial()))
        await hanging.begun.acquire()
    api.clock.jump(10_000)
    refused = await trial()
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    await api.create_endpoint("south")
    elsewhere = asyncio.create_task(trial(by="south"))
    await hanging.begun.acquire()
    for one in (going_on[0], elsewhere):
        one.cancel()
        await one
    another = asyncio.create_task(trial())
    await hanging.begun.acquire()
    for one in (*going_on[1:], another):
        one.cancel()
        await one
