"""Planners at work: all sittings, what they cost, and what learning has won or would have."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Self

from pydantic import Field

from cadenza.domain.access import Scope
from cadenza.domain.endpoint import Endpoint
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.learning.tally import Tally
from cadenza.domain.learning.won import PLANNER, tally_of
from cadenza.domain.planning import Learning
from cadenza.operations.analyses import AnalysesPage, AnalysisView, DayView, TokensView
from cadenza.operations.desk import Desk
from cadenza.operations.listing import Listed, Paged, cut
from cadenza.operations.operation import Command, View, operation
from cadenza.ports.figures import Mark, Sat

MOST_SITTINGS, MOST_ENDPOINTS = 10_000, 50
THE_END = Mark(datetime.max.replace(tzinfo=UTC), "")
BETWEEN = " "


class ListSittings(Paged):
    """A part of all sittings."""


class GetSpending(Command):
    """How far to look back."""

    days: Annotated[int, Field(strict=True, ge=1, le=90)] = 7
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
    days: list[DayView]
    """Newest first; days without a sitting are left out."""
    endpoints: list[SpenderView]
    """Those that cost most tokens, then most sittings, first."""
    tokens: TokensView
    complete: bool
    """False when there were too many sittings to count: the newest were."""


class ListLearning(Paged):
    """A part of the endpoints."""


class LearnedView(View):
    """What the learning planner has won for an endpoint or, in the shadow, would have."""

    endpoint_id: str
    name: str
    learning: Learning
    changes: float
    """Changes that were seen."""
    delay_ms: int
    """How late they are seen on average with learning."""
    plain_delay_ms: int
    """How late they are seen without it."""
    looks: float
    """The share of runs that it takes, where the schedule without it takes 1."""

    @classmethod
    def of(cls, endpoint: Endpoint, tally: Tally) -> Self:
        """The view of a tally."""
        return cls(
            endpoint_id=endpoint.id,
            name=endpoint.name,
            learning=endpoint.planning.learning,
            changes=round(tally.changes, 1),
            delay_ms=round(tally.mean_delay_s * 1_000),
            plain_delay_ms=round(tally.plain_mean_delay_s * 1_000),
            looks=round(tally.share_of_looks, 3),
        )


class LearningPage(Listed[LearnedView]):
    """A page of endpoints of which something was learned; it may be short, or empty, and not the last."""


@operation("GET /v1/analyses", Scope.READ, agent=False)
async def list_sittings(desk: Desk, command: ListSittings) -> AnalysesPage:
    """List what planners thought about all endpoints and what they did, newest first."""
    found = await desk.store.sittings(desk.tenant_id, before=_mark(command.cursor), limit=command.limit + 1)
    sittings, more = cut(found, command.limit)
    cursor = f"{sittings[-1].began_at.isoformat()}{BETWEEN}{sittings[-1].id}" if more else None
    return AnalysesPage(items=[AnalysisView.of(one) for one in sittings], next_cursor=cursor)


@operation("GET /v1/analyses/spending", Scope.READ, agent=False)
async def get_spending(desk: Desk, command: GetSpending) -> SpendingView:
    """Tell how many sittings and tokens planners spent, by day and by endpoint."""
    today = desk.supplies.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    since = today - timedelta(days=command.days - 1)
    sat = await desk.store.sat(desk.tenant_id, since=since, limit=MOST_SITTINGS)
    return SpendingView(
        since=since,
        days=_by_day(sat),
        endpoints=_by_endpoint(sat)[:MOST_ENDPOINTS],
        tokens=_tokens(sat),
        complete=len(sat) < MOST_SITTINGS,
    )


@operation("GET /v1/learning", Scope.READ, agent=False)
async def list_learning(desk: Desk, command: ListLearning) -> LearningPage:
    """Tell what the learning planner has won, by endpoint, and in the shadow what it would have won."""
    endpoints, more = cut(await desk.store.find(desk.tenant_id, page=command.page()), command.limit)
    notes = await desk.store.notes(PLANNER, [one.key for one in endpoints])
    told = [(one, tally_of(notes.get(one.key))) for one in endpoints]
    return LearningPage(
        items=[LearnedView.of(one, tally) for one, tally in told if tally is not None and tally.beats],
        next_cursor=endpoints[-1].id if more else None,
    )


def _mark(cursor: str | None) -> Mark:
    if cursor is None:
        return THE_END
    began_at, _, id_ = cursor.partition(BETWEEN)
    try:
        return Mark(datetime.fromisoformat(began_at).astimezone(UTC), id_)
    except (ValueError, OverflowError):
        raise InvalidRequest("cursor must be the next_cursor of a page.", "cursor") from None


def _by_day(sat: Iterable[Sat]) -> list[DayView]:
    days: dict[tuple[date, str], list[Sat]] = defaultdict(list)
    for one in sat:
        days[one.began_at.date(), one.planner].append(one)
    views = [
        DayView(day=day, planner=planner, sittings=len(ones), tokens=_tokens(ones))
        for (day, planner), ones in days.items()
    ]
    return sorted(views, key=lambda view: (-view.day.toordinal(), view.planner))


def _by_endpoint(sat: Iterable[Sat]) -> list[SpenderView]:
    endpoints: dict[tuple[str, str], list[Sat]] = defaultdict(list)
    for one in sat:
        endpoints[one.endpoint_id, one.planner].append(one)
    views = [
        SpenderView(
            endpoint_id=endpoint_id,
            planner=planner,
            sittings=len(ones),
            failed=sum(one.failed for one in ones),
            tokens=_tokens(ones),
        )
        for (endpoint_id, planner), ones in endpoints.items()
    ]
    return sorted(views, key=_dearest)


def _dearest(view: SpenderView) -> tuple[int, int, str, str]:
    return -(view.tokens.input + view.tokens.output), -view.sittings, view.endpoint_id, view.planner


def _tokens(sat: Iterable[Sat]) -> TokensView:
    spent = [one.tokens for one in sat]
    return TokensView(input=sum(one.input for one in spent), output=sum(one.output for one in spent))


PLANNERS = (list_sittings, get_spending, list_learning)
