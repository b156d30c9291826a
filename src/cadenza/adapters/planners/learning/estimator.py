"""How the learning planner thinks: it takes in the looks that are new, and decides on the next."""

from collections.abc import Sequence
from typing import NamedTuple

from cadenza.adapters.planners.change_detection import looked, shown
from cadenza.adapters.planners.learning.cache import Hand, LearnedMemory, Memory, Scope
from cadenza.adapters.planners.learning.observations import bounds_of, look_of, moment_s
from cadenza.domain.planning.learning.learner import Beat, echoed, hinted, learned
from cadenza.domain.planning.learning.proposal import Proposal, decided, proposed
from cadenza.domain.planning.learning.state import Pool
from cadenza.domain.planning.planner_settings import Learning
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run
from cadenza.ports.planning import Briefing


class Thought(NamedTuple):
    """What it came to about one endpoint."""

    beat: Beat
    memory: Memory
    pool: Pool
    proposal: Proposal
    looked: bool
    """Whether there was a new look; otherwise a sibling changed."""

    @property
    def interval_ms(self) -> int:
        """The interval to propose."""
        return max(round(self.proposal.beats * self.beat.seconds * 1_000), 1)


def scope_of(endpoint: Endpoint) -> Scope:
    """Who shares its purse: the job, if it has a budget; else all of the tenant's without one.

    What is only thought must not pay for what is done, so the shadow has purses of its own.
    """
    planning = endpoint.planning
    mode = "on" if planning.learning is Learning.ON else "shadow"
    whose = "" if planning.runs_per_hour is None else f":{endpoint.job_id}"
    return Scope(endpoint.tenant_id, f"{mode}{whose}")


class Mind:
    """Thinks without waiting for anything, since all sittings of a tenant share what is known."""

    def __init__(self, memory: LearnedMemory) -> None:
        self._memory = memory

    def think(self, briefing: Briefing, beat: Beat, *, origin: str | None) -> Thought | None:
        """Learn from what is new, and decide; None while there is nothing to go by.

        1. Somebody else's hint is a sign, as good as its author has been.
        2. Every look since the last one is learned from, oldest first.
        3. The next look is decided on; after a sibling's change only once more.
        4. Siblings hear of a change.
        """
        endpoint, scope = briefing.endpoint, scope_of(briefing.endpoint)
        before = self._before(briefing, beat, origin)
        fresh = _fresh(briefing, before)
        memory, pool, changed = _learned(
            before, fresh, endpoint=endpoint, pool=self._memory.pool(scope), beat=beat
        )
        if memory.known.at_s is None:
            return None
        at_s, bounds = briefing.now.timestamp(), bounds_of(endpoint, beat)
        if fresh:
            known, pool, proposal = decided(memory.known, pool, beat=beat, at_s=at_s, bounds=bounds)
            memory = memory._replace(known=known)
            self._memory.keep_pool(scope, pool)
        else:
            proposal = proposed(memory.known, pool, beat=beat, at_s=at_s, bounds=bounds)
        self._memory.keep(endpoint.key, memory)
        if changed:
            self._echo(briefing)
        return Thought(beat, memory, pool, proposal, bool(fresh))

    def _before(self, briefing: Briefing, beat: Beat, origin: str | None) -> Memory:
        """What is remembered; where the beat is another, everything is learned anew."""
        memory, hint = self._memory.of(briefing.endpoint.key), briefing.endpoint.interval_hint
        if memory.beat_s != beat.seconds:
            memory = Memory(beat_s=beat.seconds)
        if origin is None or hint is None:
            return memory
        theirs = Hand.of(hint)
        known = hinted(memory.known, origin, until_s=theirs.expires_s)
        return memory._replace(known=known, theirs=theirs)

    def _echo(self, briefing: Briefing) -> None:
        for sibling in briefing.siblings.values():
            memory = self._memory.of(sibling.key)
            if memory.known.at_s is not None:
                known = echoed(memory.known, briefing.now.timestamp(), beat_s=memory.beat_s)
                self._memory.keep(sibling.key, memory._replace(known=known))


def _fresh(briefing: Briefing, memory: Memory) -> list[Run]:
    """The looks that nothing was learned from yet, oldest first."""
    last_s = memory.known.at_s
    seen = [run for run in reversed(briefing.recent) if looked(run)]
    return [run for run in seen if last_s is None or moment_s(run.started_at) > last_s]


def _learned(
    memory: Memory, runs: Sequence[Run], *, endpoint: Endpoint, pool: Pool, beat: Beat
) -> tuple[Memory, Pool, bool]:
    changed = False
    for run in runs:
        shows = shown(endpoint, run)
        changed = memory.shown is not None and shows != memory.shown
        look = look_of(endpoint, run, changed=changed, beat=beat)
        known, pool = learned(memory.known, look, pool=pool, beat=beat)
        memory = memory._replace(known=known, shown=shows)
    return memory, pool, changed
