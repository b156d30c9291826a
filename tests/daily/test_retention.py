"""Old days are deleted in batches, programme by programme."""

from datetime import date
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.stores.sql.daily.users import DELETE_OLD_GAPS, NEXT_PROGRAMME, SqlDaily
from cadenza.adapters.stores.sql.database import BATCH, Database, Dialect
from cadenza.domain.daily.keys import DAILY

COUNTS = st.sampled_from([0, 1, BATCH - 1, BATCH, BATCH + 1, 3 * BATCH])


class CountingDatabase:
    """Gaps, and verdicts by tenant; it counts what a commit takes away."""

    dialect = Dialect.POSTGRES

    def __init__(self, gaps: int, verdicts: dict[str, int]) -> None:
        self.left = {"": gaps, **verdicts}
        self.commits: list[int] = []

    async def ask(self, statement: str, *values: object) -> list[tuple[str]]:
        *programme, before, limit = values
        assert before == "2030-01-31"
        assert isinstance(limit, int)
        assert (statement == DELETE_OLD_GAPS[self.dialect]) is not bool(programme)
        place = str(programme[0]) if programme else ""
        deleted = min(limit, self.left[place])
        self.left[place] -= deleted
        self.commits.append(deleted)
        return [("user",)] * deleted

    async def read(self, statement: str, tenant_id: str, _: str) -> list[tuple[str, str]]:
        assert statement == NEXT_PROGRAMME
        return [(one, DAILY) for one in sorted(self.left) if one > tenant_id][:1]


@given(gaps=COUNTS, verdicts=st.dictionaries(st.sampled_from(["a", "b", "c"]), COUNTS))
async def test_all_that_is_old_goes_and_no_commit_is_large(gaps: int, verdicts: dict[str, int]) -> None:
    database = CountingDatabase(gaps, verdicts)
    daily = SqlDaily(cast("Database", database))
    assert await daily.forget_days(date(2030, 1, 31)) == gaps + sum(verdicts.values())
    assert set(database.left.values()) == {0}
    assert max(database.commits) <= BATCH
