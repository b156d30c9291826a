"""How much a worker takes on, and how long it waits."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How much a worker takes on, how long it waits, and for how long its leases protect."""

    claim_limit: int = 50
    """How many endpoints one claim takes at most."""
    concurrency: int = 50
    """How many claims it holds at most."""
    claim_ahead_ms: int = 0
    """How long before its moment an endpoint may be claimed."""
    lease_ms: int = 60_000
    settle_batch: int = 500
    """How many completions are settled together at most."""
    settle_at_once: int = 2
    """How many such batches are settled at the same time at most, when one takes long."""
    settle_linger_ms: float = 5
    """How long completions are gathered."""
    poll_ms: int = 1_000
    """How long it sleeps at most, in case a wake-up was lost."""
    jitter_ms: int = 0
    """How far endpoints that would start together are spread."""
    grace_ms: int = 10_000
    """How long runs may go on after the loop was asked to stop."""


DEFAULTS = WorkerSettings()
