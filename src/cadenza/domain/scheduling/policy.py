"""How an endpoint is run: guard, timeout, retries, misfires and backoff."""

from dataclasses import dataclass, replace
from enum import StrEnum

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import check_count, check_duration_ms
from cadenza.domain.wording import duration_in_words


class Misfire(StrEnum):
    """What becomes of a slot that is served too late."""

    RUN = "run"
    SKIP = "skip"


class Backoff(StrEnum):
    """What failures do to the baseline interval."""

    NONE = "none"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True, slots=True)
class Guard:
    """The least and the most time between two runs."""

    min_interval_ms: int | None = None
    max_interval_ms: int | None = None

    def __post_init__(self) -> None:
        if self.min_interval_ms is not None:
            check_duration_ms("min_interval_ms", self.min_interval_ms)
        if self.max_interval_ms is not None:
            check_duration_ms("max_interval_ms", self.max_interval_ms)
        if (self.min_interval_ms or 0) > (self.max_interval_ms or float("inf")):
            raise InvalidRequest("min_interval_ms must not exceed max_interval_ms.", "min_interval_ms")


DEFAULT_TIMEOUT_MS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Timeout, retries, misfires and backoff of one endpoint."""

    timeout_ms: int = DEFAULT_TIMEOUT_MS
    max_attempts: int = 1
    retry_delay_ms: int = 10_000
    misfire: Misfire = Misfire.RUN
    misfire_grace_ms: int = 60_000
    backoff: Backoff = Backoff.NONE

    def __post_init__(self) -> None:
        check_duration_ms("timeout_ms", self.timeout_ms)
        check_count("max_attempts", self.max_attempts, least=1, most=100)
        check_duration_ms("retry_delay_ms", self.retry_delay_ms, least=0)
        check_duration_ms("misfire_grace_ms", self.misfire_grace_ms, least=0)
        _one_of(self, "misfire", Misfire)
        _one_of(self, "backoff", Backoff)


def cut_timeout(policy: Policy, longest_ms: int | None) -> Policy:
    """The policy with a timeout that is not longer than the operator allows; None is without limit."""
    if longest_ms is None or policy.timeout_ms <= longest_ms:
        return policy
    return replace(policy, timeout_ms=longest_ms)


def check_timeout(policy: Policy, longest_ms: int | None, before: Policy | None = None) -> Policy:
    """The policy, if its timeout is not longer than the operator allows; the default is cut.

    What was stored so before may stay; it is cut when it is dispatched.
    """
    as_before = before is not None and before.timeout_ms == policy.timeout_ms
    cut = cut_timeout(policy, longest_ms)
    if cut is policy or as_before:
        return policy
    if policy.timeout_ms != DEFAULT_TIMEOUT_MS:
        longest = duration_in_words(cut.timeout_ms)
        raise InvalidRequest(f"timeout_ms may not be more than {longest} here.", "policy.timeout_ms")
    return cut


def _one_of(policy: Policy, field: str, choices: type[Misfire] | type[Backoff]) -> None:
    value = getattr(policy, field)
    if value not in list(choices):
        raise InvalidRequest(f"{field} must be one of {', '.join(choices)}.", field)
    object.__setattr__(policy, field, choices(value))
