"""What waking an agent is worth: the chance that it pays, by its tokens, against one price of its user."""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from math import exp, sqrt
from typing import Any, NamedTuple

from cadenza.domain.json_values import FoundValue, Json
from cadenza.domain.planning.run_changes import compared_parts
from cadenza.domain.scheduling.target import Probe

LEAST_PRICE = 1e-7
"""At which every wake is worth its tokens, per token."""
STEEPNESS = 23.0
"""How the price grows, as a logarithm, with what was spent ahead of the budget, in budgets of a day."""
FADING = 0.97
"""What an earlier wake counts when another has come."""
ASSUMED_TOKENS = 2_000.0
"""Of a turn, while none is known."""
DAY_S = 86_400.0
MOST_KINDS = 16
CONDITION, ANYTHING, OTHERS = "condition", "anything", "others"


class Pricing(StrEnum):
    """Whether wakes have a price: none, one that is only recorded, or one that is asked."""

    OFF = "off"
    SHADOW = "shadow"
    ON = "on"


class Spending(NamedTuple):
    """What a user's turns may spend in a day, None without limit, and have spent today."""

    budget: int | None
    spent: int
    at: datetime

    @property
    def price(self) -> float:
        """The price of a token: it grows with what was spent ahead of an even pace through the day (UTC).

        Where more wakes are worth it than the budget pays for, it grows until the spending keeps that pace.
        """
        if self.budget is None:
            return 0.0
        at = self.at.astimezone(UTC)
        midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
        ahead = self.spent / max(self.budget, 1) - (at - midnight).total_seconds() / DAY_S
        return LEAST_PRICE * exp(STEEPNESS * min(max(ahead, 0.0), 1.0))


class WakeRecord(NamedTuple):
    """What became of wakes of one kind, older ones counted less."""

    paid: float = 0.0
    """Those whose answer was delivered: the agent had something to report."""
    unpaid: float = 0.0
    tokens: float = 0.0

    @property
    def chance(self) -> float:
        """The chance that the next one pays: the mean of a Beta distribution."""
        return (self.paid + 1) / (self.paid + self.unpaid + 2)

    @property
    def mean_tokens(self) -> float:
        """What a turn spends."""
        return max((self.tokens + ASSUMED_TOKENS) / (self.paid + self.unpaid + 1), 1.0)

    @property
    def value(self) -> float:
        """What a token of the next one is worth, a deviation above the mean, as little is known at first."""
        count = self.paid + self.unpaid + 2
        deviation = sqrt(self.chance * (1 - self.chance) / (count + 1))
        return min(self.chance + deviation, 1.0) / self.mean_tokens

    def after(self, *, paid: bool, tokens: int) -> "WakeRecord":
        """With one more."""
        faded = [part * FADING for part in self]
        return WakeRecord(faded[0] + paid, faded[1] + (not paid), faded[2] + tokens)


class WakeTotals(NamedTuple):
    """What wakes have cost and brought, and what the price saved and lost or, in shadow mode, would have."""

    woken: int = 0
    paid: int = 0
    tokens: int = 0
    passed_over: int = 0
    """Wakes that were, or would have been, not worth their tokens."""
    saved_tokens: float = 0.0
    lost: float = 0.0
    """Answers that were not given for that, as far as can be expected."""


class Wakes(NamedTuple):
    """What is known of the wakes of one schedule."""

    kinds: Mapping[str, WakeRecord] = {}
    totals: WakeTotals = WakeTotals()

    def record(self, kind: str) -> WakeRecord:
        """What is known of a kind."""
        return self.kinds.get(kind, WakeRecord())

    def after_wake(self, kind: str, *, messages: int, tokens: int, would_pass: bool) -> "Wakes":
        """The agent was woken; with `would_pass`, a price that counted would have kept it asleep."""
        paid, totals = messages > 0, self.totals
        known = kind if kind in self.kinds or len(self.kinds) < MOST_KINDS else OTHERS
        kinds = {**self.kinds, known: self.record(known).after(paid=paid, tokens=tokens)}
        passed = WakeTotals(totals.woken + 1, totals.paid + paid, totals.tokens + tokens, *totals[3:])
        if would_pass:
            passed = passed._replace(
                passed_over=totals.passed_over + 1,
                saved_tokens=totals.saved_tokens + tokens,
                lost=totals.lost + paid,
            )
        return Wakes(kinds, passed)

    def after_passing(self, kind: str) -> "Wakes":
        """The agent was left asleep."""
        record, totals = self.record(kind), self.totals
        return self._replace(
            totals=totals._replace(
                passed_over=totals.passed_over + 1,
                saved_tokens=totals.saved_tokens + record.mean_tokens,
                lost=totals.lost + record.chance,
            )
        )

    def is_worth(self, kind: str, spending: Spending) -> bool:
        """Is a wake of this kind worth its tokens now?"""
        return self.record(kind).value >= spending.price

    def to_note(self) -> Json:
        """As JSON."""
        return {"kinds": {kind: list(one) for kind, one in self.kinds.items()}, "totals": list(self.totals)}


def wakes_from_note(note: Any) -> Wakes:
    """What was kept; nothing, if it cannot be read."""
    try:
        kinds = {str(kind): WakeRecord(*map(float, parts)) for kind, parts in note["kinds"].items()}
        woken, paid, tokens, passed_over, saved, lost = note["totals"]
        counts = WakeTotals(int(woken), int(paid), int(tokens), int(passed_over), float(saved), float(lost))
    except (TypeError, KeyError, ValueError, AttributeError):
        return Wakes()
    return Wakes(kinds, counts)


def kind_of_wake(probe: Probe, answer: Json, before: FoundValue | None) -> str:
    """By what wakes are told apart: a condition that holds, or the paths that have changed."""
    if probe.condition is not None:
        return CONDITION
    if not probe.changed or before is None:
        return ANYTHING
    pairs = {
        path: [compared_parts(probe.target, one, [path]) for one in (answer, before.value)]
        for path in probe.changed
    }
    return " ".join(path for path, (now, then) in pairs.items() if now != then)[:200] or ANYTHING
