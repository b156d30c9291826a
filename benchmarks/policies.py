"""Who decides when to look next: the learning planner, and what it is compared with."""

from collections.abc import Callable
from math import exp, sqrt
from typing import NamedTuple, Protocol

from benchmarks.worlds import Timing, World

from cadenza.domain.planning.learning.learner import Period, learn, with_sibling_change
from cadenza.domain.planning.learning.proposal import LEAST_PERIODS, MOST_PERIODS, Bounds, decide, propose
from cadenza.domain.planning.learning.recent_rate import JobRate
from cadenza.domain.planning.learning.run_price import RunPrice
from cadenza.domain.planning.learning.state import EndpointModel, Observation, SharedModel
from cadenza.domain.planning.learning.stress import log_scaled

DEFAULT = Timing()


def bounds_within(timing: Timing) -> Bounds:
    """The intervals that the planner may propose within a guard, in periods."""
    least_s, most_s = timing.guard_s
    return Bounds(max(LEAST_PERIODS, least_s / timing.period_s), min(MOST_PERIODS, most_s / timing.period_s))


class Seen(NamedTuple):
    """What a look shows to anybody."""

    at: float
    changed: bool
    failing: bool
    latency_ms: float
    job: int = 0
    """Of which job the endpoint is."""


class Policy(Protocol):
    """Decides after each look when to look again."""

    def look(self, number: int, seen: Seen) -> float:
        """Seconds until the next look at this endpoint."""
        ...

    def on_sibling_change(self, number: int, at: float) -> float | None:
        """A sibling has changed: the moment of the next look, if that makes it sooner."""
        ...


class IgnoresSiblings:
    """Leaves the next look as it is when a sibling changes."""

    def on_sibling_change(self, _number: int, _at: float) -> float | None:
        return None


class Fixed(IgnoresSiblings):
    """Always the same interval."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s

    def look(self, _number: int, _seen: Seen) -> float:
        return self._interval_s


class SelfPaced(IgnoresSiblings):
    """Guesses as a model does that names its own next time: twice as long after nothing, half after a change.

    It begins with the period, and stays within the guard.
    """

    def __init__(self, endpoints: int, timing: Timing) -> None:
        self._waits = [timing.period_s] * endpoints
        self._least, self._most = timing.guard_s

    def look(self, number: int, seen: Seen) -> float:
        guess = self._waits[number] * (0.5 if seen.changed else 2.0)
        self._waits[number] = min(max(guess, self._least), self._most)
        return self._waits[number]


class Learning:
    """The learning planner's own functions, as the planner calls them."""

    def __init__(self, endpoints: int, timing: Timing = DEFAULT) -> None:
        self._models = [EndpointModel()] * endpoints
        self._period, self._bounds = Period(timing.period_s), bounds_within(timing)
        self.shared = SharedModel()
        self._jobs = [0] * endpoints
        self._job_rates: dict[int, JobRate] = {}

    def look(self, number: int, seen: Seen) -> float:
        self._jobs[number] = seen.job
        look = Observation(seen.at, seen.changed, seen.failing, {"latency": log_scaled(seen.latency_ms)})
        model, shared = learn(self._models[number], look, shared=self._shared(number), period=self._period)
        after = decide(model, shared, period=self._period, at_s=seen.at, bounds=self._bounds)
        self._models[number], self.shared, proposal = after
        self._job_rates[seen.job] = self.shared.job
        return proposal.periods * self._period.seconds

    def on_sibling_change(self, number: int, at: float) -> float | None:
        model = self._models[number]
        if model.at_s is None:
            return None
        model = self._models[number] = with_sibling_change(model, at, period_s=self._period.seconds)
        shared = self._shared(number)
        periods = propose(model, shared, period=self._period, at_s=at, bounds=self._bounds).periods
        return (model.at_s or at) + periods * self._period.seconds

    def _shared(self, number: int) -> SharedModel:
        """What all endpoints have learned, with the rate of one endpoint's job."""
        job = self._job_rates.get(self._jobs[number], JobRate())
        return self.shared if job is self.shared.job else self.shared._replace(job=job)


