"""Each contract fails for an adapter that breaks its port's promise."""

import asyncio
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.agents.delivery import Subtitle
from cadenza.domain.daily.user import DONE, DailyRunResult
from cadenza.domain.errors import CadenzaError, Unavailable
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.ports.access import QuotaAnswer, QuotaRequest
from cadenza.ports.agents import CallTool, Prompt, Reply
from cadenza.ports.daily import LaneServer
from cadenza.ports.planning import EMPTY_RESULT, Briefing, PlannerResult
from cadenza.testing import FakeClock, an_endpoint
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts import (
    AgentRuntimeContract,
    ClockContract,
    CronContract,
    DailyLanesContract,
    DailyTargetRunnerContract,
    DispatcherContract,
    PlannerContract,
    QuotaContract,
    StopwatchContract,
)
from cadenza.testing.contracts.clock import utc
from cadenza.testing.contracts.daily.lanes import Process
from cadenza.testing.contracts.dispatcher import a_claim
from cadenza.testing.contracts.planning.planner import RecordingTools

BRIEFING = Briefing(now=NEW_YEAR, endpoint=an_endpoint())


class LocalClock(FakeClock):
    """Says a moment without a zone."""

    def now(self) -> datetime:
        return super().now().replace(tzinfo=None)


class HastyClock(FakeClock):
    """Does not sleep."""

    async def sleep(self, span_ms: float) -> None:
        await asyncio.sleep(0)


async def test_a_clock_without_a_zone_or_without_sleep_is_found() -> None:
    with pytest.raises(AssertionError):
        ClockContract().test_now_is_a_moment_in_utc(LocalClock())
    with pytest.raises(AssertionError):
        await ClockContract().test_a_sleep_lasts_at_least_its_span_by_the_same_clock(HastyClock())


def test_a_stopwatch_that_is_set_back_is_found() -> None:
    class Backwards:
        left = 100.0

        def elapsed_ms(self) -> float:
            self.left -= 1
            return self.left

    with pytest.raises(AssertionError):
        StopwatchContract().test_it_never_runs_back(Backwards())


class WrongCron(CronsimCron):
    """Fires at the very moment, knows no zones and refuses nothing."""

    def next(self, expression: str, after: datetime, timezone: str = "UTC") -> datetime:
        return super().next(expression, after - timedelta(microseconds=1))

    def check(self, expression: str, timezone: str = "UTC") -> None:
        """Nothing is refused."""


def test_a_cron_that_is_early_has_no_zones_or_refuses_nothing_is_found() -> None:
    contract, cron, nine = CronContract(), WrongCron(), utc(2025, 1, 1, 9)
    with pytest.raises(AssertionError):
        contract.test_it_fires_first_strictly_after_a_moment(cron, "0 9 * * *", nine, utc(2025, 1, 2, 9))
    for check in (
        contract.test_a_fire_in_a_zone_is_a_moment_in_utc,
        contract.test_a_fixed_time_in_a_skipped_hour_fires_once_right_after_it,
        contract.test_a_fixed_time_in_a_repeated_hour_fires_once,
    ):
        with pytest.raises(AssertionError):
            check(cron)
    with pytest.raises(pytest.fail.Exception):
        contract.test_what_can_never_fire_is_refused(cron, "0 0 30 2 *", "UTC")


class Claims(DispatcherContract):
    """Claims by name."""

    def succeeding(self, name: str) -> Claim:
        return a_claim(name)

    def failing(self, name: str) -> Claim:
        return a_claim(name)

    def hanging(self, name: str) -> Claim:
        return a_claim(name)


class RaisingDispatcher:
    """Lets through what its target raises."""

    async def execute(self, claim: Claim) -> Outcome:
        if claim.endpoint.name == "bad":
            raise ValueError("no")
        return Outcome(RunStatus.SUCCESS)


class OptimisticDispatcher:
    """Takes everything for a success, at once."""

    async def execute(self, claim: Claim) -> Outcome:
        return Outcome(RunStatus.SUCCESS)


async def test_a_dispatcher_that_raises_or_hides_failures_is_found() -> None:
    contract = Claims()
    for dispatcher in (RaisingDispatcher(), OptimisticDispatcher()):
        with pytest.raises((AssertionError, ValueError)):
            await contract.test_what_fails_is_an_outcome_that_says_why(dispatcher)
        with pytest.raises((AssertionError, ValueError)):
            await contract.test_one_that_fails_costs_the_others_nothing(dispatcher)
    with pytest.raises(AssertionError):
        await contract.test_a_cancelled_run_ends(OptimisticDispatcher())


