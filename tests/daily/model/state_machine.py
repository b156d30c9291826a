"""Users, ticks, jobs, crashes and clocks in any order, aimed at the edges; I1 to I6 after every step."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.daily.daily_fixtures import FAILED, DailyFixture, FakeRun, UnavailableDaily, finished
from tests.daily.model.reference_model import DAY, Attempt, Expected, Model, Pace, Timetable

from cadenza.domain.daily.keys import DailyKey, daily_key
from cadenza.domain.daily.user import DONE, DailyUser, Verdict
from cadenza.domain.errors import Unavailable

SLOTS = 2
NAMES = ("ann", "bob", "cyd", "dan")
DUES = st.sampled_from([time(0), time(0, 1), time(0, 59), time(1), time(12), time(23, 30), time(23, 59)])
NEAR = st.sampled_from([1, 2, 15, 30, 59, 60, 61, 62, 61, 62, -1, 1_439])
"""In so many minutes somebody is due."""
OFF = st.sampled_from([-1, 0, 1])
EDGES = st.sampled_from(["opens", "opens", "cutoff", "cutoff", "midnight", "retry"])
SPANS = st.sampled_from([0, 1, 30, 60, 60, 240, 600, 3_600])
ABSENCES = st.sampled_from([0, 0, 60, 60, 3_600, 26 * 3_600, 8 * 86_400])
STEPS = st.sampled_from([-86_400, -7_200, -301, -300, -240, -6, -1, 1, 6, 240, 300, 301, 3_600, 90_000])
STARTS = st.sampled_from([23 * 60, 23 * 60 + 30, 24 * 60, 34 * 60]).map(
    lambda minutes: datetime(2026, 3, 9, tzinfo=UTC) + timedelta(minutes=minutes)
)
COUNTS = st.integers(0, 4)
SEED = Pace()
PACES = st.sampled_from(
    [*[SEED] * 6, Pace(1, 1), Pace(15, 7), Pace(30, 45), Pace(90, 1), Pace(600, 240), Pace(1_440, 60)]
)
"""Mostly that of the seed."""
LONG_ENOUGH = datetime(2026, 4, 10, tzinfo=UTC)
"""Nobody is away for long after this, so that timetables do not end."""
BUDGET = settings(settings.get_profile("default"), max_examples=100, stateful_step_count=30)


class DailyMachine(RuleBasedStateMachine):
    """The product and the model walk side by side; the invariants are read from what really happened."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.daily = DailyFixture(
            datetime(2026, 3, 9, tzinfo=UTC),
            max_concurrency=SLOTS,
            page=2,
            batch=2,
            job_timeout_ms=86_400_000,
        )
        self.model = Model(SLOTS)
        self.seen_starts = 0
        self.known: dict[tuple[str, date], Any] = {}
        self.died_uncounted = 0

    @initialize(start=STARTS, near=st.lists(NEAR, min_size=1, max_size=4), pace=PACES)
    def begin(self, start: datetime, near: list[int], pace: Pace) -> None:
        self.daily.clocks.go_to(start)
        self.set_pace(pace)
        for name, minutes in zip(NAMES, near, strict=False):
            self.enroll(name, self.due_in(minutes))
        self.a_tick()

    def set_pace(self, pace: Pace) -> None:
        """From the next process on."""
        self.model.pace = pace
        self.daily.settings = replace(self.daily.settings, **pace._asdict())
        self.daily.start()

    def teardown(self) -> None:
        self.loop.run_until_complete(self.daily.crash())
        self.loop.run_until_complete(self._ended())
        asyncio.set_event_loop(None)
        self.loop.close()

    async def _ended(self) -> None:
        """What a bug has left behind must not be collected in the middle of something else."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    @property
    def now(self) -> datetime:
        return self.daily.clocks.wall

    @property
    def clocks(self) -> tuple[datetime, float]:
        return self.daily.clocks.wall, self.daily.clocks.steady_ms

    def due_in(self, minutes: int) -> time:
        return (self.now + timedelta(minutes=minutes)).time().replace(second=0, microsecond=0)

    def enroll(self, name: str, due: time) -> None:
        finished(self.loop, self.daily.enroll(name, due))
        if name in self.model.users:
            self.model.users[name].change(due, self.now, self.model.pace.window)
        else:
            self.model.users[name] = Timetable.of(due, self.now)
        self.model.fix_window(name)

    @rule(name=st.sampled_from(NAMES), due=st.one_of(DUES, NEAR))
    def somebody_is_due_at(self, name: str, due: time | int) -> None:
        self.enroll(name, self.due_in(due) if isinstance(due, int) else due)

    @rule(name=st.sampled_from(NAMES), edge=EDGES, off=OFF, ticks=COUNTS)
    def time_goes_to_an_edge(self, name: str, edge: str, off: int, ticks: int) -> None:
        if name not in self.model.users:
            return
        moment = self._edge(name, edge) + timedelta(seconds=off)
        if moment > self.now:
            self.daily.clocks.go_to(moment)
        self.ticks_follow(ticks)

    @rule(name=st.sampled_from(NAMES), edge=EDGES, off=OFF)
    def time_goes_to_an_edge_and_nothing_is_written(self, name: str, edge: str, off: int) -> None:
        """A job may return then, before the next tick."""
        self.time_goes_to_an_edge(name, edge, off, 0)
        if self.daily.runs.running:
            self._return(off, ok=off > 0)
        self.a_tick_alone()

    def _edge(self, name: str, edge: str) -> datetime:
        timetable, day = self.model.users[name], self.model.next_day(name)
        cutoff, opens = timetable.cutoff(day), timetable.opens(day, self.model.pace.window)
        if edge == "retry":
            tried = self.model.process.enqueued_ms.values()
            waits = [self.model.pace.retry_ms + ms - self.daily.clocks.steady_ms for ms in tried]
            return self.now + timedelta(milliseconds=min((one for one in waits if one > 0), default=0))
        midnight = datetime.combine(self.now.date() + DAY, time(), UTC)
        return {"opens": opens, "cutoff": cutoff, "midnight": midnight}[edge]

    @rule(span=SPANS, ticks=COUNTS)
    def time_passes(self, span: int, ticks: int) -> None:
        self.daily.clocks.advance(timedelta(seconds=span))
        self.ticks_follow(ticks)

    def ticks_follow(self, count: int) -> None:
        """One now, the others a minute apart."""
        for number in range(count):
            if number:
                self.daily.clocks.advance(timedelta(minutes=1))
            self.a_tick()

    def a_tick(self) -> None:
        self.a_tick_alone()
        self.all_is_written()
        if self.model.process.trust.holds(self._offset()) and not self._store.away:
            self._nobody_is_skipped()

    def a_tick_alone(self) -> None:
        before = self._durable()
        with suppress(Unavailable):
            finished(self.loop, self.daily.runner.tick())
        finished(self.loop, self.daily.pump())
        self._expect(self.model.tick(*self.clocks, away=self._store.away))
        assert self._durable() == before, "I5: something durable was written without a finalization"

    @rule()
    def all_is_written(self) -> None:
        with suppress(Unavailable):
            finished(self.loop, self.daily.settle())
        finished(self.loop, self.daily.pump())
        if not self._store.away:
            self.model.settle(*self.clocks)
        self._expect(self.model.start(*self.clocks))

    @precondition(lambda self: self.daily.runs.running)
    @rule(which=COUNTS, ok=st.booleans(), ticks=st.sampled_from([0, 2, 3]))
    def a_job_returns(self, which: int, ticks: int, *, ok: bool) -> None:
        self._return(which, ok=ok)
        self.ticks_follow(ticks)

    def _return(self, which: int, *, ok: bool) -> Attempt:
        run = self._running(which)
        attempt = next(one for one in self.model.process.running if one.user_id == run.user_id)
        self.model.returned(attempt, self.now, ok=ok)
        finished(self.loop, self.daily.finish(run, DONE if ok else FAILED))
        self._expect(self.model.start(*self.clocks))
        return attempt

    @precondition(lambda self: self.daily.runs.running)
    @rule(which=COUNTS, ok=st.booleans(), off=OFF, step=st.sampled_from([0, 0, 0, -240, 240]))
    def a_job_returns_and_its_retry_comes_before_that_is_written(
        self, which: int, off: int, step: int, *, ok: bool
    ) -> None:
        attempt = self._return(which, ok=ok)
        self.daily.clocks.step(timedelta(seconds=step))
        tried_ms = self.model.process.enqueued_ms[attempt.user_id, attempt.day]
        wait_ms = tried_ms + self.model.pace.retry_ms + off * 1_000 - self.daily.clocks.steady_ms
        if wait_ms > 0:
            self.daily.clocks.advance(timedelta(milliseconds=wait_ms))
        self.a_tick_alone()

    @precondition(lambda self: self.daily.runs.running)
    @rule(which=COUNTS, step=STEPS)
    def a_job_returns_and_the_clock_is_stepped_before_that_is_written(self, which: int, step: int) -> None:
        self._return(which, ok=True)
        self.daily.clocks.step(timedelta(seconds=step))
        self.all_is_written()

    @precondition(lambda self: self.daily.runs.running)
    @rule(which=COUNTS)
    def a_job_outlives_its_timeout(self, which: int) -> None:
        """It is told to stop, and does not."""
        run, executor = self._running(which), self.daily.runner.executor
        users = {id(task): pending.user_id for task, pending in executor.running.items()}
        for deadline in executor._deadlines._open:
            if users[id(deadline.task)] == run.user_id and not deadline.expired:
                deadline.expired = True
                deadline.task.cancel()
        finished(self.loop, self.daily.pump())
        self._expect(self.model.start(*self.clocks))

    @rule(absence=ABSENCES, ticks=COUNTS, pace=PACES)
    def the_process_dies_and_another_comes(self, absence: int, ticks: int, pace: Pace) -> None:
        """The other one may have other settings; no cutoff moves."""
        cutoffs = {user.key: user.next_cutoff for user in self._store.tables.daily_users.values()}
        self.loop.run_until_complete(self.daily.crash())
        self.model.crash()
        self.died_uncounted += self.daily.runner.finalizer.take_cut_off()
        if self.now < LONG_ENOUGH:
            self.daily.clocks.advance(timedelta(seconds=absence))
        self.set_pace(pace)
        assert cutoffs == {user.key: user.next_cutoff for user in self._store.tables.daily_users.values()}
        self.ticks_follow(ticks)

    @rule(step=STEPS, ticks=COUNTS)
    def the_clock_is_stepped(self, step: int, ticks: int) -> None:
        self.daily.clocks.step(timedelta(seconds=step))
        self.ticks_follow(ticks)

    @rule(which=COUNTS, ticks=COUNTS)
    def the_store_is_away_for_a_while(self, which: int, ticks: int) -> None:
        self._store.away = True
        if self.daily.runs.running:
            self._return(which, ok=True)
        self.all_is_written()
        self.ticks_follow(ticks)
        self._store.away = False

    @rule()
    def the_answer_to_a_commit_is_lost(self) -> None:
        self._store.loses_answers = True
        with suppress(Unavailable):
            finished(self.loop, self.daily.settle())
        self._store.loses_answers = False
        self.all_is_written()

    def _running(self, which: int) -> FakeRun:
        runs = sorted(self.daily.runs.running, key=lambda run: run.user_id)
        return runs[which % len(runs)]

    def _expect(self, started: list[Attempt]) -> None:
        new = self.daily.runs.started[self.seen_starts :]
        self.seen_starts += len(new)
        self._each_is_allowed(new)
        assert [(run.user_id, run.service_date) for run in new] == [(one.user_id, one.day) for one in started]

    def _each_is_allowed(self, new: list[FakeRun]) -> None:
        for run in new:
            timetable = self.model.users[run.user_id]
            opens, cutoff = timetable.fixed[run.service_date], timetable.cutoff(run.service_date)
            assert opens <= run.began_at < cutoff, "an attempt outside its window"
            verdict = self._verdicts().get((run.user_id, run.service_date))
            assert verdict is None, "I1: an attempt at a day that has its verdict"

    @invariant()
    def i1_and_i6_each_day_has_one_verdict_and_keeps_it(self) -> None:
        verdicts = self._verdicts()
        assert self.known.items() <= verdicts.items(), "a verdict was changed"
        self.known = verdicts
        found = {
            place: Expected(one.status.value, one.due, one.late, one.cause and one.cause.value)
            for place, one in verdicts.items()
        }
        assert found == self.model.verdicts

    @invariant()
    def every_verdict_is_told_once(self) -> None:
        events = self.daily.telemetry.events
        told = sum(event.measurements["days"] for event in events if event.name == "sched.finalize")
        in_gaps = self._days_in_gaps()
        assert told == len(self._verdicts()) + in_gaps

    @invariant()
    def every_cutoff_is_counted_by_one_tick(self) -> None:
        events = self.daily.telemetry.events
        ticks = [event.metadata for event in events if event.name == "sched.tick.stop"]
        cut_off = sum(one.status.value == "cutoff_reached" for one in self._verdicts().values())
        uncounted = self.died_uncounted + self.daily.runner.finalizer._cut_off
        assert (
            sum(int(one["cutoff_finalized"] or 0) for one in ticks) + uncounted
            == cut_off + self._days_in_gaps()
        )

    def _days_in_gaps(self) -> int:
        gaps = [gap for name in self.model.users for gap in self._gaps(name)]
        return sum((last - first).days + 1 for first, last in gaps)

    def _nobody_is_skipped(self) -> None:
        """I2 and I6, when a tick is done and all is written."""
        verdicts = self._verdicts()
        for name, timetable in self.model.users.items():
            over = [day for day in timetable.due if timetable.cutoff(day) <= self.now]
            gaps = self._gaps(name) if over else []
            for day in over:
                covered = any(first <= day <= last for first, last in gaps)
                assert ((name, day) in verdicts) != covered, f"I6: {name} has no verdict on {day}"

    @invariant()
    def i3_slots_are_never_exceeded(self) -> None:
        assert self.daily.runs.most_at_once <= SLOTS
        running = [run.user_id for run in self.daily.runs.running]
        assert len(running) == len(set(running)), "a user is served twice at once"

    def _offset(self) -> float:
        return self.now.timestamp() - self.daily.clocks.steady_ms / 1_000

    @property
    def _store(self) -> UnavailableDaily:
        assert isinstance(self.daily.store, UnavailableDaily)
        return self.daily.store

    def _verdicts(self) -> dict[tuple[str, date], Verdict]:
        kept = self._store.tables.daily_verdicts
        return {(key.user_id, day): one for key, days in kept.items() for day, one in days.items()}

    def _gaps(self, name: str) -> list[tuple[date, date]]:
        gaps = self._store.tables.daily_gaps.get(daily_key("default", name), {})
        return [(gap.from_date, gap.to_date) for gap in gaps.values()]

    def _durable(self) -> tuple[dict[tuple[str, date], Verdict], dict[DailyKey, DailyUser]]:
        return self._verdicts(), dict(self._store.tables.daily_users)
