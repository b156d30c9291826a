"""Fixed users, due from 01:00 on, no downtime, results before the cutoff: as the seed has it."""

import asyncio
from datetime import UTC, date, datetime, time, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.daily.daily_fixtures import FAILED, DailyFixture, FakeRun
from tests.daily.model.reference_implementation import Kv, Literal

from cadenza.domain.daily.user import DONE

START = datetime(2026, 3, 10, tzinfo=UTC)
DUES = st.one_of(
    st.integers(60, 1_439),
    st.sampled_from([60, 61, 119, 120, 121, 719, 720, 1_438, 1_439]),
).map(lambda minute: time(minute // 60, minute % 60))
FATES = st.lists(
    st.tuples(st.sampled_from([0, 1, 30, 59, 60, 61, 540, 599, 600, 601, 900]), st.booleans()),
    min_size=1,
    max_size=6,
)
"""What attempts come to, one after the other and round again: seconds, and whether it goes well."""


class Fates:
    """Decides how each attempt ends, before its cutoff."""

    def __init__(self, users: dict[str, tuple[time, list[tuple[int, bool]]]]) -> None:
        self.users = users

    def __call__(self, user_id: str, today: str, number: int, at: datetime) -> tuple[timedelta, bool]:
        due, fates = self.users[user_id]
        seconds, ok = fates[number % len(fates)]
        cutoff = datetime.combine(date.fromisoformat(today), due, UTC)
        return min(timedelta(seconds=seconds), cutoff - at - timedelta(seconds=1)), ok


@given(
    users=st.dictionaries(st.sampled_from("abcdef"), st.tuples(DUES, FATES), min_size=1),
    phase=st.sampled_from([0, 1, 30, 59]),
    days=st.integers(1, 2),
)
@settings(max_examples=4)
def test_attempts_and_verdicts_are_those_of_the_seed(
    users: dict[str, tuple[time, list[tuple[int, bool]]]], phase: int, days: int
) -> None:
    start = START + timedelta(seconds=phase)
    fates = Fates(users)
    literal = Literal(
        {user_id: Kv(due) for user_id, (due, _) in users.items()},
        lambda user_id, today, number: fates(user_id, today, number, now[0]),
    )
    now = [start]
    for _ in range(days * 1_440):
        literal.tick(now[0])
        now[0] += timedelta(minutes=1)
    attempts, verdicts = asyncio.run(played(users, fates, start, days))
    assert attempts == sorted(literal.attempts)
    assert verdicts == literal.finalized


async def played(
    users: dict[str, tuple[time, list[tuple[int, bool]]]], fates: Fates, start: datetime, days: int
) -> tuple[list[tuple[str, str, datetime]], dict[tuple[str, str], str]]:
    """The same on the product."""
    daily = DailyFixture(start, max_concurrency=100)
    for user_id, (due, _) in users.items():
        await daily.enroll(user_id, due)
    ends: dict[FakeRun, tuple[datetime, bool]] = {}
    for minute in range(days * 1_440):
        at = start + timedelta(minutes=minute)
        await returned(daily, ends, at)
        daily.clocks.go_to(at)
        await daily.tick()
        for run in daily.runs.running:
            if run not in ends:
                same = [one for one in daily.runs.started if key(one) == key(run)]
                takes, ok = fates(*key(run), same.index(run), at)
                ends[run] = (at + takes, ok)
    attempts = sorted((*key(run), run.began_at) for run in daily.runs.started)
    verdicts = {
        (user_id, one.service_date.isoformat()): one.status.value
        for user_id in users
        for one in await daily.verdicts(user_id)
    }
    await daily.crash()
    return attempts, verdicts


async def returned(daily: DailyFixture, ends: dict[FakeRun, tuple[datetime, bool]], until: datetime) -> None:
    """Let jobs return at their moments."""
    due = sorted((ends[run][0], key(run), run) for run in daily.runs.running if ends[run][0] <= until)
    for at, _, run in due:
        daily.clocks.go_to(max(at, daily.clocks.wall))
        await daily.finish(run, DONE if ends[run][1] else FAILED)
        await daily.settle()


def key(run: FakeRun) -> tuple[str, str]:
    return run.user_id, run.service_date.isoformat()
