"""Every promise broken and kept again, with the words that say so."""

from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import pytest

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.monitoring.slo import Judgement, Slo, SloMeasurement, SloSettings
from cadenza.domain.validation import iso
from cadenza.engine.monitoring.slo_watcher import SloWatcher
from cadenza.ports.monitoring import SloStatus
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.monitoring import scaled_to_clock, slo_settings
from cadenza.testing import FakeClock, FakeIds, FakeLog, FakeTelemetry
from cadenza.testing.fakes import LogLine

MINUTE = 60_000
BREACHED, KEPT = "an SLO is breached", "an SLO is OK again"
Minute = Callable[["SloFixture"], None]


class SloFixture:
    """A watcher that a test feeds, a minute at a time."""

    def __init__(self, store: MemoryStore | None = None, **settings: Any) -> None:
        self.clock, self.log, self.telemetry = FakeClock(), FakeLog(), FakeTelemetry()
        self.store = store or MemoryStore(FakeIds())
        self.last_idle_at: datetime | None = None
        self.watcher = SloWatcher(
            clock=self.clock,
            log=self.log,
            telemetry=self.telemetry,
            store=self.store.slos,
            process="host/up",
            settings=SloSettings(**settings),
            eval_ms=MINUTE,
            last_idle_at=lambda: self.last_idle_at,
        )

    def tell(self, event: str, measured: dict[str, float], **told: Any) -> None:
        self.watcher.emit(event, measured, {"scheduler": "daily", **told})

    def ticks(self, duration_ms: float, count: int = 10) -> None:
        for _ in range(count):
            self.tell("sched.tick.stop", {"duration_ms": duration_ms}, users_scanned=1)

    def jobs(self, duration_ms: float, count: int = 60) -> None:
        for _ in range(count):
            self.tell("sched.job.stop", {"duration_ms": duration_ms}, result="ok")

    def depth(self, depth: float) -> None:
        self.tell("sched.queue.depth", {"depth": depth}, today="2025-01-01")

    def in_flight(self, in_flight: int) -> None:
        self.tell("sched.executor.in_flight", {"in_flight": in_flight}, max_concurrency=4)

    def finalized(self, status: str, *, due_bucket: int = 540, late: bool = False, count: int = 1) -> None:
        for _ in range(count):
            told = {"status": status, "due_bucket": due_bucket, "late": late, "today": "2025-01-01"}
            self.tell("sched.finalize", {"days": 1}, **told)

    def minutes(self, count: int, minute: Minute | None = None) -> list[LogLine]:
        """So many minutes of the same, each evaluated at its end; what was said of SLOs."""
        before = len(self.log.lines)
        for _ in range(count):
            if minute is not None:
                minute(self)
            self.clock.jump(MINUTE)
            self.watcher.evaluate()
        return [line for line in self.log.lines[before:] if line.event in (BREACHED, KEPT)]

    def standing(self, slo: Slo) -> SloStatus:
        statuses = [one for one in self.watcher.evaluate() if one.state.measured]
        (found,) = [one for one in statuses if one.state.measured and one.state.measured.slo is slo]
        return found


def a_full_minute(fixture: SloFixture) -> None:
    fixture.in_flight(4)


def a_free_minute(fixture: SloFixture) -> None:
    fixture.in_flight(1)


def missed(fixture: SloFixture) -> None:
    fixture.finalized("success", count=9)
    fixture.finalized("cutoff_reached", due_bucket=61, count=2)
    fixture.finalized("cutoff_reached", due_bucket=540)


PROMISES: dict[Slo, tuple[Minute, Minute, dict[str, object]]] = {
    Slo.TICK_BUDGET: (
        lambda fixture: fixture.ticks(301),
        lambda fixture: fixture.ticks(200),
        {"value": 301.0, "threshold": 300, "samples": 30},
    ),
    Slo.SATURATION: (a_full_minute, a_free_minute, {"value": 1.0, "threshold": 0.8, "samples": 1}),
    Slo.QUEUE_PRESSURE: (
        lambda fixture: fixture.depth(1_001),
        lambda fixture: fixture.depth(10),
        {"value": 1_001.0, "threshold": 1_000, "samples": 3, "rising": False},
    ),
    Slo.JOB_LATENCY: (
        lambda fixture: fixture.jobs(31_000),
        lambda fixture: fixture.jobs(1_000),
        {"value": 31_000.0, "threshold": 30_000, "samples": 180},
    ),
    Slo.CUTOFF_MISS_RATE: (
        missed,
        lambda fixture: fixture.finalized("success", count=10),
        {"value": 0.25, "threshold": 0.05, "samples": 36, "due_bucket": 61},
    ),
}


