"""Whether a planner sits down at all, what that costs, and what is kept of it."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from cadenza.domain.planning.analysis import Analysis, Trigger
from cadenza.domain.planning.run_changes import Fingerprint, concerns_siblings, whole_response
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.engine.async_helpers import RECOVERY_MS, try_once
from cadenza.engine.planning.analysis import Sat, Seat, analyze, said
from cadenza.engine.planning.briefing import Briefer, BriefingBudget
from cadenza.engine.planning.queue import Look
from cadenza.engine.steering import Steering
from cadenza.ports.access import Quota, QuotaRequest, Spending
from cadenza.ports.clock import Clock
from cadenza.ports.ids import Ids
from cadenza.ports.planning import EMPTY_RESULT, Briefing, NextAnalysis, PlannerResult
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger, Telemetry

SITTING = "planner.sitting.stop"
SHADOWS_APART = timedelta(minutes=10)
REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What planners work with."""

    store: Store
    clock: Clock
    ids: Ids
    quota: Quota
    steering: Steering
    log: Logger
    telemetry: Telemetry
    budget: BriefingBudget = BriefingBudget()
    fingerprint: Fingerprint = whole_response


class Thought(NamedTuple):
    """What a planner made of an endpoint, and what is kept of it."""

    planner: str
    sat: Sat
    analysis: Analysis | None = None
    look: NextAnalysis | None = None


NO_THOUGHT = Sat(EMPTY_RESULT, (), frozenset())


class Thinking:
    """Asks a planner whether it wants to, then the quota, and then lets it sit."""

    def __init__(self, means: Means, briefer: Briefer) -> None:
        self._means = means
        self._briefer = briefer
        self._shadows: OrderedDict[tuple[EndpointKey, str], datetime] = OrderedDict()

    async def consider(self, look: Look, briefing: Briefing, *, seats: Sequence[Seat]) -> list[Thought]:
        """What each planner that is to look makes of it, one after the other."""
        thoughts = []
        for seat in seats:
            if look.is_for(seat.name):
                told = replace(briefing, trigger=look.why(seat.name, briefing.trigger))
                thoughts.append(await self.think(seat, told, due=seat.name in look.due))
        return thoughts

    def for_siblings(self, look: Look, briefing: Briefing, *, thoughts: Sequence[Thought]) -> list[Look]:
        """Looks at its siblings: what one does concerns them; what they do for its sake concerns nobody."""
        ran = look.trigger in (Trigger.RUN, Trigger.FAILURE)
        news = ran and concerns_siblings(briefing.endpoint, briefing.recent, self._means.fingerprint)
        steered = any(thought.sat.steered for thought in thoughts)
        if not news and not (steered and look.trigger is not Trigger.SIBLING):
            return []
        return [Look(one.key, Trigger.SIBLING, look.page) for one in briefing.siblings.values()]

    async def think(self, seat: Seat, briefing: Briefing, *, due: bool) -> Thought:
        """What it makes of an endpoint. A sitting that had nothing to say, or nothing new, leaves no record.

        With `due`, the planner had wanted to look by now: that wish is over.
        """
        began = asyncio.get_running_loop().time()
        sat = await self._sat(seat, briefing)
        took_ms = round((asyncio.get_running_loop().time() - began) * 1_000)
        if sat is not NO_THOUGHT:
            self._tell(seat, briefing, sat, took_ms)
        if sat.is_news and not self._said_lately(seat, briefing, sat):
            analysis_id = self._means.ids.new()
            record = sat.recorded(briefing, seat.name, analysis_id=analysis_id, took_ms=took_ms)
            return Thought(seat.name, sat, record)
        at = sat.look_again_at(briefing.now)
        look = NextAnalysis(briefing.endpoint.key, seat.name, at) if due or at is not None else None
        return Thought(seat.name, sat, look=look)

    async def _sat(self, seat: Seat, briefing: Briefing) -> Sat:
        try:
            if not seat.planner.wants(briefing):
                return NO_THOUGHT
        except Exception as problem:  # noqa: BLE001 - a planner's bug costs its own sitting alone
            return Sat(PlannerResult(error=said(problem)), (), frozenset())
        if seat.spends and not await self._allowed(briefing.endpoint.tenant_id):
            return NO_THOUGHT
        told = await self._briefer.with_health(briefing) if seat.health else briefing
        sat = await analyze(seat, told, steering=self._means.steering, log=self._means.log)
        await self._count(briefing.endpoint.tenant_id, sat.sitting.tokens.total)
        return sat

    async def _allowed(self, tenant_id: str) -> bool:
        """Is anything left to spend? What a sitting takes is bounded by its planner, and counted after it."""
        (answer,) = await self._means.quota.check([QuotaRequest(Spending.AI, tenant_id)])
        return answer.allowed

    async def _count(self, tenant_id: str, tokens: int) -> None:
        if not tokens:
            return
        store, now = self._means.store, self._means.clock.now()
        while not await try_once(store.tenants.spend_tokens(tenant_id, tokens, now), self._means.log):
            await self._means.clock.sleep(RECOVERY_MS)

    def _said_lately(self, seat: Seat, briefing: Briefing, sat: Sat) -> bool:
        """Is it one of many thoughts that nothing came of? Few of those are kept: history is to be read."""
        sitting = sat.sitting
        if not sitting.shadow or sat.calls or sitting.error or sitting.tokens.total:
            return False
        place, now = (briefing.endpoint.key, seat.name), briefing.now
        last = self._shadows.get(place)
        if last is not None and now - last < SHADOWS_APART:
            return True
        self._shadows[place] = now
        self._shadows.move_to_end(place)
        if len(self._shadows) > REMEMBERED:
            self._shadows.popitem(last=False)
        return False

    def _tell(self, seat: Seat, briefing: Briefing, sat: Sat, took_ms: int) -> None:
        sitting = sat.sitting
        measured = {"duration_ms": took_ms, "tokens": sitting.tokens.total, "calls": len(sat.calls)}
        result = "error" if sitting.error is not None else "done" if sat.is_news else "silent"
        about = {"planner": seat.name, "trigger": briefing.trigger, "result": result}
        self._means.telemetry.emit(SITTING, measured, about)
        if self._means.log.verbose:
            self._means.log.debug("sitting", endpoint_id=briefing.endpoint.id, **about, **measured)
