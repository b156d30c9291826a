"""Old days are forgotten a few at a time, whoever's they are."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.stores.sql.retention import AT_ONCE, DayForgetting

COUNTS = st.sampled_from([0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE])


class Place(DayForgetting):
    """Gaps, and verdicts by tenant; it counts what a commit takes away."""

    def __init__(self, gaps: int, verdicts: dict[str, int]) -> None:
        self.left = {"": gaps, **verdicts}
        self.commits: list[int] = []

    async def _forget_gaps(self, before: str, limit: int) -> int:
        return await self._forget_verdicts("", before, limit)

    async def _forget_verdicts(self, tenant_id: str, before: str, limit: int) -> int:
        assert before == "2030-01-31"
        gone = min(limit, self.left[tenant_id])
        self.left[tenant_id] -= gone
        self.commits.append(gone)
        return gone

    async def _tenant_after(self, tenant_id: str) -> str | None:
        return min((one for one in self.left if one > tenant_id), default=None)


@given(gaps=COUNTS, verdicts=st.dictionaries(st.sampled_from(["a", "b", "c"]), COUNTS))
async def test_all_that_is_old_goes_and_no_commit_is_large(gaps: int, verdicts: dict[str, int]) -> None:
    place = Place(gaps, verdicts)
    gone = await place.forget_days(date(2030, 1, 31))
    assert gone == gaps + sum(verdicts.values())
    assert set(place.left.values()) == {0}
    assert max(place.commits) <= AT_ONCE