@pytest.mark.parametrize("slo", PROMISES, ids=str)
def test_a_breach_is_said_once_and_its_end_once(slo: Slo) -> None:
    bad, good, measured = PROMISES[slo]
    fixture = SloFixture()
    assert fixture.minutes(2, bad) == []
    began = fixture.clock.now()
    (warning,) = fixture.minutes(1, bad)
    about = {"slo": slo.value, "scheduler": "daily", "window_minutes": 15}
    since = {"since": iso(fixture.clock.now())}
    assert warning == LogLine("warning", BREACHED, {**about, **measured, **since})
    assert fixture.minutes(15, bad) == []
    (over,) = fixture.minutes(40, good)
    assert (over.level, over.event) == ("info", KEPT)
    assert over.facts["slo"] == slo.value
    assert over.facts["since"] == since["since"]
    assert fixture.clock.now() > began
    assert [event.metadata["change"] for event in fixture.telemetry.events] == ["begun", "over"]


@pytest.mark.parametrize("slo", PROMISES, ids=str)
def test_two_bad_evaluations_are_not_three(slo: Slo) -> None:
    bad, good, _ = PROMISES[slo]
    fixture = SloFixture(slo_window_minutes=1, tick_ms=6_000)
    for _ in range(5):
        assert fixture.minutes(2, bad) == []
        assert fixture.minutes(1, good) == []


@pytest.mark.parametrize("slo", PROMISES, ids=str)
def test_a_breach_is_over_after_five_good_evaluations(slo: Slo) -> None:
    bad, good, _ = PROMISES[slo]
    fixture = SloFixture(slo_window_minutes=1, tick_ms=6_000)
    assert len(fixture.minutes(3, bad)) == 1
    assert fixture.minutes(4, good) == []
    assert fixture.minutes(1, bad) == []
    assert fixture.minutes(4, good) == []
    assert [line.event for line in fixture.minutes(1, good)] == [KEPT]


def test_what_is_merely_fair_does_not_end_a_breach() -> None:
    fixture = SloFixture(slo_window_minutes=1, tick_ms=6_000)
    fixture.minutes(3, lambda one: one.ticks(400))
    assert fixture.minutes(20, lambda one: one.ticks(240)) == []
    assert [line.event for line in fixture.minutes(5, lambda one: one.ticks(239))] == [KEPT]


def test_the_threshold_itself_is_no_breach() -> None:
    def at_the_limit(fixture: SloFixture) -> None:
        fixture.ticks(300)
        fixture.depth(1_000)
        fixture.jobs(30_000)

    fixture = SloFixture(slo_window_minutes=1, tick_ms=6_000)
    assert fixture.minutes(9, at_the_limit) == []


def test_job_latency_is_not_judged_on_fewer_than_sixty_jobs() -> None:
    fixture = SloFixture(slo_window_minutes=1, tick_ms=6_000)
    assert fixture.minutes(9, lambda one: one.jobs(99_000, count=59)) == []
    assert len(fixture.minutes(3, lambda one: one.jobs(99_000, count=60))) == 1


def test_ticks_are_not_judged_on_fewer_than_ten() -> None:
    fixture = SloFixture(slo_window_minutes=1, tick_ms=6_000)
    assert fixture.minutes(9, lambda one: one.ticks(999, count=9)) == []
    assert len(fixture.minutes(3, lambda one: one.ticks(999, count=10))) == 1


def test_a_worker_is_saturated_while_a_tenant_holds_all_the_places_it_may() -> None:
    def all_it_may(fixture: SloFixture) -> None:
        bounds = {"max_concurrency": 5, "full_tenants": 1}
        fixture.tell("sched.executor.in_flight", {"in_flight": 4}, **bounds)

    fixture = SloFixture(slo_window_minutes=1, tick_ms=6_000)
    (warning,) = fixture.minutes(5, all_it_may)
    assert warning.facts["slo"] == "saturation"


def test_saturation_counts_time_and_not_samples() -> None:
    def busy_but_brief(fixture: SloFixture) -> None:
        """Hundreds of samples say full, for six seconds of the minute."""
        for _ in range(300):
            fixture.in_flight(4)
            fixture.clock.jump(20)
        fixture.in_flight(1)

    fixture = SloFixture(slo_window_minutes=1, tick_ms=6_000)
    assert fixture.minutes(9, busy_but_brief) == []


def test_a_queue_that_grows_every_minute_of_the_window_is_a_breach_though_it_is_short() -> None:
    fixture, depth = SloFixture(slo_window_minutes=5), iter(range(1, 100))
    (warning,) = fixture.minutes(8, lambda one: one.depth(next(depth)))
    assert (warning.facts["slo"], warning.facts["rising"]) == ("queue_pressure", True)
    assert warning.facts["value"] == 5.0
    (over,) = fixture.minutes(9, lambda one: one.depth(5))
    assert over.event == KEPT


def test_what_was_finalized_late_stays_out_of_the_miss_rate() -> None:
    fixture = SloFixture()
    assert fixture.minutes(9, lambda one: one.finalized("cutoff_reached", late=True, count=50)) == []
    assert fixture.minutes(1) == []


def test_when_nothing_happens_any_more_a_breach_ends() -> None:
    fixture = SloFixture(slo_window_minutes=1, tick_ms=6_000)
    fixture.minutes(3, missed)
    assert [line.event for line in fixture.minutes(5)] == [KEPT]


