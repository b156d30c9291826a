"""What a prompt is for: things that change, what is told of them, and which changes were relevant."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from math import ceil, exp, sqrt
from random import Random
from statistics import mean, pstdev
from typing import Any, NamedTuple

from benchmarks.histories import History, SiteHistory
from benchmarks.policies import Seen
from benchmarks.worlds import (
    DAY,
    HOUR,
    LATENCY_MS,
    LATENCY_RAISED,
    LATENCY_SPREAD,
    Timing,
    Track,
    World,
)

from cadenza.adapters.planners.rules.expressions import CelExpressions
from cadenza.domain.agents.probe import novelty
from cadenza.domain.json_values import FoundValue
from cadenza.domain.scheduling.target import HttpTarget, Probe

BASELINE_S = 300.0
LASTING_S = BASELINE_S
"""A change is relevant if what it led to lasted at least so long."""
LONGEST_S = HOUR
"""Changes count from one baseline interval after the start, when everything was looked at, until so long
before the end, since whoever looks most rarely looks within it."""
PROBE = Probe(HttpTarget("https://example.com/state"), changed=("$.state",))
EXPRESSIONS = CelExpressions()


class StateSpan(NamedTuple):
    """A state, and the stretch of time in which it lasted."""

    since: float
    until: float
    state: str


class Report(NamedTuple):
    """What was told, and when."""

    at: float
    state: str


class WatchedThing(NamedTuple):
    """The course of one thing that a prompt is about."""

    spans: tuple[StateSpan, ...]
    latency_ms: Callable[[float, Random], float]
    """What a look at a moment takes."""
    starts: tuple[float, ...]

    def state(self, at: float) -> str:
        """The state at a moment."""
        return self.spans[max(bisect_right(self.starts, at) - 1, 0)].state

    def relevant(self) -> Iterator[StateSpan]:
        """What lasted, other than what had lasted before; shorter spans between two of them do not count."""
        lasting = [span for span in self.spans if span.until - span.since >= LASTING_S]
        merged = [next(spans) for _, spans in groupby(lasting, key=lambda span: span.state)]
        ends = [*(span.since for span in merged[1:]), self.spans[-1].until]
        yield from (span._replace(until=end) for span, end in zip(merged, ends, strict=True))

    def brief(self) -> Iterator[StateSpan]:
        """What was undone, or became something else, too soon to be relevant."""
        yield from (span for span in self.spans if span.until - span.since < LASTING_S)


class WatchList(NamedTuple):
    """Things to watch for some time."""

    things: tuple[WatchedThing, ...]
    until: float


def watched_thing(
    changes: Sequence[tuple[float, str]], until: float, latency_ms: Callable[[float, Random], float]
) -> WatchedThing:
    """From moments and the states that begin there; the first one holds from the start."""
    changed = [next(same) for _, same in groupby(changes, key=lambda change: change[1])]
    moments = [0.0, *(at for at, _ in changed[1:]), until]
    spans = tuple(
        StateSpan(since, end, state)
        for (since, end), (_, state) in zip(pairwise(moments), changed, strict=True)
    )
    return WatchedThing(spans, latency_ms, tuple(span.since for span in spans))


def watch_list_of_world(world: World) -> WatchList:
    """A world's endpoints: each change is another version, or where they break, up becomes down and back."""
    return WatchList(tuple(_of_track(track, world.until) for track in world.tracks), world.until)


def _of_track(track: Track, until: float) -> WatchedThing:
    def latency_ms(at: float, chance: Random) -> float:
        raised = LATENCY_RAISED if track.is_stressed(at) else 0.0
        return LATENCY_MS * exp(chance.gauss(0, LATENCY_SPREAD) + raised)

    moments = enumerate((0.0, *track.changes))
    return watched_thing(
        [(at, f"version {number % 2 if track.breaks else number}") for number, at in moments],
        until,
        latency_ms,
    )


def watch_list_of_history(history: History) -> WatchList:
    """A history's sites, by their status."""
    return WatchList(tuple(_of_site(site, history.until) for site in history.sites), history.until)


def _of_site(site: SiteHistory, until: float) -> WatchedThing:
    def latency_ms(at: float, _: Random) -> float:
        return site.latencies_ms[site.place(at)]

    return watched_thing(list(zip(site.times, site.statuses, strict=True)), until, latency_ms)


