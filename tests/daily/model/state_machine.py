"""Users, ticks, jobs, crashes and clocks in any order and zone, aimed at the edges; see `machine_checks`."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, time, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from tests.daily.daily_fixtures import FAILED, FakeRun, finished
from tests.daily.model import scenarios as some
from tests.daily.model.machine_checks import CheckedMachine, key_of
from tests.daily.model.programmes import stored
from tests.daily.model.reference_model import EVERY_DAY, Attempt, Key, Pace, Programme, offset
from tests.daily.model.scenarios import Place
from tests.daily.model.wall_clocks import DAY, Terms, first_showing, wall

from cadenza.domain.daily.user import DONE
from cadenza.domain.errors import Unavailable

Due = time | int | None
"""A due time, one in so many minutes, or the one beside the place's change of clocks."""
LONG_ENOUGH = timedelta(days=32)
"""Nobody is away for long after this, so that timetables do not end."""
BUDGET = settings(settings.get_profile("default"), max_examples=100, stateful_step_count=30)


class DailyMachine(CheckedMachine):
    """What may happen; each step is done by the product and by the model."""

    place: Place

    @initialize(
        place=some.PLACES,
        near=st.lists(some.NEAR, min_size=1, max_size=4),
        evening=st.lists(some.NEAR, max_size=3),
        pace=some.PACES,
        data=st.data(),
    )
    def begin(
        self, place: Place, near: list[Due], evening: list[Due], pace: Pace, data: st.DataObject
    ) -> None:
        self.place = place
        self.daily.clocks.wall = place.start
        self.set_pace(pace)
        self.programme_is("evening", data.draw(some.programmes(self.now.date())))
        for programme, minutes in (("daily", near), ("evening", evening)):
            for number, (name, due) in enumerate(zip(some.NAMES, minutes, strict=False)):
                self.enroll(Key(programme, name), due, number)
        self.a_tick()

    def set_pace(self, pace: Pace) -> None:
        """From the next process on."""
        self.model.process.pace = pace
        self.daily.settings = replace(self.daily.settings, **pace._asdict())
        self.daily.start()

    def programme_is(self, name: str, programme: Programme) -> None:
        self.model.programmes[name] = programme
        self.loop.run_until_complete(self.store.put_programme(stored(name, programme)))

    def enroll(self, key: Key, due: Due, zone: int) -> None:
        terms = self.terms(due, zone)
        finished(
            self.loop,
            self.daily.enroll(key.user_id, terms.due, timezone=terms.zone, programme_id=key.programme),
        )
        self.model.enroll(key, terms, self.now)
        self.enrolled.setdefault(key, self.model.users[key].next_day)

    def terms(self, due: Due, zone: int) -> Terms:
        """In one of the zones."""
        name = list(self.place.zones)[zone % len(self.place.zones)]
        if due is None:
            due = self.place.zones[name]
        if isinstance(due, int):
            due = wall(self.now + timedelta(minutes=due), name).time().replace(second=0, microsecond=0)
        return Terms(due, name)

    @rule(key=some.KEYS, due=some.DUES, zone=some.ZONES)
    def somebody_is_due_at(self, key: Key, due: Due, zone: int) -> None:
        """Newly, at another time, or in another zone."""
        self.enroll(key, due, zone)

    @rule(which=some.USERS, zone=some.ZONES, due=some.MOVED, days=st.sampled_from([0, 3]))
    def somebody_moves(self, which: int, zone: int, due: time | None, days: int) -> None:
        """Perhaps some days pass then."""
        key = self.user(which)
        self.enroll(key, due or self.model.users[key].wanted.due, zone)
        if days and self.now < self.place.start + LONG_ENOUGH:
            self.daily.clocks.advance(days * DAY)
            self.a_tick()

    @rule(name=some.PROGRAMMES, data=st.data(), ticks=some.COUNTS)
    def a_programme_changes(self, name: str, data: st.DataObject, ticks: int) -> None:
        self.programme_is(name, data.draw(some.programmes(self.now.date())))
        self.ticks_follow(ticks)

    @precondition(lambda self: self.model.process.queue and self.daily.runs.running)
    @rule(which=some.COUNTS)
    def what_waits_is_served_no_more_and_a_job_returns(self, which: int) -> None:
        waits = self.model.process.queue[0]
        programme = self.model.programmes[waits.programme]
        self.programme_is(waits.programme, programme._replace(weekdays=EVERY_DAY - {waits.day.weekday()}))
        self.a_tick()
        if self.daily.runs.running:
            self._return(which, ok=False)

    def user(self, which: int) -> Key:
        users = sorted(self.model.users)
        return users[which % len(users)]

    @rule(which=some.USERS, edge=some.EDGES, off=some.OFF, ticks=some.COUNTS)
    def time_goes_to_an_edge(self, which: int, edge: str, off: int, ticks: int) -> None:
        moment = self._edge(self.user(which), edge) + timedelta(seconds=off)
        if moment > self.now:
            self.daily.clocks.go_to(moment)
        self.ticks_follow(ticks)

    @rule(which=some.USERS, edge=some.EDGES, off=some.OFF)
    def time_goes_to_an_edge_and_nothing_is_written(self, which: int, edge: str, off: int) -> None:
        """A job may return then, before the next tick."""
        self.time_goes_to_an_edge(which, edge, off, 0)
        if self.daily.runs.running:
            self._return(off, ok=off > 0)
        self.a_tick_alone()

    def _edge(self, key: Key, edge: str) -> datetime:
        timetable = self.model.users[key]
        day = timetable.next_day
        if edge == "retry":
            waits = [ms - self.daily.clocks.steady_ms for ms in self.model.process.rests_until_ms.values()]
            return self.now + timedelta(milliseconds=min((one for one in waits if one > 0), default=0))
        if edge == "midnight":
            zone = timetable.terms[day].zone
            midnight = datetime.combine(wall(self.now, zone).date() + DAY, time())
            return first_showing(midnight, zone)
        return timetable.opens if edge == "opens" else timetable.cutoff(day)

    @rule(span=some.SPANS, ticks=some.COUNTS)
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
        if self.model.process.trust.holds(offset(*self.clocks)) and not self.store.away:
            self.nobody_is_skipped()

    def a_tick_alone(self) -> None:
        before = self.durable()
        with suppress(Unavailable):
            finished(self.loop, self.daily.runner.tick())
        finished(self.loop, self.daily.pump())
        self.expect(self.model.tick(*self.clocks, away=self.store.away))
        assert self.durable() == before, "I5: something durable was written without a finalization"

    @rule()
    def all_is_written(self) -> None:
        with suppress(Unavailable):
            finished(self.loop, self.daily.settle())
        finished(self.loop, self.daily.pump())
        if not self.store.away:
            self.model.settle(*self.clocks)
        self.expect(self.model.start(*self.clocks))

    @precondition(lambda self: self.daily.runs.running)
    @rule(which=some.COUNTS, ok=st.booleans(), ticks=st.sampled_from([0, 2, 3]))
    def a_job_returns(self, which: int, ticks: int, *, ok: bool) -> None:
        self._return(which, ok=ok)
        self.ticks_follow(ticks)

    def _return(self, which: int, *, ok: bool) -> Attempt:
        run = self._running(which)
        attempt = next(one for one in self.model.process.running if one.key == key_of(run))
        self.model.returned(attempt, self.now, ok=ok)
        finished(self.loop, self.daily.finish(run, DONE if ok else FAILED))
        self.expect(self.model.start(*self.clocks))
        return attempt

    @precondition(lambda self: self.daily.runs.running)
    @rule(which=some.COUNTS, ok=st.booleans(), off=some.OFF, step=st.sampled_from([0, 0, 0, -240, 240]))
    def a_job_returns_and_its_retry_comes_before_that_is_written(
        self, which: int, off: int, step: int, *, ok: bool
    ) -> None:
        attempt = self._return(which, ok=ok)
        self.daily.clocks.step(timedelta(seconds=step))
        rests_until_ms = self.model.process.rests_until_ms[attempt.key, attempt.day]
        wait_ms = rests_until_ms + off * 1_000 - self.daily.clocks.steady_ms
        if wait_ms > 0:
            self.daily.clocks.advance(timedelta(milliseconds=wait_ms))
        self.a_tick_alone()

    @precondition(lambda self: self.daily.runs.running)
    @rule(which=some.COUNTS, step=some.STEPS)
    def a_job_returns_and_the_clock_is_stepped_before_that_is_written(self, which: int, step: int) -> None:
        self._return(which, ok=True)
        self.daily.clocks.step(timedelta(seconds=step))
        self.all_is_written()

    @precondition(lambda self: self.daily.runs.running)
    @rule(which=some.COUNTS)
    def a_job_outlives_its_timeout(self, which: int) -> None:
        """It is told to stop, and does not."""
        run, executor = self._running(which), self.daily.runner.executor
        keys = {id(task): (day.programme_id, day.user_id) for task, day in executor.running.items()}
        for deadline in executor._deadlines._open:
            if keys[id(deadline.task)] == key_of(run) and not deadline.expired:
                deadline.expired = True
                deadline.task.cancel()
        finished(self.loop, self.daily.pump())
        self.expect(self.model.start(*self.clocks))

    @rule(absence=some.ABSENCES, ticks=some.COUNTS, pace=some.PACES)
    def the_process_dies_and_another_comes(self, absence: int, ticks: int, pace: Pace) -> None:
        """The other one may have other settings; no cutoff or opening moves."""
        before = self.durable()
        self.loop.run_until_complete(self.daily.crash())
        self.model.crash(pace)
        self.died_uncounted += self.daily.runner.finalizer.take_cut_off()
        if self.now < self.place.start + LONG_ENOUGH:
            self.daily.clocks.advance(timedelta(seconds=absence))
        self.set_pace(pace)
        assert self.durable() == before
        self.ticks_follow(ticks)

    @rule(step=some.STEPS, ticks=some.COUNTS)
    def the_clock_is_stepped(self, step: int, ticks: int) -> None:
        self.daily.clocks.step(timedelta(seconds=step))
        self.ticks_follow(ticks)

    @rule(which=some.COUNTS, ticks=some.COUNTS)
    def the_store_is_away_for_a_while(self, which: int, ticks: int) -> None:
        self.store.away = True
        if self.daily.runs.running:
            self._return(which, ok=True)
        self.all_is_written()
        self.ticks_follow(ticks)
        self.store.away = False

    @rule()
    def the_answer_to_a_commit_is_lost(self) -> None:
        self.store.loses_answers = True
        with suppress(Unavailable):
            finished(self.loop, self.daily.settle())
        self.store.loses_answers = False
        self.all_is_written()

    def _running(self, which: int) -> FakeRun:
        runs = sorted(self.daily.runs.running, key=key_of)
        return runs[which % len(runs)]
