"""What a tenant may still spend this month, as far as one process knows."""

from datetime import datetime, timedelta

from cadenza.domain.access.tenant import Standing
from cadenza.ports.access import Spending

LIMITED = timedelta(seconds=1)
"""So long is remembered what a tenant with a limit has spent."""
UNLIMITED = timedelta(seconds=10)
GENERATION = timedelta(minutes=1)


class Tally:
    """One kind of spending: its limit, what is counted, and what was allowed and is not counted yet.

    What was allowed is counted when it ends. It stays on top of the counter until the
    counter has grown by as much; what does not come within two generations is taken
    for lost.
    """

    __slots__ = ("_counted", "_earlier", "_lately", "_limit")

    def __init__(self, limit: int | None, counted: int) -> None:
        self._limit = limit
        self._counted = counted
        self._earlier = self._lately = 0

    def allows(self, cost: int) -> bool:
        """May it be spent? If so, it counts as spent."""
        if self._limit is None:
            return True
        if self._counted + self._earlier + self._lately + cost > self._limit:
            return False
        self._lately += cost
        return True

    def read(self, limit: int | None, counted: int, *, generations: int) -> None:
        """Take in a new reading of the counter, and forget what was allowed too long ago."""
        grown = max(0, counted - self._counted)
        self._limit, self._counted = limit, counted
        self._lately = max(0, self._lately - max(0, grown - self._earlier))
        self._earlier = max(0, self._earlier - grown)
        if generations:
            self._earlier, self._lately = (self._lately if generations == 1 else 0), 0


class Account:
    """The tallies of a tenant in one month."""

    def __init__(self, standing: Standing, month: str, now: datetime) -> None:
        limits, spent = standing
        self._month = month
        self._read_at = self._began_at = now
        self._tallies = {
            Spending.ENDPOINT: Tally(limits.runs_per_month, spent.runs),
            Spending.AI: Tally(limits.planner_tokens_per_month, spent.planner_tokens),
        }
        self._fresh_for = _fresh_for(standing)

    def allows(self, kind: Spending, cost: int) -> bool:
        """May it be spent? If so, it counts as spent."""
        return self._tallies[kind].allows(cost)

    def fresh(self, month: str, now: datetime) -> bool:
        """Need it not be read again?"""
        return self._month == month and abs(now - self._read_at) < self._fresh_for

    def read(self, standing: Standing, month: str, now: datetime) -> "Account":
        """The account after a new reading; in a new month it begins anew."""
        if month != self._month:
            return Account(standing, month, now)
        limits, spent = standing
        generations = max(0, (now - self._began_at) // GENERATION)
        if generations:
            self._began_at = now
        self._tallies[Spending.ENDPOINT].read(limits.runs_per_month, spent.runs, generations=generations)
        self._tallies[Spending.AI].read(
            limits.planner_tokens_per_month, spent.planner_tokens, generations=generations
        )
        self._read_at, self._fresh_for = now, _fresh_for(standing)
        return self


def _fresh_for(standing: Standing) -> timedelta:
    limits = (standing.limits.runs_per_month, standing.limits.planner_tokens_per_month)
    return UNLIMITED if limits == (None, None) else LIMITED
