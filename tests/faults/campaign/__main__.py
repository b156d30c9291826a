"""`python -m tests.faults.campaign`: kill everything again and again, and tell what broke."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.faults.campaign.campaign import run_campaign
from tests.faults.campaign.plan import CampaignPlan
from tests.faults.engine_profiles import EVERYTHING


def main() -> int:
    """Run a campaign as the arguments say; 1 if anything was violated."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.campaign", description=__doc__)
    parser.add_argument("--kills", type=int, default=CampaignPlan().kills, help="how many processes to kill")
    parser.add_argument("--seed", type=int, default=1, help="what faults are drawn from")
    parser.add_argument("--minutes", type=float, help="end the faults after this time")
    parser.add_argument(
        "--profile",
        default=EVERYTHING,
        help="what the engine can do, as CADENZA_DATABASE_PROFILE says it, such as cockroachdb",
    )
    parser.add_argument("--folder", type=Path, help="keep the logs of all processes there")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    given = parser.parse_args()
    plan = CampaignPlan(kills=given.kills, seed=given.seed, minutes=given.minutes, profile=given.profile)
    with tempfile.TemporaryDirectory(prefix="cadenza-campaign-") as temporary:
        folder = Path(given.folder or temporary).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        report = asyncio.run(run_campaign(plan, folder))
    sys.stdout.write((report.as_json() if given.json else report.as_text()) + "\n")
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
