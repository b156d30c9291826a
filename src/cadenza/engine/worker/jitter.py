"""How long a claim waits beyond its moment, so that endpoints do not start together."""

from datetime import timedelta
from zlib import crc32

from cadenza.domain.scheduling.baseline import Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.validation import milliseconds

NO_JITTER = timedelta(0)
DOWNTIME = timedelta(seconds=5)
"""A claim that is later than this came after a time without workers, or while its job was not active."""
INTERVAL_PARTS = 10
"""An endpoint with an interval is delayed by at most this part of it."""
HASHES = 2**32
SHARED = frozenset({Source.FIRST, Source.RESUME, Source.PAUSED, Source.QUOTA})
"""What sets the same moment for many endpoints: a start, a resume, the end of a pause, a quota that opens."""
PACED = frozenset({Source.BASELINE_INTERVAL, Source.AI_INTERVAL, Source.CLAMPED_MIN, Source.CLAMPED_MAX})


def jitter_of(claim: Claim, most_ms: int) -> timedelta:
    """The jitter of a claim: the same for an endpoint each time, and never negative.

    1. What runs once, a one-shot, a retry and a run that was asked for start at their moment.
    2. Cron lines are always spread.
    3. An interval is spread once, by at most a tenth of it, where it would fall into step with others: on
       its first run, after a resume, a pause or a closed quota, and after downtime. From then on it runs
       from its own start.
    """
    endpoint, source = claim.endpoint, claim.source
    if most_ms <= 0 or claim.attempt > 1 or isinstance(endpoint.baseline, Once) or _is_one_shot(claim):
        return NO_JITTER
    if source is Source.BASELINE_CRON:
        return _stable_part(claim, milliseconds(most_ms))
    if source in SHARED or (source in PACED and _falls_into_step(claim)):
        return _stable_part(claim, min(milliseconds(most_ms), _longest_delay(endpoint, claim)))
    return NO_JITTER


def _is_one_shot(claim: Claim) -> bool:
    hint = claim.endpoint.one_shot_hint
    return hint is not None and hint.at == claim.due_at


def _falls_into_step(claim: Claim) -> bool:
    is_first = claim.source is Source.BASELINE_INTERVAL and claim.endpoint.last_run_at is None
    return is_first or claim.claimed_at - claim.due_at > DOWNTIME


def _longest_delay(endpoint: Endpoint, claim: Claim) -> timedelta:
    """A tenth of the interval at which it runs, by its baseline or by a hint; unlimited for a cron line."""
    hint, baseline = endpoint.interval_hint, endpoint.baseline
    intervals = [milliseconds(baseline.interval_ms)] if isinstance(baseline, Every) else []
    if hint is not None and hint.fresh(claim.due_at):
        intervals.append(milliseconds(hint.interval_ms))
    return min(intervals, default=timedelta.max) / INTERVAL_PARTS


def _stable_part(claim: Claim, longest: timedelta) -> timedelta:
    """A part of the longest delay that is always the same for the endpoint, to the microsecond."""
    return longest * crc32("/".join(claim.key).encode()) / HASHES
