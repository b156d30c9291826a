"""What learning wins is told of time in which it could have been otherwise."""

import pytest
from tests.planning.learning.learning_fixtures import MINUTE_MS, Table

from cadenza.adapters.planners.learning.cache import Scope
from cadenza.domain.planning.planner_settings import Learning, Planning
from cadenza.domain.scheduling.plan import Source


@pytest.mark.parametrize("learning", [Learning.SHADOW, Learning.ON])
@pytest.mark.parametrize(
    ("source", "late_ms", "compared"),
    [
        (Source.PAUSED, 0, False),
        (Source.RESUME, 0, False),
        (Source.QUOTA, 0, False),
        (Source.BASELINE_INTERVAL, 179 * MINUTE_MS, False),
        (Source.AI_INTERVAL, 0, True),
    ],
    ids=["paused", "resumed", "over its quota", "nobody was there", "somebody wanted it so"],
)
async def test_time_in_which_nobody_could_look_is_held_against_neither_way(
    *, learning: Learning, source: Source, late_ms: int, compared: bool
) -> None:
    table = Table()
    await table.lay(planning=Planning(learning=learning))
    await table.live(30, every=3)
    table.clock.jump(180 * MINUTE_MS)
    scope, memory = Scope("default", str(learning)), table.planner._memory
    before, shared = memory.of(table.key()).known, memory.pool(scope)
    await table.run("news", source=source, late_ms=late_ms)
    await table.think()
    known, pool = memory.of(table.key()).known, memory.pool(scope)
    assert known.at_s == table.clock.now().timestamp(), "it learns all the same"
    assert (known.tally != before.tally) is compared
    assert (pool.tally != shared.tally) is compared
    assert (pool.purse.overdraft != shared.purse.overdraft) is compared
    assert (pool.patience != shared.patience) is compared
