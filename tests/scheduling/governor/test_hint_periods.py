"""For how long each hint and pause held."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.monitoring.hint_periods import ENDED_BY, hint_periods
from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.steer import HintRecord

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def at(minute: float) -> datetime:
    return NOON + timedelta(minutes=minute)


def a_record(kind: HintKind, minute: float, expires: float | None = None) -> HintRecord:
    return HintRecord(kind, at(minute), "test", expires_at=None if expires is None else at(expires))


def test_each_holds_until_it_expires_or_something_takes_its_place() -> None:
    history = [
        a_record(HintKind.INTERVAL, 0, expires=60),
        a_record(HintKind.ONE_SHOT, 5, expires=30),
        a_record(HintKind.PAUSE, 6, expires=20),
        a_record(HintKind.INTERVAL, 10, expires=15),
        a_record(HintKind.RESUME, 12),
        a_record(HintKind.CLEAR, 18),
    ]
    found = [(one.record.kind, one.begin, one.end) for one in hint_periods(reversed(history))]
    assert found == [
        (HintKind.INTERVAL, at(0), at(10)),
        (HintKind.ONE_SHOT, at(5), at(18)),
        (HintKind.PAUSE, at(6), at(12)),
        (HintKind.INTERVAL, at(10), at(15)),
    ]


@given(st.lists(st.tuples(st.sampled_from(HintKind), st.integers(1, 120)), max_size=12))
def test_periods_of_one_kind_never_overlap_and_never_outlast_their_hint(
    drawn: list[tuple[HintKind, int]],
) -> None:
    history = [a_record(kind, n * 10, n * 10 + lasts) for n, (kind, lasts) in enumerate(drawn)]
    found = hint_periods(reversed(history))
    for one in found:
        assert one.begin == one.record.written_at
        assert one.record.expires_at is not None
        assert one.begin <= one.end <= one.record.expires_at
    for kind in ENDED_BY:
        held = [one for one in found if one.record.kind is kind]
        assert all(before.end <= after.begin for before, after in pairwise(held))
        assert len(held) == sum(record.kind is kind for record in history)
