"""Advice with an expiry and a reason, and what remains of it as time goes on."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from cadenza.domain.validation import check_duration_ms, check_moment, check_text, convert_to_utc

LONGEST_TTL_MINUTES = 366 * 24 * 60
SHORTEST_TTL_MINUTES = 1 / 60_000


class HintMode(StrEnum):
    """What a fresh interval hint does to the baseline."""

    OVERRIDE = "override"
    TIGHTEN = "tighten"


@dataclass(frozen=True, slots=True)
class IntervalHint:
    """Run every so often until the hint expires."""

    interval_ms: int
    expires_at: datetime
    reason: str | None = None

    def __post_init__(self) -> None:
        check_duration_ms("interval_ms", self.interval_ms)
        _check_advice(self.expires_at, self.reason)
        convert_to_utc(self, "expires_at")

    def fresh(self, now: datetime) -> bool:
        """Does it still count?"""
        return self.expires_at > now


@dataclass(frozen=True, slots=True)
class OneShotHint:
    """Run once at this moment."""

    at: datetime
    expires_at: datetime
    reason: str | None = None

    def __post_init__(self) -> None:
        check_moment("at", self.at)
        _check_advice(self.expires_at, self.reason)
        convert_to_utc(self, "at", "expires_at")

    def fresh(self, now: datetime) -> bool:
        """Does it still count?"""
        return self.expires_at > now

    def served(self, last_run_at: datetime | None) -> bool:
        """Has the endpoint run at its moment or since? A one-shot fires once."""
        return last_run_at is not None and self.at <= last_run_at


def _check_advice(expires_at: datetime, reason: str | None) -> None:
    check_moment("expires_at", expires_at)
    if reason is not None:
        check_text("reason", reason)
