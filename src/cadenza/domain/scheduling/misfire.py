"""Slots that are served too late."""

from datetime import datetime

from cadenza.domain.scheduling.policy import Misfire
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.validation import milliseconds

SKIP = Misfire.SKIP


def misfired(claim: Claim, now: datetime) -> bool:
    """Is it later than its grace allows, and does its owner want it skipped then?"""
    policy = claim.endpoint.policy
    return policy.misfire is SKIP and now - claim.due_at > milliseconds(policy.misfire_grace_ms)
