"""Decides whether a planner analyzes an endpoint, counts its tokens, and decides what is recorded."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from cadenza.domain.planning.analysis import Analysis, Trigger
from cadenza.domain.planning.run_changes import Fingerprint, concerns_siblings, whole_response
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.engine.async_helpers import RECOVERY_MS, Attempts
from cadenza.engine.planning.analysis import FinishedAnalysis, PlannerEntry, analyze, error_text
from cadenza.engine.planning.briefing import Briefer, BriefingBudget
from cadenza.engine.planning.queue import AnalysisRequest
from cadenza.engine.steering import Steering
from cadenza.ports.access import Quota, QuotaKind, QuotaRequest
from cadenza.ports.clock import Clock
from cadenza.ports.ids import Ids
from cadenza.ports.planning import EMPTY_RESULT, Briefing, NextAnalysis, PlannerResult
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger, Telemetry, endpoint_facts

ANALYSIS_EVENT = "planner.sitting.stop"
SHADOW_RECORD_INTERVAL = timedelta(minutes=10)
REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerDependencies:
    """What the analyst and its planners need."""

    store: Store
    clock: Clock
    ids: Ids
    quota: Quota
    steering: Steering
    log: Logger
    telemetry: Telemetry
    budget: BriefingBudget = BriefingBudget()
    fingerprint: Fingerprint = whole_response


class PlannerReport(NamedTuple):
    """One planner's analysis, its record if there is one, and when it wants the next."""

    planner: str
    finished: FinishedAnalysis
    record: Analysis | None = None
    next_analysis: NextAnalysis | None = None


NOT_ANALYZED = FinishedAnalysis(EMPTY_RESULT, (), frozenset())


class PlannerRunner:
    """Asks a planner whether it wants to analyze, checks the quota, and then runs it."""

    def __init__(self, dependencies: PlannerDependencies, briefer: Briefer) -> None:
        self._dependencies = dependencies
        self._briefer = briefer
        self._attempts = Attempts("planner/tokens", dependencies.clock, dependencies.log)
        self._last_shadow_records: OrderedDict[tuple[EndpointKey, str], datetime] = OrderedDict()

    async def analyze_with_all(
        self, request: AnalysisRequest, briefing: Briefing, *, entries: Sequence[PlannerEntry]
    ) -> list[PlannerReport]:
        """The reports of all planners that the request is for, one after the other."""
        reports = []
        for entry in entries:
            if request.is_for(entry.name):
                briefing_for_planner = replace(
                    briefing, trigger=request.trigger_for(entry.name, briefing.trigger)
                )
                reports.append(
                    await self.analyze_with(
                        entry, briefing_for_planner, due=entry.name in request.due_planners
                    )
                )
        return reports

    def sibling_requests(
        self, request: AnalysisRequest, briefing: Briefing, *, reports: Sequence[PlannerReport]
    ) -> list[AnalysisRequest]:
        """Requests for its siblings, if it changed or was steered.

        Steering in an analysis that a sibling caused leads to no further requests.
        """
        ran = request.trigger in (Trigger.RUN, Trigger.FAILURE)
        changed = ran and concerns_siblings(
            briefing.endpoint, briefing.recent, self._dependencies.fingerprint
        )
        steered = any(report.finished.steered for report in reports)
        if not changed and not (steered and request.trigger is not Trigger.SIBLING):
            return []
        return [AnalysisRequest(one.key, Trigger.SIBLING, request.page) for one in briefing.siblings.values()]

    async def analyze_with(self, entry: PlannerEntry, briefing: Briefing, *, due: bool) -> PlannerReport:
        """One planner's report. An analysis without content, or without new content, leaves no record.

        With `due`, the planner had asked for this analysis: that request is fulfilled.
        """
        began = asyncio.get_running_loop().time()
        finished = await self._analyze(entry, briefing)
        took_ms = round((asyncio.get_running_loop().time() - began) * 1_000)
        if finished is not NOT_ANALYZED:
            self._emit(entry, briefing, finished, took_ms)
        if finished.is_worth_recording and not self._recorded_recently(entry, briefing, finished):
            analysis_id = self._dependencies.ids.new()
            record = finished.to_record(briefing, entry.name, analysis_id=analysis_id, took_ms=took_ms)
            return PlannerReport(entry.name, finished, record)
        at = finished.look_again_at(briefing.now)
        next_analysis = NextAnalysis(briefing.endpoint.key, entry.name, at) if due or at is not None else None
        return PlannerReport(entry.name, finished, next_analysis=next_analysis)

    async def _analyze(self, entry: PlannerEntry, briefing: Briefing) -> FinishedAnalysis:
        try:
            if not entry.planner.wants(briefing):
                return NOT_ANALYZED
        except Exception as problem:  # noqa: BLE001 - a planner's bug costs only its own analysis
            return FinishedAnalysis(PlannerResult(error=error_text(problem)), (), frozenset())
        if entry.uses_tokens and not await self._has_quota(briefing.endpoint.tenant_id):
            return NOT_ANALYZED
        briefing_for_planner = await self._briefer.with_health(briefing) if entry.health else briefing
        finished = await analyze(
            entry, briefing_for_planner, steering=self._dependencies.steering, log=self._dependencies.log
        )
        await self._count_tokens(briefing.endpoint.tenant_id, finished.result.tokens.total)
        return finished

    async def _has_quota(self, tenant_id: str) -> bool:
        """Whether the quota has tokens left; what an analysis uses is counted after it."""
        (answer,) = await self._dependencies.quota.check([QuotaRequest(QuotaKind.AI, tenant_id)])
        return answer.allowed

    async def _count_tokens(self, tenant_id: str, tokens: int) -> None:
        if not tokens:
            return
        store, now = self._dependencies.store, self._dependencies.clock.now()
        while not await self._attempts.try_once(store.tenants.spend_tokens(tenant_id, tokens, now)):
            await self._dependencies.clock.sleep(RECOVERY_MS)

    def _recorded_recently(self, entry: PlannerEntry, briefing: Briefing, finished: FinishedAnalysis) -> bool:
        """Whether it only adds to recent shadow analyses: at most one per interval is recorded."""
        result = finished.result
        if not result.shadow or finished.calls or result.error or result.tokens.total:
            return False
        key, now = (briefing.endpoint.key, entry.name), briefing.now
        last = self._last_shadow_records.get(key)
        if last is not None and now - last < SHADOW_RECORD_INTERVAL:
            return True
        self._last_shadow_records[key] = now
        self._last_shadow_records.move_to_end(key)
        if len(self._last_shadow_records) > REMEMBERED:
            self._last_shadow_records.popitem(last=False)
        return False

    def _emit(
        self, entry: PlannerEntry, briefing: Briefing, finished: FinishedAnalysis, took_ms: int
    ) -> None:
        result = finished.result
        measured = {"duration_ms": took_ms, "tokens": result.tokens.total, "calls": len(finished.calls)}
        status = "error" if result.error is not None else "done" if finished.is_worth_recording else "silent"
        about = {"planner": entry.name, "trigger": briefing.trigger, "result": status}
        self._dependencies.telemetry.emit(ANALYSIS_EVENT, measured, about)
        if self._dependencies.log.verbose:
            latest = briefing.recent[0].id if briefing.recent else None
            facts = endpoint_facts(briefing.endpoint, latest)
            self._dependencies.log.debug("sitting", **facts, **about, **measured)
