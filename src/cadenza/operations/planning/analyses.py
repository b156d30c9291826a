"""Analyses: what planners thought, what they did, and what that cost."""

from datetime import date, datetime, timedelta
from typing import Annotated, Self

from pydantic import JsonValue

from cadenza.domain.access.key import Scope
from cadenza.domain.planning.analysis import Analysis, Tokens, Trigger
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Listed, Paged, Whole, split_page
from cadenza.operations.operation import View, operation
from cadenza.operations.scheduling.endpoint_parts.commands import OneEndpoint
from cadenza.operations.scheduling.endpoints import require_live


class ListAnalyses(OneEndpoint, Paged):
    """A part of an endpoint's analyses."""


class TokensView(View):
    """What a model read and wrote."""

    input: int
    output: int

    @classmethod
    def of(cls, tokens: Tokens) -> Self:
        """The view of tokens."""
        return cls(input=tokens.input, output=tokens.output)


class ToolCallView(View):
    """A tool that a planner used, and what came of it."""

    tool: str
    endpoint_id: str
    """The endpoint that was to be steered: this one, or a sibling."""
    arguments: dict[str, JsonValue]
    result: str | None
    error: str | None
    """Why it was refused."""


class AnalysisView(View):
    """One analysis of a planner."""

    id: str
    job_id: str
    endpoint_id: str
    planner: str
    trigger: Trigger
    """Why it looked: a run, a new failure, a sibling's change, or because it wanted to."""
    began_at: datetime
    duration_ms: int
    reasoning: str
    calls: list[ToolCallView]
    tokens: TokensView
    look_again_at: datetime | None
    shadow: bool
    """It was only thought, not done."""
    error: str | None

    @classmethod
    def of(cls, analysis: Analysis) -> Self:
        """The view of an analysis."""
        return cls(
            id=analysis.id,
            job_id=analysis.job_id,
            endpoint_id=analysis.endpoint_id,
            planner=analysis.planner,
            trigger=analysis.trigger,
            began_at=analysis.began_at,
            duration_ms=analysis.duration_ms,
            reasoning=analysis.reasoning,
            calls=[ToolCallView(**call._asdict()) for call in analysis.calls],
            tokens=TokensView.of(analysis.tokens),
            look_again_at=analysis.look_again_at,
            shadow=analysis.shadow,
            error=analysis.error,
        )


class AnalysesPage(Listed[AnalysisView]):
    """A page of analyses, newest first."""


class GetPlannerCost(OneEndpoint):
    """How far to look back."""

    days: Annotated[int, Whole(1, 90)] = 7
    """Days in UTC, today among them."""


class PlannerDayView(View):
    """One planner's analyses on one day."""

    day: date
    planner: str
    sittings: int
    """Those that had something to say."""
    tokens: TokensView


class PlannerCostView(View):
    """What planners spent on an endpoint."""

    endpoint_id: str
    days: list[PlannerDayView]
    """Newest first; days without an analysis are left out."""
    tokens: TokensView
    """All of them together."""


@operation("GET /v1/endpoints/{endpoint_id}/analyses", Scope.READ)
async def list_analyses(context: RequestContext, command: ListAnalyses) -> AnalysesPage:
    """List planner evaluations of an endpoint with their calls and cost, newest first."""
    key = context.key(command.endpoint_id)
    require_live(await context.store.endpoints.get(key))
    found, more = split_page(await context.store.analyses.analyses(key, command.page()), command.limit)
    return AnalysesPage(
        items=[AnalysisView.of(one) for one in found], next_cursor=found[-1].id if more else None
    )


@operation("GET /v1/endpoints/{endpoint_id}/planner-cost", Scope.READ)
async def get_planner_cost(context: RequestContext, command: GetPlannerCost) -> PlannerCostView:
    """Show planner evaluations and tokens of an endpoint, by date (UTC)."""
    key, now = context.key(command.endpoint_id), context.dependencies.clock.now()
    require_live(await context.store.endpoints.get(key))
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    spent = await context.store.analyses.usage_by_day(key, today - timedelta(days=command.days - 1))
    return PlannerCostView(
        endpoint_id=command.endpoint_id,
        days=[
            PlannerDayView(
                day=one.day, planner=one.planner, sittings=one.analyses, tokens=TokensView.of(one.tokens)
            )
            for one in spent
        ],
        tokens=TokensView(
            input=sum(one.tokens.input for one in spent), output=sum(one.tokens.output for one in spent)
        ),
    )


ANALYSES = (list_analyses, get_planner_cost)
