"""What learning wins is told of time in which it could have been otherwise."""

import pytest
from tests.planning.learning.learning_fixtures import MINUTE_MS, LearningHarness

from cadenza.adapters.planners.learning.cache import LearningScope
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
async def test_time_in_which_it_could_not_run_counts_for_neither_schedule(
    *, learning: Learning, source: Source, late_ms: int, compared: bool
) -> None:
    harness = LearningHarness()
    await harness.add_endpoints(planning=Planning(learning=learning))
    await harness.run_repeatedly(30, every=3)
    harness.clock.jump(180 * MINUTE_MS)
    scope, cache = LearningScope("default", str(learning), "default"), harness.planner._cache
    before, shared_before = cache.get(harness.key()).model, cache.shared(scope)
    await harness.run("news", source=source, late_ms=late_ms)
    await harness.analyze()
    model, shared = cache.get(harness.key()).model, cache.shared(scope)
    assert model.at_s == harness.clock.now().timestamp(), "it learns all the same"
    assert (model.gains != before.gains) is compared
    assert (shared.gains != shared_before.gains) is compared
    assert (shared.run_price.overdraft != shared_before.run_price.overdraft) is compared
    assert (shared.caution != shared_before.caution) is compared
