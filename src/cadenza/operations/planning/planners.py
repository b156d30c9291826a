"""Operations over all endpoints: recent analyses, their cost, and the gains of learning."""

from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Annotated, Self

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.probe import NOTES_OWNER, memory_in, probe_of
from cadenza.domain.agents.schedule_protection import SCHEDULES_JOB
from cadenza.domain.agents.wake_value import Wakes
from cadenza.domain.planning.learning.serialization import PLANNER, LearnedSummary, summary_from_note
from cadenza.domain.planning.planner_settings import Learning
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Listed, Paged, Whole, no_cursor, split_page
from cadenza.operations.operation import Command, View, operation
from cadenza.operations.planning.analyses import AnalysesPage, AnalysisView, PlannerDayView, TokensView
from cadenza.operations.scheduling.endpoints import find_page
from cadenza.ports.catalog import EndpointFilter
from cadenza.ports.monitoring import ActivityGrouping, AnalysisCursor, PlannerActivity

MOST_ANALYSES, MOST_ENDPOINTS, MOST_DAYS = 5_000, 50, 1_000
BEFORE_FIRST = AnalysisCursor(datetime.max.replace(tzinfo=UTC), "")
BETWEEN = " "


class ListSittings(Paged):
    """A part of all analyses."""


class GetSpending(Command):
    """How far to look back."""

    days: Annotated[int, Whole(1, 90)] = 7
    """Days in UTC, today among them."""


class SpenderView(View):
    """What one planner spent on one endpoint."""

    endpoint_id: str
    planner: str
    sittings: int
    failed: int
    tokens: TokensView


class SpendingView(View):
    """What planners spent, by day and by endpoint."""

    since: datetime
    days: list[PlannerDayView]
    """Newest first; days without an analysis are left out."""
    endpoints: list[SpenderView]
    """Those that cost most tokens, then most analyses, first."""
    tokens: TokensView
    complete: bool
    """False when there were too many analyses to count: only the newest are counted."""


class ListLearning(Paged):
    """A part of the endpoints."""


class LearnedView(View):
    """What the learning planner has gained for an endpoint or, in shadow mode, would have."""

    endpoint_id: str
    name: str
    learning: Learning
    interval_ms: int
    """The interval that it last proposed."""
    changes: float
    """Changes that were seen."""
    delay_ms: int
    """How late they are seen on average with learning."""
    plain_delay_ms: int
    """How late they are seen without it."""
    looks: float
    """The share of runs that it takes, where the schedule without it takes 1."""
    plain_looks: float
    """So many runs the schedule without it takes, of which this is the share."""

    @classmethod
    def of(cls, endpoint: Endpoint, summary: LearnedSummary) -> Self:
        """The view of what was learned about an endpoint."""
        gains = summary.gains
        return cls(
            endpoint_id=endpoint.id,
            name=endpoint.name,
            learning=endpoint.planning.learning,
            interval_ms=summary.interval_ms,
            changes=round(gains.changes, 1),
            delay_ms=round(gains.mean_delay_s * 1_000),
            plain_delay_ms=round(gains.baseline_mean_delay_s * 1_000),
            looks=round(gains.share_of_runs, 3),
            plain_looks=round(gains.baseline_runs, 1),
        )


class LearningPage(Listed[LearnedView]):
    """A page of endpoints of which something was learned; it may be short, or empty, and not the last."""


class WakeKindView(View):
    """Wakes of one kind: for a condition, or by the paths that had changed."""

    kind: str
    chance: float
    """The chance that the next one pays, which is an answer that is delivered."""
    tokens: int
    """What a turn spends on average."""


class WakesView(View):
    """What waking the agent of a schedule cost and brought."""

    schedule_id: str
    name: str
    user_id: str
    kinds: list[WakeKindView]
    woken: int
    paid: int
    """Wakes whose answer was delivered."""
    tokens: int
    passed_over: int
    """Wakes that were not worth their tokens; in shadow mode the agent was woken all the same."""
    saved_tokens: int
    lost: float
    """Answers that were not given for that, as far as can be expected."""

    @classmethod
    def of(cls, schedule: Endpoint, wakes: Wakes) -> Self | None:
        """The view of a schedule's wakes; None if there was none."""
        totals, target = wakes.totals, schedule.target
        if not isinstance(target, PromptTarget) or not (totals.woken or totals.passed_over):
            return None
        kinds = [
            WakeKindView(kind=kind, chance=round(one.chance, 3), tokens=round(one.mean_tokens))
            for kind, one in sorted(wakes.kinds.items())
        ]
        return cls(
            schedule_id=schedule.id,
            name=schedule.name,
            user_id=target.user_id,
            kinds=kinds,
            woken=totals.woken,
            paid=totals.paid,
            tokens=totals.tokens,
            passed_over=totals.passed_over,
            saved_tokens=round(totals.saved_tokens),
            lost=round(totals.lost, 1),
        )


