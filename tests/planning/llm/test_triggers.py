"""When a model is asked at all: an endpoint on which nothing happens costs nothing."""

import pytest
from pydantic_ai.models.test import TestModel
from tests.planning.llm.llm_fixtures import SHOP, TRACE, LlmJob

from cadenza.adapters.planners.llm import triggers
from cadenza.adapters.planners.llm.planner import LlmPlanner
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.planner_settings import Planning
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import HttpTarget


@pytest.fixture
async def job() -> LlmJob:
    return await LlmJob().open()


def a_planner(job: LlmJob) -> LlmPlanner:
    return job.planner(TestModel(), pause_s=300)


async def wants(job: LlmJob, planner: LlmPlanner, trigger: Trigger = Trigger.RUN, name: str = SHOP) -> bool:
    return planner.wants(await job.briefing(name, trigger=trigger))


async def analyze(job: LlmJob, planner: LlmPlanner) -> None:
    await job.analyze(planner)


async def test_there_is_no_analysis_where_the_owner_does_not_want_it() -> None:
    job = await LlmJob().open(planning=Planning(llm=False))
    await job.ran({"queue": 1})
    await job.ran(status=RunStatus.FAILURE)
    for trigger in Trigger:
        assert not await wants(job, a_planner(job), trigger)


async def test_the_same_again_is_no_news(job: LlmJob) -> None:
    planner = a_planner(job)
    for _ in range(5):
        await job.ran({"queue": 1})
        assert not await wants(job, planner)


async def test_another_answer_is_news(job: LlmJob) -> None:
    await job.ran({"queue": 1})
    await job.ran({"queue": 2})
    assert await wants(job, a_planner(job))


@pytest.mark.parametrize("status", [RunStatus.FAILURE, RunStatus.TIMEOUT])
async def test_a_failure_is_news(job: LlmJob, status: RunStatus) -> None:
    await job.ran(status=status)
    assert await wants(job, a_planner(job))


async def test_headers_and_sizes_are_no_news() -> None:
    job = await LlmJob().open(target=HttpTarget("https://shop.example/health"))
    planner = a_planner(job)
    for second in range(3):
        date = {"date": f"Thu, 01 Jan 2026 00:00:0{second} GMT"}
        await job.ran({"status": 200, "headers": date, "size": 10 + second, "body": {"ok": True}})
        assert not await wants(job, planner)
    await job.ran({"status": 200, "headers": {}, "size": 11, "body": {"ok": False}})
    assert await wants(job, planner)


async def test_only_what_is_watched_is_news() -> None:
    planning = Planning(llm=True, watch=("$.queue",))
    job = await LlmJob().open(target=HttpTarget("https://shop.example/health"), planning=planning)
    planner = a_planner(job)
    for second in range(3):
        await job.ran({"status": 200, "body": {"queue": 1, "at": second}})
        assert not await wants(job, planner)
    await job.ran({"status": 200, "body": {"queue": 7, "at": 3}})
    assert await wants(job, planner)


async def test_after_an_analysis_there_is_a_pause(job: LlmJob) -> None:
    planner = a_planner(job)
    await job.ran({"queue": 1})
    await job.ran({"queue": 2})
    await analyze(job, planner)
    for minute in range(1, 5):
        await job.ran({"queue": 2 + minute})
        assert not await wants(job, planner), f"{minute} minutes after the analysis"
    await job.ran({"queue": 6})
    assert await wants(job, planner)


async def test_a_change_within_the_pause_is_not_forgotten(job: LlmJob) -> None:
    planner = a_planner(job)
    await job.ran({"queue": 1})
    await analyze(job, planner)
    for _ in range(5):
        await job.ran({"queue": 2})
    assert await wants(job, planner), "the last two runs are alike, but differ from what was seen"


async def test_a_failure_that_goes_on_is_analyzed_once(job: LlmJob) -> None:
    planner = a_planner(job)
    await job.ran(status=RunStatus.FAILURE)
    await analyze(job, planner)
    for _ in range(20):
        await job.ran(status=RunStatus.FAILURE)
        assert not await wants(job, planner)
    await job.ran()
    assert await wants(job, planner), "a recovery is news"


async def test_an_analysis_that_is_due_takes_place(job: LlmJob) -> None:
    planner = a_planner(job)
    await job.ran({"queue": 1})
    assert await wants(job, planner, Trigger.DUE)


async def test_a_paused_endpoint_is_analyzed_when_a_sibling_without_a_model_fails(job: LlmJob) -> None:
    planner = a_planner(job)
    await _switch(job, SHOP, llm=False)
    await _switch(job, TRACE, llm=True)
    await job.ran({"queue": 1})
    assert not await wants(job, planner, Trigger.SIBLING, TRACE)
    await job.ran(status=RunStatus.FAILURE)
    assert await wants(job, planner, Trigger.SIBLING, TRACE)


async def test_a_sibling_with_a_model_of_its_own_is_no_news(job: LlmJob) -> None:
    await _switch(job, TRACE, llm=True)
    await job.ran(status=RunStatus.FAILURE)
    assert not await wants(job, a_planner(job), Trigger.SIBLING, TRACE)


async def test_what_was_skipped_shows_nothing(job: LlmJob) -> None:
    planner = a_planner(job)
    await job.ran({"queue": 1})
    await job.bench.tool(await job.endpoint(), "pause_until", untilIso=(job.bench.ms(1)).isoformat())
    assert not await wants(job, planner)


async def test_the_remembered_states_are_bounded(job: LlmJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triggers, "MOST_REMEMBERED", 1)
    planner = a_planner(job)
    await job.ran({"queue": 1})
    await analyze(job, planner)
    await job.analyze(planner, name=TRACE, trigger=Trigger.DUE)
    assert len(planner._triggers._last_analyses) == 1


async def _switch(job: LlmJob, name: str, *, llm: bool) -> None:
    key = (await job.endpoint(name)).key
    await job.store.endpoints.amend(
        key, lambda endpoint: ChangedEndpoint(evolve(endpoint, planning=Planning(llm=llm)))
    )
