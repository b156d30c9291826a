"""Seeded bugs of zones, programmes and calendars that the tests must find."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest

from cadenza.domain.daily import programme, rules, user, window
from cadenza.domain.daily.keys import ProgrammeKey
from cadenza.domain.daily.programme import Programme
from cadenza.domain.daily.user import DailyUser, Enrollment, Finalization, LocalDue
from cadenza.domain.daily.zones import first_moment
from cadenza.domain.local_time import zone_named
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.engine.daily import finalizer
from cadenza.engine.daily.finalizer import DailyFinalizer
from cadenza.engine.daily.programmes import RunnerProgrammes, SlotShares
from cadenza.engine.daily.queue import DailyQueue, OfferResult
from cadenza.engine.daily.tick import DailyTicker
from cadenza.ports.daily import PendingDay

Patch = pytest.MonkeyPatch
Bug = Callable[[Patch], None]
DAY = timedelta(days=1)
EVERY = programme.EVERY_WEEKDAY
KEPT_OUT = [OfferResult.HELD, OfferResult.THROTTLED, OfferResult.ELSEWHERE, OfferResult.ENQUEUED]
change_due_time, new_daily_user = rules.change_due_time, rules.new_daily_user


def _moment(patch: Patch, wrongly: Callable[[date, time, str], datetime]) -> None:
    patch.setattr(window, "first_moment", wrongly)


def _read(day: date, at: time, timezone: str, *, fold: int) -> datetime:
    return datetime.combine(day, at, zone_named(timezone)).replace(fold=fold).astimezone(UTC)


def the_service_date_is_that_of_utc(patch: Patch) -> None:
    def wrongly(record: DailyUser) -> PendingDay:
        return rightly(record)._replace(service_date=record.next_cutoff.date())

    rightly = PendingDay.of
    patch.setattr(PendingDay, "of", wrongly)


def a_skipped_time_means_the_one_before_the_gap(patch: Patch) -> None:
    _moment(patch, lambda day, at, zone: min(_read(day, at, zone, fold=fold) for fold in (0, 1)))


def a_skipped_time_is_moved_by_the_length_of_the_gap(patch: Patch) -> None:
    _moment(patch, lambda day, at, zone: _read(day, at, zone, fold=0))


def a_repeated_time_means_its_second_pass(patch: Patch) -> None:
    _moment(patch, lambda day, at, zone: max(first_moment(day, at, zone), _read(day, at, zone, fold=1)))


def a_date_lasts_24_hours(patch: Patch) -> None:
    def wrongly(record: DailyUser, day: date) -> datetime:
        return record.next_cutoff + (day - record.next_date) if not record.changes else rightly(record, day)

    rightly = DailyUser.cutoff_on
    patch.setattr(DailyUser, "cutoff_on", wrongly)


def a_zone_is_its_offset_at_the_enrollment(patch: Patch) -> None:
    def wrongly(local_due: LocalDue, day: date) -> datetime:
        first = rightly(local_due, day.replace(day=1))
        return first + (day - day.replace(day=1))

    rightly = LocalDue.cutoff
    patch.setattr(LocalDue, "cutoff", wrongly)


def a_date_that_no_clock_shows_is_owed(patch: Patch) -> None:
    patch.setattr(user, "date_exists", lambda *_: True)


def another_zone_touches_an_open_window(patch: Patch) -> None:
    def wrongly(record: DailyUser, wanted: LocalDue, now: datetime, **given: Any) -> DailyUser:
        if wanted.timezone != record.timezone:
            record = replace(record, opens_at=now + DAY)
        return change_due_time(record, wanted, now, **given)

    patch.setattr(rules, "change_due_time", wrongly)


def another_zone_is_not_another_due_time(patch: Patch) -> None:
    def wrongly(wanted: Enrollment, record: DailyUser | None, *given: Any, **named: Any) -> DailyUser:
        if record is not None and record.wanted.due == wanted.due:
            wanted = wanted._replace(timezone=record.wanted.timezone)
        return rightly(wanted, record, *given, **named)

    rightly = rules.enroll
    patch.setattr("tests.daily.daily_fixtures.enroll", wrongly)


def cutoffs_do_not_increase_after_a_move_east(patch: Patch) -> None:
    patch.setattr(rules, "_cutoff_before", lambda *_: None)


def a_date_that_a_move_leaves_out_is_owed(patch: Patch) -> None:
    patch.setattr(DailyUser, "has", lambda record, day: record.local_due_on(day).has(day))


def new_users_are_owed_no_date_of_the_next_utc_day(patch: Patch) -> None:
    def wrongly(wanted: Enrollment, now: datetime, *given: Any, **named: Any) -> DailyUser:
        return new_daily_user(
            wanted, max(now, datetime.combine(now.date(), wanted.due, UTC)), *given, **named
        )

    patch.setattr(rules, "new_daily_user", wrongly)


def after_a_downtime_dates_end_with_that_of_utc(patch: Patch) -> None:
    def wrongly(record: DailyUser, now: datetime) -> date:
        return max(record.next_date, min(rightly(record, now), now.date() - DAY))

    rightly = rules._last_over
    patch.setattr(rules, "_last_over", wrongly)


def a_window_ends_with_the_utc_day(patch: Patch) -> None:
    def wrongly(record: DailyUser) -> PendingDay:
        day = rightly(record)
        return day._replace(opens_at=max(day.opens_at, datetime.combine(day.cutoff.date(), time(), UTC)))

    rightly = PendingDay.of
    patch.setattr(PendingDay, "of", wrongly)


def a_weekday_is_that_of_utc(patch: Patch) -> None:
    def wrongly(self: RunnerProgrammes, day: PendingDay) -> bool:
        return self.of(day.key.programme).serves(day.cutoff.date(), day.due)

    patch.setattr(RunnerProgrammes, "serves", wrongly)


def weekdays_begin_with_sunday(patch: Patch) -> None:
    def wrongly(self: Programme, service_date: date, due: time) -> bool:
        others = replace(self, weekdays=programme.EVERY_WEEKDAY)
        return rightly(others, service_date, due) and service_date.isoweekday() % 7 + 1 in self.weekdays

    rightly = Programme.serves
    patch.setattr(Programme, "serves", wrongly)


def a_date_that_is_not_served_gets_a_verdict(patch: Patch) -> None:
    patch.setattr(rules, "_is_owed", lambda record, day, _: record.has(day))


def late_verdicts_are_given_for_dates_that_are_not_served(patch: Patch) -> None:
    def wrongly(
        record: DailyUser, now: datetime, service: Any, *, programme: Programme
    ) -> Finalization | None:
        late = record.next_cutoff < service.since
        served = replace(programme, weekdays=EVERY, only_during=None, never_during=None)
        return rightly(record, now, service, programme=served if late else programme)

    rightly = rules.finalize_cutoffs
    patch.setattr(finalizer, "finalize_cutoffs", wrongly)


def a_date_that_is_not_served_is_passed_over_at_its_cutoff(patch: Patch) -> None:
    patch.setattr(DailyFinalizer, "add_passed_over", lambda *_: None)


def a_date_that_is_not_served_is_attempted(patch: Patch) -> None:
    patch.setattr(DailyTicker, "_served", lambda _, in_window, __: in_window)


def what_waits_is_attempted_when_its_date_is_not_served_any_more(patch: Patch) -> None:
    def wrongly(self: DailyQueue, day: PendingDay, now: datetime) -> bool:
        return self.is_open(day, now)

    patch.setattr(DailyQueue, "_is_wanted", wrongly)


def a_calendar_is_read_in_utc(patch: Patch) -> None:
    def wrongly(calendar: Calendar, service_date: date, due: time) -> bool:
        return calendar.is_open(datetime.combine(service_date, due, UTC))

    patch.setattr(programme, "_is_open", wrongly)


def a_calendar_is_read_at_the_cutoff(patch: Patch) -> None:
    def wrongly(self: RunnerProgrammes, day: PendingDay) -> bool:
        found = self.of(day.key.programme)
        calendars = replace(found, weekdays=EVERY)
        closed = any(
            one is not None and one.is_open(day.cutoff) is not wanted
            for one, wanted in ((found.only_during, True), (found.never_during, False))
        )
        without = replace(calendars, only_during=None, never_during=None, weekdays=found.weekdays)
        return without.serves(day.service_date, day.due) and not closed

    patch.setattr(RunnerProgrammes, "serves", wrongly)


def a_calendar_says_when_something_is_not_owed(patch: Patch) -> None:
    def wrongly(self: Programme, service_date: date, due: time) -> bool:
        return rightly(replace(self, never_during=self.only_during, only_during=None), service_date, due)

    rightly = Programme.serves
    patch.setattr(Programme, "serves", wrongly)


def programmes_are_read_once_a_process(patch: Patch) -> None:
    async def wrongly(self: RunnerProgrammes) -> bool:
        return False if self._stored else await rightly(self)

    rightly = RunnerProgrammes.read
    patch.setattr(RunnerProgrammes, "read", wrongly)


def _of_another(patch: Patch, *fields: str) -> None:
    """Some settings of a programme are those of `daily`."""

    def wrongly(self: RunnerProgrammes, key: ProgrammeKey) -> Programme:
        others = rightly(self, key._replace(id="daily"))
        return replace(rightly(self, key), **{field: getattr(others, field) for field in fields})

    rightly = RunnerProgrammes.of
    patch.setattr(RunnerProgrammes, "of", wrongly)


def a_window_is_as_long_as_that_of_another_programme(patch: Patch) -> None:
    _of_another(patch, "window_minutes")


def a_retry_delay_is_that_of_another_programme(patch: Patch) -> None:
    _of_another(patch, "retry_delay_minutes")


def a_retry_delay_is_shared_between_programmes(patch: Patch) -> None:
    def result(self: DailyQueue, day: PendingDay, steady_ms: float) -> Any:
        others = [day._replace(programme_id=one) for one in ("daily", "evening")]
        found = [rightly(self, one._replace(cutoff=day.cutoff), steady_ms) for one in others]
        return min(found, key=KEPT_OUT.index)

    rightly = DailyQueue.offer_result
    patch.setattr(DailyQueue, "offer_result", result)


def a_user_is_held_in_all_programmes(patch: Patch) -> None:
    def not_held(self: DailyQueue, days: Sequence[PendingDay]) -> list[PendingDay]:
        users = {key.user for key in self._held}
        return [day for day in rightly(self, days) if day.key.user not in users]

    rightly = DailyQueue.not_held
    patch.setattr(DailyQueue, "not_held", not_held)


def a_share_is_not_kept(patch: Patch) -> None:
    patch.setattr(SlotShares, "has_room", lambda *_: True)


def a_small_share_is_no_slot_at_all(patch: Patch) -> None:
    patch.setattr(Programme, "slots", lambda self, most: most * self.share_percent // 100)


def who_waits_for_a_share_waits_for_ever(patch: Patch) -> None:
    patch.setattr(DailyQueue, "give_room", lambda *_: None)


ZONE_BUGS: Collection[Bug] = [
    bug
    for name, bug in dict(globals()).items()
    if callable(bug) and getattr(bug, "__module__", "") == __name__ and not name.startswith("_")
]
