"""The whole system under faults of every kind: nothing is lost, and nothing is done twice in silence."""

import sys
from pathlib import Path

import pytest
from tests.faults.campaign.campaign import run_campaign
from tests.faults.campaign.plan import CampaignPlan, FaultKind
from tests.faults.engine_profiles import NOTHING, SOAK

PLANS = (
    [CampaignPlan(kills=1_000), CampaignPlan(kills=200, profile=NOTHING)] if SOAK else [CampaignPlan(kills=6)]
)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.kills} kills, {plan.profile}")
async def test_a_campaign_of_every_kind_of_fault_violates_nothing(plan: CampaignPlan, tmp_path: Path) -> None:
    report = await run_campaign(plan, tmp_path)
    sys.stdout.write(report.as_text() + "\n")
    assert report.violations == []
    assert report.faults[FaultKind.KILL] == plan.kills
    assert report.faults.keys() == {kind.value for kind in FaultKind}
    assert all(report.figures[name] for name in ("verdicts", "requests that arrived", "messages received"))
