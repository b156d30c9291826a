"""Bugs in daily windows and in plans, put into the product on purpose."""

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Any

from pytest import MonkeyPatch  # noqa: PT013 - the only name of it
from tests.simulation.whole_system.scenario import Scenario
from tests.simulation.whole_system.seeded_bug import SeededBug

from cadenza.domain.daily import rules
from cadenza.domain.daily.user import Finalization
from cadenza.domain.scheduling import governor, settle
from cadenza.domain.scheduling.calendars import planning, starting
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim, Outcome
from cadenza.engine.daily import executor, finalizer, queue, tick
from cadenza.engine.worker import execute


def _throttle_ignored(patch: MonkeyPatch) -> None:
    original = queue.DailyQueue.offer_result

    def offer_result(self: Any, day: Any, steady_ms: float) -> Any:
        answer = original(self, day, steady_ms)
        return queue.OfferResult.ENQUEUED if answer is queue.OfferResult.THROTTLED else answer

    patch.setattr(queue.DailyQueue, "offer_result", offer_result)


def _tick_waits_for_runs(patch: MonkeyPatch) -> None:
    original = tick.DailyTicker._enqueue

    async def enqueue(self: Any, wanted: Any, steady_ms: float) -> int:
        enqueued = await original(self, wanted, steady_ms)
        while self._queue._held:  # noqa: ASYNC110 - a bug
            await asyncio.sleep(0.1)
        return enqueued

    patch.setattr(tick.DailyTicker, "_enqueue", enqueue)


def _claim_is_written(patch: MonkeyPatch) -> None:
    original = executor.DailyExecutor._run

    async def run(self: Any, day: Any) -> None:
        def begun(user: Any) -> Finalization:
            return Finalization(replace(user, last_run_at=self._daily_clock.read().now), ())

        await self._finalizer._writer.write({day.key: begun})
        await original(self, day)

    patch.setattr(executor.DailyExecutor, "_run", run)


def _one_verdict_for_all_days(patch: MonkeyPatch) -> None:
    original = rules.finalize_cutoffs

    def finalize_cutoffs(*given: Any) -> Any:
        decided = original(*given)
        return None if decided is None else decided._replace(verdicts=decided.verdicts[-1:])

    patch.setattr(finalizer, "finalize_cutoffs", finalize_cutoffs)


def _hints_ignored_after_a_run(patch: MonkeyPatch) -> None:
    original = governor.plan_next_run
    patch.setattr(
        settle,
        "plan_next_run",
        lambda now, one, cron: original(now, evolve(one, interval_hint=None, one_shot_hint=None), cron),
    )


def _late_slots_start_while_closed(patch: MonkeyPatch) -> None:
    def outcome_while_closed(claim: Claim, now: datetime) -> Outcome | None:
        return starting.outcome_while_closed(claim, now) if claim.source is Source.CLOSED else None

    patch.setattr(execute, "outcome_while_closed", outcome_while_closed)


def _every_closed_slot_is_skipped(patch: MonkeyPatch) -> None:
    patch.setattr(planning, "_skipped_since_closed", lambda *_: False)


def _anything(_: Scenario) -> bool:
    return True


def _daily(one: Scenario) -> bool:
    return one.has_daily


PLAN_BUGS = (
    SeededBug("the delay between daily tries is ignored", _throttle_ignored, _daily, seed=25),
    SeededBug("a tick waits for the runs that it starts", _tick_waits_for_runs, _daily),
    SeededBug("a daily run is written down when it begins", _claim_is_written, _daily),
    SeededBug(
        "of several days that passed only the last has a verdict",
        _one_verdict_for_all_days,
        lambda one: one.days_down > 1,
    ),
    SeededBug(
        "hints are ignored after a run",
        _hints_ignored_after_a_run,
        lambda one: one.has_api or one.has_planner,
    ),
    SeededBug("late slots start while calendars are closed", _late_slots_start_while_closed, _anything),
    SeededBug("every slot of a closed time is skipped", _every_closed_slot_is_skipped, _anything),
)