def test_ticks_that_stop_coming_are_missed_at_once_and_so_is_their_return() -> None:
    fixture = SloFixture(dead_man_ms=180_000)
    fixture.minutes(3, lambda one: one.ticks(1))
    assert fixture.minutes(2) == []
    (warning,) = fixture.minutes(2)
    assert (warning.facts["slo"], warning.facts["threshold"]) == ("dead_man", 180_000)
    assert warning.facts["value"] == 240_000
    (over,) = fixture.minutes(1, lambda one: one.ticks(1))
    assert over.event == KEPT


def test_ticks_are_not_missed_while_the_process_was_idle() -> None:
    fixture = SloFixture(dead_man_ms=180_000)
    fixture.minutes(3, lambda one: one.ticks(1))
    fixture.clock.jump(60 * MINUTE)
    fixture.last_idle_at = fixture.clock.now()
    assert fixture.minutes(3) == []
    (warning,) = fixture.minutes(1)
    assert warning.facts["slo"] == "dead_man"


@pytest.mark.parametrize(
    ("tick_ms", "patience_ms"), [(60_000, 180_000), (500, 180_000), (600_000, 1_800_000)]
)
def test_ticks_that_come_seldom_are_not_missed_sooner(tick_ms: int, patience_ms: int) -> None:
    assert slo_settings(Settings(tick_ms=tick_ms)).dead_man_ms == patience_ms


def test_schedulers_are_judged_each_by_itself() -> None:
    fixture = SloFixture()

    def minute(one: SloFixture) -> None:
        one.ticks(400)
        for _ in range(500):
            one.watcher.emit("sched.tick.stop", {"duration_ms": 1}, {"scheduler": "endpoints"})

    (warning,) = fixture.minutes(3, minute)
    assert warning.facts["scheduler"] == "daily"


def test_names_of_schedulers_cannot_fill_the_memory() -> None:
    fixture = SloFixture()
    for number in range(1_000):
        fixture.watcher.emit("sched.tick.stop", {"duration_ms": 1}, {"scheduler": f"{number}"})
    assert len({standing.scheduler for standing in fixture.watcher.evaluate()}) <= 8


async def test_a_breach_that_was_open_before_a_restart_is_not_said_again_but_its_end_is() -> None:
    first = SloFixture(slo_window_minutes=1, tick_ms=6_000)
    first.minutes(3, lambda one: one.ticks(400))
    await first.store.slos.put_slos(first.watcher.evaluate())
    second = SloFixture(first.store, slo_window_minutes=1, tick_ms=6_000)
    second.clock.jump(5 * MINUTE)
    await second.watcher._resume()
    assert second.minutes(9, lambda one: one.ticks(400)) == []
    assert [line.event for line in second.minutes(5, lambda one: one.ticks(1))] == [KEPT]


def test_the_state_tells_measure_and_threshold() -> None:
    fixture = SloFixture()
    fixture.ticks(250)
    state = fixture.standing(Slo.TICK_BUDGET).state
    assert state.measured is not None
    assert (state.measured.value, state.measured.threshold, state.measured.judgement) == (250, 300, "fair")


def test_what_measures_itself_by_a_fast_clock_has_as_much_more_time() -> None:
    levels = scaled_to_clock(SloSettings(), 30)
    assert (levels.tick_budget_ms, levels.job_p95_max_ms) == (9_000, 900_000)
    assert replace(levels, tick_budget_ms=300, job_p95_max_ms=30_000) == SloSettings()


@pytest.mark.parametrize("slo_window_minutes", [1, 15, 1_440])
@pytest.mark.parametrize("tick_ms", [100, 59_999, 60_000, 90_001, 100_000, 600_000])
def test_the_tick_budget_is_judged_however_rare_ticks_are(tick_ms: int, slo_window_minutes: int) -> None:
    levels = slo_settings(Settings(tick_ms=tick_ms, slo_window_minutes=slo_window_minutes))
    fixture = SloFixture(**asdict(levels))

    def ten_ticks(duration_ms: float) -> Judgement:
        for _ in range(10):
            fixture.clock.jump(tick_ms)
            fixture.ticks(duration_ms, 1)
        measured = fixture.standing(Slo.TICK_BUDGET).state.measured
        assert measured is not None
        return measured.judgement

    assert ten_ticks(301) is Judgement.BAD
    fixture.clock.jump(max(slo_window_minutes * MINUTE, 10 * tick_ms) + 2 * MINUTE)
    assert fixture.standing(Slo.TICK_BUDGET).state.measured == SloMeasurement(
        Slo.TICK_BUDGET, Judgement.GOOD, None, 300, 0
    )
    assert ten_ticks(100) is Judgement.GOOD


def test_a_breach_of_rare_ticks_names_the_minutes_that_it_was_measured_over() -> None:
    fixture = SloFixture(tick_ms=600_000)
    for _ in range(12):
        fixture.ticks(301, 1)
        fixture.minutes(10)
    (warning,) = [line for line in fixture.log.lines if line.facts.get("slo") == "tick_budget"]
    assert warning.facts["window_minutes"] == 100
    assert fixture.standing(Slo.TICK_BUDGET).window_minutes == 100
    assert fixture.standing(Slo.JOB_LATENCY).window_minutes == 15
