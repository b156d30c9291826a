import pytest

from cadenza.domain.scheduling.plan import Source
from cadenza.sim.catalogue import run_product, simulate
from cadenza.sim.flash_sale.policies import CORRECTED, Corrections
from cadenza.sim.flash_sale.scenario import flash_sale
from cadenza.sim.recording import Recording
from cadenza.sim.steered_endpoint import PauseTiming
from cadenza.sim.world import elapsed_s

RUNS = {
    "traffic_monitor": 65,
    "order_processor_health": 18,
    "inventory_sync_check": 30,
    "slow_page_analyzer": 8,
    "database_query_trace": 6,
    "cache_warm_up": 2,
    "scale_checkout_workers": 1,
    "slack_operations": 2,
    "slack_customer_support": 1,
    "emergency_oncall_page": 1,
}


@pytest.fixture
async def recording() -> Recording:
    return await run_product(flash_sale())


def test_the_golden_numbers(recording: Recording) -> None:
    assert recording.counts() == RUNS
    assert len(recording.runs) == 134
    assert recording.sources() == {"ai-interval": 95, "baseline-interval": 32, "paused": 7}
    assert recording.tiers() == {"health": 113, "investigation": 14, "recovery": 3, "alert": 4}


def test_every_cause_is_known_and_the_hints_caused_most(recording: Recording) -> None:
    causes = recording.causes()
    assert sum(causes.values()) == len(recording.runs)
    assert causes["first"] == 3
    assert causes["ai-interval"] == 95


@pytest.mark.parametrize("step_s", [1, 2, 10])
async def test_the_step_changes_nothing(recording: Recording, step_s: int) -> None:
    other = await run_product(flash_sale(), step_s=step_s)
    assert other.counts() == recording.counts()
    assert other.sources() == recording.sources()
    assert other.causes() == recording.causes()
    assert other.order() == recording.order()


@pytest.mark.parametrize("step_s", [1, 5, 10])
async def test_all_eighteen_checks_pass(step_s: int) -> None:
    report = await simulate("flash-sale", step_s=step_s)
    assert [check for check in report.checks if not check.passed] == []
    assert len(report.checks) == 18
    assert report.passed


async def test_two_simulations_are_equal(recording: Recording) -> None:
    again = await run_product(flash_sale())
    assert again.runs == recording.runs
    assert again.snapshots == recording.snapshots
    assert again.history == recording.history


async def test_the_published_order_policy_widens_in_the_quiet_baseline_and_saves_seven_runs() -> None:
    corrections = Corrections(pause_timing=CORRECTED.pause_timing, widen_from_traffic=0)
    recording = await run_product(flash_sale(corrections))
    assert len(recording.runs) == 127
    assert recording.counts() == RUNS | {"order_processor_health": 11}


async def test_a_pause_that_lapses_turns_an_action_into_a_cadence() -> None:
    corrections = Corrections(
        pause_timing=PauseTiming.AT_ONCE, widen_from_traffic=CORRECTED.widen_from_traffic
    )
    counts = (await run_product(flash_sale(corrections))).counts()
    assert counts["cache_warm_up"] == 11
    assert counts["emergency_oncall_page"] == 0


def test_the_story_of_the_traffic_monitor(recording: Recording) -> None:
    times = recording.times("traffic_monitor")
    assert times[:8] == [0, 60, 120, 180, 240, 300, 330, 360]
    assert [second for second in times if 760 <= second <= 840] == [780, 800, 820, 840]
    assert [second for second in times if 1240 <= second <= 1400] == [1240, 1260, 1320, 1380]
    assert times[-1] == 2400


def test_an_action_runs_within_five_seconds_of_its_wake_and_is_paused_by_its_own_run(
    recording: Recording,
) -> None:
    for run in recording.runs:
        if run.endpoint in {"scale_checkout_workers", "slack_customer_support", "emergency_oncall_page"}:
            assert elapsed_s(run.at) == 785
            assert (run.cause, run.source) == (Source.AI_ONESHOT, Source.PAUSED)


def test_a_snapshot_is_taken_at_the_end_of_its_minute(recording: Recording) -> None:
    """So that the last minute of a phase already shows what comes."""
    shown = [snapshot.row["traffic"] for snapshot in recording.snapshots]
    assert shown[3:6] == [1000, 5000, 5000]
    assert [snapshot.phase for snapshot in recording.snapshots[3:6]] == ["baseline", "baseline", "surge"]
    assert [snapshot.row["nextCheck"] for snapshot in recording.snapshots[4:6]] == [60, 30]
