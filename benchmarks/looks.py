"""Looks at endpoints, one after the other in simulated time, as a policy says."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from random import Random
from typing import NamedTuple, Protocol

from benchmarks.policies import Policy, Seen
from benchmarks.worlds import Timing


class Looks(Protocol):
    """What there is to look at, and what looks show of it."""

    until: float
    timing: Timing
    chance: Random

    @property
    def endpoints(self) -> int:
        """How many there are to look at."""
        ...

    def passed(self, number: int, begin: float, *, end: float) -> None:
        """A gap between two looks has ended."""
        ...

    def look(self, number: int, at: float) -> Seen:
        """What a look shows."""
        ...

    def siblings(self, number: int) -> Sequence[int]:
        """The other endpoints of its job."""
        ...


class Spent(NamedTuple):
    """Looks, and how many of them came too soon or too late for the guard."""

    runs: int
    violations: int


class DueLooks:
    """The next look at every endpoint; it may be brought forward."""

    def __init__(self, first: Sequence[float]) -> None:
        self._due = list(first)
        self._queue = [(at, number) for number, at in enumerate(first)]
        heapify(self._queue)

    def __bool__(self) -> bool:
        return bool(self._queue)

    def take(self) -> tuple[float, int] | None:
        """The earliest look; None if that one was brought forward meanwhile."""
        at, number = heappop(self._queue)
        return (at, number) if at == self._due[number] else None

    def put(self, number: int, at: float) -> None:
        """Look at this endpoint then."""
        self._due[number] = at
        heappush(self._queue, (at, number))

    def bring_forward(self, number: int, at: float) -> None:
        """Look at this endpoint then, unless it is due sooner."""
        if at < self._due[number]:
            self.put(number, at)


def play(looks: Looks, policy: Policy) -> Spent:
    """Look at every endpoint until the end, as a policy says; the first looks are spread over a period."""
    least_s, most_s = looks.timing.guard_s
    count = looks.endpoints
    due = DueLooks([looks.chance.uniform(0, looks.timing.period_s) for _ in range(count)])
    last, runs, violations = [0.0] * count, 0, 0
    while due:
        if (taken := due.take()) is None:
            continue
        at, number = taken
        looks.passed(number, last[number], end=at)
        violations += runs >= count and not least_s - 1e-6 <= at - last[number] <= most_s + 1e-6
        last[number] = at
        if at >= looks.until:
            continue
        runs += 1
        seen = looks.look(number, at)
        due.put(number, at + policy.look(number, seen))
        if seen.changed:
            _tell_siblings(looks, policy, number=number, at=at, due=due, last=last)
    return Spent(runs, violations)


def _tell_siblings(
    looks: Looks, policy: Policy, *, number: int, at: float, due: DueLooks, last: Sequence[float]
) -> None:
    """A change may bring the siblings' looks forward, within the guard."""
    for other in looks.siblings(number):
        wish = policy.on_sibling_change(other, at)
        if wish is not None:
            due.bring_forward(other, max(wish, at, last[other] + looks.timing.guard_s[0]))