class WakesPage(Listed[WakesView]):
    """A page of schedules whose agents were woken by a probe; it may be short, or empty, and not the last."""


@operation("GET /v1/analyses", Scope.READ, agent=False)
async def list_sittings(context: RequestContext, command: ListSittings) -> AnalysesPage:
    """List planner evaluations of all endpoints with their calls, newest first."""
    found = await context.store.statistics.recent_analyses(
        context.tenant_id, before=_position(command.cursor), limit=command.limit + 1
    )
    analyses, more = split_page(found, command.limit)
    cursor = f"{analyses[-1].began_at.isoformat()}{BETWEEN}{analyses[-1].id}" if more else None
    return AnalysesPage(items=[AnalysisView.of(one) for one in analyses], next_cursor=cursor)


@operation("GET /v1/analyses/spending", Scope.READ, agent=False)
async def get_spending(context: RequestContext, command: GetSpending) -> SpendingView:
    """Show planner evaluations and tokens, by date (UTC) and by endpoint."""
    today = context.dependencies.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    since = today - timedelta(days=command.days - 1)
    activity = partial(
        context.store.statistics.planner_activity, context.tenant_id, since=since, limit=MOST_ANALYSES
    )
    days = await activity(grouping=ActivityGrouping.DAY, most=MOST_DAYS)
    endpoints = await activity(grouping=ActivityGrouping.ENDPOINT, most=MOST_ENDPOINTS)
    spent = [one.tokens for one in days]
    return SpendingView(
        since=since,
        days=sorted(map(_day, days), key=lambda view: (-view.day.toordinal(), view.planner)),
        endpoints=[_endpoint_spending(one) for one in endpoints],
        tokens=TokensView(input=sum(one.input for one in spent), output=sum(one.output for one in spent)),
        complete=sum(one.analyses for one in days) < MOST_ANALYSES,
    )


@operation("GET /v1/learning", Scope.READ, agent=False)
async def list_learning(context: RequestContext, command: ListLearning) -> LearningPage:
    """Show learning planner savings by endpoint, also of its dry runs (shadow mode)."""
    endpoints, cursor = await find_page(context, command)
    notes = await context.store.analyses.notes(PLANNER, [one.key for one in endpoints])
    lessons = [(one, summary_from_note(notes.get(one.key))) for one in endpoints]
    return LearningPage(
        items=[LearnedView.of(one, summary) for one, summary in lessons if summary is not None],
        next_cursor=cursor,
    )


@operation("GET /v1/learning/wakes", Scope.READ, agent=False)
async def list_wakes(context: RequestContext, command: ListLearning) -> WakesPage:
    """Show what waking agents cost and brought, by schedule with a probe, and what a price of tokens saves.

    Also of its dry runs (shadow mode).
    """
    endpoints, cursor = await find_page(context, command, EndpointFilter(job_id=SCHEDULES_JOB))
    probes = [(one, probe) for one in endpoints if (probe := probe_of(one)) is not None]
    notes = await context.store.analyses.notes(NOTES_OWNER, [one.key for one, _ in probes])
    views = [WakesView.of(one, memory_in(notes.get(one.key), probe).wakes) for one, probe in probes]
    return WakesPage(items=[view for view in views if view is not None], next_cursor=cursor)


def _position(cursor: str | None) -> AnalysisCursor:
    if cursor is None:
        return BEFORE_FIRST
    began_at, _, id_ = cursor.partition(BETWEEN)
    try:
        return AnalysisCursor(datetime.fromisoformat(began_at).astimezone(UTC), id_)
    except (ValueError, OverflowError):
        raise no_cursor() from None


def _day(activity: PlannerActivity) -> PlannerDayView:
    return PlannerDayView(
        day=date.fromisoformat(activity.of),
        planner=activity.planner,
        sittings=activity.analyses,
        tokens=TokensView.of(activity.tokens),
    )


def _endpoint_spending(activity: PlannerActivity) -> SpenderView:
    return SpenderView(
        endpoint_id=activity.of,
        planner=activity.planner,
        sittings=activity.analyses,
        failed=activity.failed,
        tokens=TokensView.of(activity.tokens),
    )


PLANNERS = (list_sittings, get_spending, list_learning, list_wakes)
