"""A stable delay for each endpoint, so that herds spread out; never negative, so that nothing is early."""

from zlib import crc32

from cadenza.domain.scheduling.baseline import Cron, Every
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.validation import milliseconds

DOWNTIME_MS = 5_000
"""Later than this, an endpoint waited for a worker; nothing on a working system does."""
SHARE = 10
"""An interval endpoint is delayed by at most this part of its interval."""


def offset_ms(claim: Claim, most_ms: int) -> int:
    """How long a claim waits beyond its moment.

    Cron lines are always spread; intervals once, on their first run and after
    downtime, because from then on they run from their own start. What somebody
    asked for at a moment is not.
    """
    baseline = claim.endpoint.baseline
    if most_ms <= 0 or claim.attempt > 1:
        return 0
    if isinstance(baseline, Cron) and claim.source is Source.BASELINE_CRON:
        return _stable(claim, most_ms)
    if isinstance(baseline, Every) and _starts_afresh(claim):
        return _stable(claim, min(most_ms, baseline.interval_ms // SHARE))
    return 0


def _starts_afresh(claim: Claim) -> bool:
    if claim.source is not Source.BASELINE_INTERVAL:
        return False
    return claim.endpoint.last_run_at is None or claim.claimed_at - claim.due_at > milliseconds(DOWNTIME_MS)


def _stable(claim: Claim, most_ms: int) -> int:
    return crc32("/".join(claim.key).encode()) % (most_ms + 1)