class ShortQuota:
    """Answers only what it refuses, for all kinds, and names a moment that has passed."""

    async def check(self, requests: Sequence[QuotaRequest]) -> list[QuotaAnswer]:
        return [QuotaAnswer(NEW_YEAR) for request in requests if request.tenant_id == "closed"]


async def test_a_quota_that_leaves_answers_out_or_opens_in_the_past_is_found() -> None:
    contract, quota = QuotaContract(), ShortQuota()
    with pytest.raises(ValueError, match="not enough values"):
        await contract.test_what_is_open_is_allowed(quota)
    for check in (
        contract.test_each_request_is_answered_in_its_place,
        contract.test_one_kind_does_not_close_another,
    ):
        with pytest.raises(AssertionError):
            await check(quota)
    with pytest.raises(AssertionError):
        await contract.test_what_is_closed_says_from_when_it_is_open(quota, NEW_YEAR)


class WrongPlanner:
    """Wants everything, and steers a stranger with a tool of its own."""

    name = "wrong"

    def wants(self, briefing: Briefing) -> bool:
        return True

    async def sit(self, briefing: Briefing, call: Any) -> PlannerResult:
        await call(an_endpoint("stranger"), "delete_endpoint", {})
        return EMPTY_RESULT._replace(look_again_ms=0)


async def test_a_planner_that_wants_everything_or_steers_strangers_is_found() -> None:
    contract, planner = PlannerContract(), WrongPlanner()
    with pytest.raises(AssertionError):
        await contract.test_it_wants_what_is_interesting_and_leaves_the_rest(planner, BRIEFING, BRIEFING)
    for check in (
        contract.test_it_steers_the_endpoint_and_its_siblings_by_the_tools_alone,
        contract.test_its_result_says_what_it_thought_and_spent,
        contract.test_it_changes_nothing_where_there_is_nothing_to_do,
    ):
        with pytest.raises(AssertionError):
            await check(planner, BRIEFING)
    await planner.sit(BRIEFING, RecordingTools())


class RaisingAgent:
    """Lets a refusal and its provider's failure through."""

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        if prompt.tools:
            await call("create_schedule", {})
        raise Unavailable("The provider is down.")


class SilentAgent:
    """Answers nothing, and says so nowhere."""

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        return Reply()


class BabblingAgent:
    """Answers although its model failed."""

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        return Reply((Subtitle("Hello."),))


async def test_an_agent_that_raises_or_says_nothing_is_found() -> None:
    contract = AgentRuntimeContract()
    for runtime in (RaisingAgent(), SilentAgent()):
        for check in (
            contract.test_a_message_gets_an_answer,
            contract.test_a_tool_that_refuses_ends_in_a_reply,
            contract.test_a_scheduled_prompt_gets_an_answer_without_any_tool,
        ):
            with pytest.raises((AssertionError, CadenzaError)):
                await check(runtime)
    with pytest.raises(AssertionError):
        await contract.test_a_model_that_fails_is_a_reply_with_an_error(BabblingAgent())


class StubbornRunner:
    """Tries again by itself, raises, and never hangs."""

    def __init__(self, calls: list[str]) -> None:
        self._calls = calls

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> DailyRunResult:
        self._calls += [user_id, user_id]
        if user_id == "ben" and len(self._calls) > 4:
            raise ValueError("no")
        return DONE


async def test_a_runner_that_retries_or_hides_failures_is_found() -> None:
    contract, calls = DailyTargetRunnerContract(), list[str]()
    runner = StubbornRunner(calls)
    with pytest.raises(AssertionError):
        await contract.test_a_failure_is_a_result_that_says_what_went_wrong(runner)
    with pytest.raises(AssertionError):
        await contract.test_it_does_not_retry(runner, calls)
    with pytest.raises((AssertionError, ValueError)):
        await contract.test_a_failure_of_one_user_costs_another_nothing(runner)
    with pytest.raises(AssertionError):
        await contract.test_a_cancelled_run_ends(runner)


class GreedyLanes:
    """Serves all lanes at once, whoever else does, and goes on to do so after its end."""

    async def hold(self, server: LaneServer) -> None:
        server.serve(range(8))
        await asyncio.Event().wait()


async def test_lanes_that_two_processes_serve_are_found() -> None:
    contract, servers = DailyLanesContract(), list[Any]()
    processes = [Process(GreedyLanes(), servers) for _ in range(2)]
    for check in (
        contract.test_every_lane_is_served_and_none_twice,
        contract.test_what_a_process_served_others_serve_after_its_end,
    ):
        with pytest.raises(AssertionError):
            await check(processes)
    for process in processes:
        await process.end()
