"""Random walks through claim, outcome and steering, cycle after cycle."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import NO_CALENDARS, modes
from tests.scheduling.scheduling_fixtures import CRON, HOUR, MINUTE, NOW, ORIGIN, SECOND, Worker, an_endpoint

from cadenza.domain.errors import CadenzaError
from cadenza.domain.scheduling.abandon import tidy
from cadenza.domain.scheduling.baseline import Baseline, Cron, Every, Once
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.domain.scheduling.due import opens_at
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.policy import Guard, Policy
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import clear_hints, run_now, take_interval_hint, take_one_shot
from cadenza.domain.validation import milliseconds

Step = Callable[[Worker, int], None]
FAR = NOW + milliseconds(1_000 * HOUR)


class Cycle(NamedTuple):
    """Steer, claim at or before the next run's moment, steer while claimed, end, and let time pass."""

    before: Step
    ahead_ms: int
    during: Step
    end: Step
    span_ms: int
    idle_ms: int


def stay(worker: Worker, span_ms: int) -> None:
    """Do nothing."""


def hint_interval(worker: Worker, span_ms: int) -> None:
    if not isinstance(worker.endpoint.baseline, Once):
        hint = IntervalHint(span_ms, worker.now + milliseconds(10 * MINUTE))
        worker.amend(take_interval_hint(worker.endpoint, hint, now=worker.now, cron=CRON, origin=ORIGIN))


def hint_one_shot(worker: Worker, span_ms: int) -> None:
    moment = worker.now + milliseconds(span_ms)
    hint = OneShotHint(moment, moment + milliseconds(MINUTE))
    worker.amend(take_one_shot(worker.endpoint, hint, now=worker.now, cron=CRON, origin=ORIGIN))


def pause(worker: Worker, span_ms: int) -> None:
    worker.pause(span_ms)


def resume(worker: Worker, span_ms: int) -> None:
    worker.resume()


def run_at_once(worker: Worker, span_ms: int) -> None:
    try:
        worker.amend(run_now(worker.endpoint, now=worker.now))
    except CadenzaError:
        return


def forget_hints(worker: Worker, span_ms: int) -> None:
    worker.amend(clear_hints(worker.endpoint, now=worker.now, cron=CRON, origin=ORIGIN))


def ending(status: RunStatus) -> Step:
    def end(worker: Worker, span_ms: int) -> None:
        worker.start()
        if worker.held is not None:
            worker.wait(span_ms)
            worker.end(status)

    end.__name__ = status
    return end


def refuse_for_quota(worker: Worker, span_ms: int) -> None:
    worker.start()
    if worker.held is not None:
        worker.end(RunStatus.SKIPPED, opens_at=worker.now + milliseconds(span_ms))


def give_back(worker: Worker, span_ms: int) -> None:
    """What a worker does when it shuts down."""
    if worker.held is not None:
        worker.end(RunStatus.CANCELLED)


def lose(worker: Worker, span_ms: int) -> None:
    """Let the lease run out, started or not."""
    if worker.held is not None:
        worker.wait(span_ms)
        worker.end(RunStatus.ABANDONED)


ENDS: tuple[Step, ...] = (
    *map(ending, (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.SKIPPED)),
    refuse_for_quota,
    give_back,
    lose,
    stay,
)
STEERING: tuple[Step, ...] = (stay, hint_interval, pause, resume, run_at_once, forget_hints)
SPANS = st.sampled_from((1, SECOND, 20 * SECOND, MINUTE, 5 * MINUTE, HOUR)) | st.integers(1, HOUR)


def cycles(steering: Sequence[Step] = STEERING) -> st.SearchStrategy[list[Cycle]]:
    steer = st.sampled_from(steering)
    ahead = st.sampled_from((-SECOND, 0, 1, SECOND))
    return st.lists(st.builds(Cycle, steer, ahead, steer, st.sampled_from(ENDS), SPANS, SPANS), max_size=8)


def walk(worker: Worker, steps: Sequence[Cycle]) -> None:
    for step in steps:
        step.before(worker, step.span_ms)
        # At one and the same instant an endpoint could come due twice, and both times would be one slot.
        worker.wait(1)
        moment = opens_at(worker.endpoint)
        if moment is not None and moment < FAR:
            worker.now = max(worker.now, moment - milliseconds(step.ahead_ms))
        worker.claim(SECOND)
        step.during(worker, step.span_ms)
        worker.wait(1)
        step.end(worker, step.span_ms)
        worker.wait(step.idle_ms)
        worker.amend(tidy(worker.endpoint, now=worker.now))


def workers(
    *baselines: Baseline, rules: st.SearchStrategy[CalendarRules] = NO_CALENDARS
) -> st.SearchStrategy[Worker]:
    return st.builds(
        lambda baseline, guard, mode, policy, rules: Worker(
            an_endpoint(
                baseline=baseline,
                guard=guard,
                hint_mode=mode,
                policy=policy,
                calendar_rules=rules,
                next_run_at=NOW,
            )
        ),
        st.sampled_from(baselines),
        st.sampled_from((Guard(), Guard(20 * SECOND), Guard(SECOND, 5 * MINUTE))),
        modes(),
        st.sampled_from((Policy(), Policy(max_attempts=3), Policy(max_attempts=2, retry_delay_ms=0))),
        rules,
    )


REPEATING = (Every(SECOND), Every(MINUTE), Every(HOUR), Cron("*/1 * * * *"), Cron("*/15 * * * *"))