class PromptLooks:
    """Looks at watched things, as a probe does or a model that is woken for it.

    Whether a look has something new to tell is the product's own rule.
    """

    def __init__(self, watched: WatchList, timing: Timing, *, seed: int) -> None:
        self.until, self.timing, self.chance = watched.until, timing, Random(seed)
        self._things = watched.things
        self._before: list[FoundValue | None] = [None] * len(watched.things)
        self.looks: list[list[float]] = [[] for _ in watched.things]
        self.reports: list[list[Report]] = [[] for _ in watched.things]

    @property
    def endpoints(self) -> int:
        """How many things are watched."""
        return len(self._things)

    def passed(self, number: int, begin: float, *, end: float) -> None:
        """Nothing happens between two looks."""

    def look(self, number: int, at: float) -> Seen:
        """The answer, and whether the product finds something new in it."""
        thing = self._things[number]
        state = thing.state(at)
        answer: dict[str, Any] = {"status": 200, "body": {"state": state}}
        is_new = novelty(PROBE, answer, self._before[number], holds=EXPRESSIONS.evaluate).is_new
        self._before[number] = FoundValue(answer)
        self.looks[number].append(at)
        if is_new:
            self.reports[number].append(Report(at, state))
        return Seen(at, is_new, failing=False, latency_ms=thing.latency_ms(at, self.chance))

    def siblings(self, _number: int) -> Sequence[int]:
        """None: the schedules of users have nothing to do with each other."""
        return ()


class Figures(NamedTuple):
    """How the changes of a watched were told."""

    turns: float
    """Turns of a model, a day and thing."""
    probes: float
    """Looks without a model, a day and thing."""
    reported: float | None
    """The share of relevant changes that were told while they lasted; None if there were none."""
    mean_s: float
    error_s: float
    p95_s: float
    """Delays of all relevant changes, their mean and its standard error; of a change that was not told,
    until the look after it."""
    relevant: int
    brief: int
    brief_reported: float | None
    """The changes that were undone too soon to be relevant, and the share that was told all the same."""


class ReportTotals:
    """Adds up what was told, over several lists."""

    def __init__(self) -> None:
        self._delays: list[float] = []
        self._told = self._brief = self._brief_told = self._looks = self._reports = 0
        self._days = 0.0

    def add(self, watched: WatchList, played: PromptLooks) -> None:
        """A list that was played to its end."""
        self._days += len(watched.things) * watched.until / DAY
        last = watched.until - LONGEST_S
        for thing, looks, reports in zip(watched.things, played.looks, played.reports, strict=True):
            self._looks, self._reports = self._looks + len(looks), self._reports + len(reports)
            for before, span in pairwise(thing.relevant()):
                if BASELINE_S <= span.since < last:
                    self._add_relevant(span, looks, reports, known_from=before.since)
            for span in thing.brief():
                if BASELINE_S <= span.since < last:
                    self._brief += 1
                    self._brief_told += any(span.since <= report.at < span.until for report in reports)

    def _add_relevant(
        self, span: StateSpan, looks: Sequence[float], reports: Sequence[Report], *, known_from: float
    ) -> None:
        told = told_at(span, reports, known_from=known_from)
        self._told += told is not None
        seen = looks[bisect_left(looks, span.since)] if told is None else told
        self._delays.append(seen - span.since)

    def figures(self, *, probed: bool) -> Figures:
        """With a probe a turn is what was told; without one it is every look."""
        delays, relevant = sorted(self._delays) or [0.0], len(self._delays)
        return Figures(
            turns=(self._reports if probed else self._looks) / self._days,
            probes=self._looks / self._days if probed else 0.0,
            reported=self._told / relevant if relevant else None,
            mean_s=mean(delays),
            error_s=pstdev(delays) / sqrt(len(delays)),
            p95_s=delays[ceil(0.95 * len(delays)) - 1],
            relevant=relevant,
            brief=self._brief,
            brief_reported=self._brief_told / self._brief if self._brief else None,
        )


def told_at(span: StateSpan, reports: Sequence[Report], *, known_from: float) -> float | None:
    """When a state was told; None if it was not before something else lasted.

    1. The first report of it while it lasts.
    2. From its start on, if the latest report told it already, after the state before it had begun.
    """
    begin = bisect_left(reports, span.since, key=lambda report: report.at)
    end = bisect_left(reports, span.until, key=lambda report: report.at)
    for report in reports[begin:end]:
        if report.state == span.state:
            return report.at
    latest = reports[begin - 1] if begin else None
    known = latest is not None and latest.state == span.state and latest.at > known_from
    return span.since if known else None
