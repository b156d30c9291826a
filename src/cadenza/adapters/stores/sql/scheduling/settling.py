"""What both databases are given to settle a batch of runs."""

from collections.abc import Sequence
from typing import NamedTuple

from cadenza.domain.scheduling.due import claimable_at
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Claim, Completion
from cadenza.ports.ids import Ids
from cadenza.ports.scheduling import Settle


class CompletedBatch(NamedTuple):
    """Runs that ended, and how to settle them."""

    completions: Sequence[Completion]
    settle: Settle
    ids: Ids


def is_ordinary(claim: Claim, after: Endpoint) -> bool:
    """Did a started run change nothing but the last and the next run, and the counters?

    So it is with nearly all runs: statements that write these columns alone are worth having.
    """
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
        and after.abandoned_count == before.abandoned_count
        and after.requested is before.requested
        and after.cancel_request is before.cancel_request
        and claimable_at(after) is after.next_run_at
    )
