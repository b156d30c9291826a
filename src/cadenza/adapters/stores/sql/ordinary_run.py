"""Runs that changed next to nothing: nearly all of them, so that a narrow statement is worth its while."""

from cadenza.domain.scheduling.due import claimable_at
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Claim


def is_plain(claim: Claim, after: Endpoint) -> bool:
    """Did a run that was started change nothing but the last and the next run, and what was counted?"""
    before = claim.endpoint
    return (
        claim.started_at is not None
        and after.last_run_at is claim.started_at
        and after.next_run_at is not None
        and after.one_shot_hint is None
        and before.one_shot_hint is None
        and after.interval_hint is before.interval_hint
        and after.open_slot is before.open_slot
        and after.paused_until is before.paused_until
        and after.quota_opens_at is before.quota_opens_at
        and after.skipped_at is before.skipped_at
        and claimable_at(after) is after.next_run_at
    )
