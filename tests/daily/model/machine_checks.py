"""The product and the model side by side, and what must hold after every step, read from what happened."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine, invariant
from tests.daily.daily_fixtures import DailyFixture, FakeRun, UnavailableDaily
from tests.daily.model.reference_model import Attempt, Expected, Key, Model
from tests.daily.model.wall_clocks import DAY

from cadenza.domain.daily.keys import DailyKey, daily_key
from cadenza.domain.daily.user import DailyUser, Verdict

SLOTS = 2


class CheckedMachine(RuleBasedStateMachine):
    """I1 to I6, and that records, verdicts and attempts are those of the model."""

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
        self.enrolled: dict[Key, date] = {}
        """The first date that each user is owed."""
        self.seen_starts = 0
        self.known: dict[tuple[Key, date], Any] = {}
        self.died_uncounted = 0

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

    @property
    def store(self) -> UnavailableDaily:
        assert isinstance(self.daily.store, UnavailableDaily)
        return self.daily.store

    def expect(self, started: list[Attempt]) -> None:
        new = self.daily.runs.started[self.seen_starts :]
        self.seen_starts += len(new)
        for run in new:
            self._is_owed(run)
        assert [(key_of(run), run.service_date) for run in new] == [(one.key, one.day) for one in started]
        for run, one in zip(new, started, strict=True):
            assert one.opens <= run.began_at < one.cutoff, "an attempt outside its window"

    def _is_owed(self, run: FakeRun) -> None:
        key, day = key_of(run), run.service_date
        timetable = self.model.users[key]
        assert (key, day) not in self._verdicts(), "I1: an attempt at a day that has its verdict"
        assert day == timetable.next_day, "an attempt at a day that is not the next"
        served = self.model.process.programmes[key.programme].serves(day, timetable.terms[day].due)
        assert served, "an attempt at a day that is not served"

    @invariant()
    def i1_and_i6_each_day_has_one_verdict_and_keeps_it(self) -> None:
        verdicts = self._verdicts()
        assert self.known.items() <= verdicts.items(), "a verdict was changed"
        self.known = verdicts
        found = {
            place: Expected(one.status.value, one.due, one.late, one.cause and one.cause.value)
            for place, one in verdicts.items()
        }
        assert not found.items() ^ self.model.verdicts.items()

    @invariant()
    def records_say_what_comes_next(self) -> None:
        users = self.store.tables.daily_users
        found = {
            Key(key.programme_id, key.user_id): (user.next_date, user.next_cutoff, user.opens_at)
            for key, user in users.items()
        }
        assert found == {
            key: (one.next_day, one.cutoff(one.next_day), one.opens) for key, one in self.model.users.items()
        }

    @invariant()
    def gaps_are_those_of_the_model(self) -> None:
        assert {key: gaps for key in self.model.users if (gaps := self._gaps(key))} == self.model.gaps

    @invariant()
    def every_verdict_is_told_once(self) -> None:
        events = self.daily.telemetry.events
        told = sum(event.measurements["days"] for event in events if event.name == "sched.finalize")
        assert told == len(self._verdicts()) + self._days_in_gaps()

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

    @invariant()
    def i3_slots_are_never_exceeded(self) -> None:
        assert self.daily.runs.most_at_once <= SLOTS
        running = [key_of(run) for run in self.daily.runs.running]
        assert len(running) == len(set(running)), "a user is served twice at once"

    def nobody_is_skipped(self) -> None:
        """I2 and I6, when a tick is done and all is written: each date has a verdict, or owes none."""
        verdicts = self._verdicts()
        for key, first in self.enrolled.items():
            user, gaps = self._record(key), self._gaps(key)
            assert user.next_cutoff > self.now, f"{key} is past a cutoff"
            for number in range((user.next_date - first).days):
                day = first + number * DAY
                in_gap = any(since <= day <= until for since, until in gaps)
                owes_none = day in self.model.users[key].not_owed
                assert ((key, day) in verdicts) != (in_gap or owes_none), f"I6: {key} on {day}"

    def durable(self) -> tuple[dict[tuple[Key, date], Verdict], dict[DailyKey, DailyUser]]:
        return self._verdicts(), dict(self.store.tables.daily_users)

    def _record(self, key: Key) -> DailyUser:
        return self.store.tables.daily_users[daily_key("default", key.user_id, programme_id=key.programme)]

    def _verdicts(self) -> dict[tuple[Key, date], Verdict]:
        kept = self.store.tables.daily_verdicts
        return {
            (Key(key.programme_id, key.user_id), day): one
            for key, days in kept.items()
            for day, one in days.items()
        }

    def _gaps(self, key: Key) -> list[tuple[date, date]]:
        gaps = self.store.tables.daily_gaps.get(
            daily_key("default", key.user_id, programme_id=key.programme), {}
        )
        return sorted((gap.from_date, gap.to_date) for gap in gaps.values())

    def _days_in_gaps(self) -> int:
        gaps = [gap for key in self.model.users for gap in self._gaps(key)]
        return sum((last - first) // timedelta(days=1) + 1 for first, last in gaps)


def key_of(run: FakeRun) -> Key:
    return Key(run.programme_id, run.user_id)