class Clairvoyant(IgnoresSiblings):
    """Knows the true rate of every endpoint at every look, and looks by the square-root law at one price.

    The price is the one at which the whole costs as many runs as everybody has. It knows what was
    drawn for the moment of a look, which no look need show: the rate of each endpoint, and whether
    a spell has begun. It does not know the future: neither the changes to come, nor when a rate
    becomes another one.
    """

    def __init__(self, world: World, runs: int) -> None:
        self._world = world
        self._least, self._most = world.timing.guard_s
        lasting: dict[float, float] = {}
        for track in world.tracks:
            for begin, end, rate in track.between(0.0, world.until):
                lasting[rate] = lasting.get(rate, 0.0) + end - begin
        low, high = 1e-9, 1e12
        for _ in range(80):
            self._price = sqrt(low * high)
            spent = sum(span / self._interval(rate) for rate, span in lasting.items())
            low, high = (self._price, high) if spent > runs else (low, self._price)

    @property
    def price(self) -> float:
        """What a look costs, where a second of delay costs one."""
        return self._price

    def corrected(self, times: float) -> None:
        """Spend so many times fewer runs: the rate may change between two looks."""
        self._price *= times**2

    def _interval(self, rate: float) -> float:
        return min(max(sqrt(2 * self._price / rate), self._least), self._most) if rate else self._most

    def look(self, number: int, seen: Seen) -> float:
        return self._interval(self._world.tracks[number].rate(seen.at))


class BudgetedPolicy(IgnoresSiblings):
    """A shape of intervals, stretched so that as many runs are spent as the baselines would."""

    def __init__(self, shape: Callable[[int, Seen], float], allowance: float, *, timing: Timing) -> None:
        self._shape = shape
        self._allowance = allowance
        self._period_s, (self._least, self._most) = timing
        self._run_price = RunPrice()
        self._last: dict[int, float] = {}

    def look(self, number: int, seen: Seen) -> float:
        periods = (seen.at - self._last[number]) / self._period_s if number in self._last else 1.0
        self._last[number] = seen.at
        self._run_price = self._run_price.after_run(
            seen.at, periods, period_s=self._period_s, spent=1.0, allowance=self._allowance
        )
        stretched = self._shape(number, seen) * exp(self._run_price.log_price / 2)
        interval = min(max(stretched, self._least), self._most)
        self._run_price = self._run_price.after_proposal(interval / self._period_s, self._allowance)
        return interval


def backoff(allowance: float, timing: Timing = DEFAULT) -> BudgetedPolicy:
    """Twice as long after every look without a change; from the start again after one."""
    period_s = timing.period_s
    waits: dict[int, float] = {}

    def shape(number: int, seen: Seen) -> float:
        waits[number] = period_s / 8 if seen.changed else min(waits.get(number, period_s) * 2, 8 * period_s)
        return waits[number]

    return BudgetedPolicy(shape, allowance, timing=timing)


def aimd(allowance: float, timing: Timing = DEFAULT) -> BudgetedPolicy:
    """A little longer after every look without a change; half as long after one."""
    period_s = timing.period_s
    waits: dict[int, float] = {}

    def shape(number: int, seen: Seen) -> float:
        before = waits.get(number, period_s)
        waits[number] = before / 2 if seen.changed else before + period_s / 20
        waits[number] = min(max(waits[number], period_s / 10), 4 * period_s)
        return waits[number]

    return BudgetedPolicy(shape, allowance, timing=timing)


def rules(allowance: float, timing: Timing = DEFAULT) -> BudgetedPolicy:
    """What an owner would write: four times as often for half an hour after anything unusual."""
    period_s = timing.period_s
    alert: dict[int, float] = {}

    def shape(number: int, seen: Seen) -> float:
        if seen.changed or seen.failing or seen.latency_ms > 90:
            alert[number] = seen.at + 6 * period_s
        return period_s / 4 if seen.at < alert.get(number, 0.0) else period_s

    return BudgetedPolicy(shape, allowance, timing=timing)
