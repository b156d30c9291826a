"""Due times, zones and windows that change in any order: records are those of the model."""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from tests.daily.model.scenarios import BESIDE_CHANGES, IN_UTC, Place
from tests.daily.model.timetable import Timetable
from tests.daily.model.wall_clocks import Terms

from cadenza.domain.daily.programme import Programme
from cadenza.domain.daily.rules import (
    ServicePeriod,
    change_due_time,
    finalize_cutoffs,
    finalize_success,
    new_daily_user,
)
from cadenza.domain.daily.user import DailyUser, LocalDue, enrollment


class Step(NamedTuple):
    """What happens to a user, and after how many minutes: another due time, a success or a cutoff."""

    minutes: int
    does: str
    local_due: LocalDue
    window: timedelta


WINDOWS = st.sampled_from([60, 60, 1, 15, 600, 1_440]).map(lambda minutes: timedelta(minutes=minutes))
MINUTES = st.one_of(st.integers(0, 3 * 1_440), st.sampled_from([0, 59, 60, 61, 1_439, 1_440, 1_441]))
DUES = st.one_of(st.integers(0, 1_439), st.sampled_from([0, 1, 30, 120, 150, 1_410, 1_439])).map(
    lambda minute: time(minute // 60, minute % 60)
)


def dues_of(zones: Iterable[str]) -> st.SearchStrategy[LocalDue]:
    return st.builds(LocalDue, DUES, st.sampled_from(sorted(zones)))


def steps_in(place: Place) -> st.SearchStrategy[tuple[Place, LocalDue, list[Step]]]:
    does = st.sampled_from(["change", "change", "succeed", "settle", "wait"])
    step = st.builds(Step, MINUTES, does, dues_of(place.zones), WINDOWS)
    return st.tuples(st.just(place), dues_of(place.zones), st.lists(step, max_size=10))


@given(played=st.sampled_from([*BESIDE_CHANGES, IN_UTC[0]]).flatmap(steps_in))
def test_every_date_has_one_cutoff_whatever_is_changed_and_when(
    played: tuple[Place, LocalDue, list[Step]],
) -> None:
    """Also when windows are set to another length between the changes."""
    place, local_due, steps = played
    now = place.start
    wanted = enrollment("default", "ada", local_due.due, timezone=local_due.timezone)
    user = new_daily_user(wanted, now)
    table = Timetable.of(Terms(*local_due), now, timedelta(hours=1))
    for minutes, does, changed, window in steps:
        now += timedelta(minutes=minutes)
        if does == "change":
            table.change(Terms(*changed), now, window)
            if changed != user.wanted:
                user = change_due_time(user, changed, now, window=window)
        elif does == "succeed":
            user = succeeded(user, now, window)
            table.settle(table.next_day, window)
        elif does == "settle":
            user, days = cut_off(user, now, window)
            over = [day for day in table.days() if table.cutoff(day) <= now]
            assert days == [day for day in over if (over[-1] - day).days < 7]
            for day in over:
                table.settle(day, window)
        day = table.next_day
        assert (user.next_date, user.next_cutoff, user.opens_at) == (day, table.cutoff(day), table.opens)
        assert (*user.wanted,) == (*table.wanted,)


def succeeded(user: DailyUser, now: datetime, window: timedelta) -> DailyUser:
    programme = Programme(window_minutes=window // timedelta(minutes=1))
    finalization = finalize_success(user, user.next_date, now, programme=programme)
    assert finalization is not None
    return finalization.user


def cut_off(user: DailyUser, now: datetime, window: timedelta) -> tuple[DailyUser, list[date]]:
    programme = Programme(window_minutes=window // timedelta(minutes=1))
    finalization = finalize_cutoffs(user, now, ServicePeriod(now), programme=programme)
    if finalization is None:
        return user, []
    return finalization.user, [verdict.service_date for verdict in finalization.verdicts]
