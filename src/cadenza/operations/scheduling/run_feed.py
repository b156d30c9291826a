"""The feed of closed runs in the order in which they are committed, for whoever follows them."""

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import NotFound
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Cursor, Id, Limit
from cadenza.operations.long_pages import LONGEST_PAGE, size_of
from cadenza.operations.operation import Command, View, operation
from cadenza.operations.scheduling.runs import RunView

MOST_PAGES = 20
"""So many pages of other tenants' runs are passed over in one answer."""


class FollowRuns(Command):
    """Where to go on, and which runs."""

    cursor: Cursor | None = None
    """The `next_cursor` of the answer before; without one, the feed begins with runs to come."""
    limit: Limit = 100
    """How many, at most."""
    endpoint_id: Id | None = None
    job_id: Id | None = None
    status: list[RunStatus] = []
    """Any of these."""
    source: list[Source] = []
    """Any of these."""

    def matches(self, run: Run) -> bool:
        """Whether a run is one of those that are wanted."""
        return (
            self.endpoint_id in (None, run.endpoint_id)
            and self.job_id in (None, run.job_id)
            and (not self.status or run.status in self.status)
            and (not self.source or run.source in self.source)
        )


class FollowedRuns(View):
    """Closed runs, those committed first before the others. One may come twice; none is left out."""

    items: list[RunView]
    next_cursor: str
    """Where to go on; never null, as there are always runs to come."""
    more: bool
    """Whether to ask again at once."""


@operation("GET /v1/runs/feed", Scope.READ, agent=False)
async def follow_runs(context: RequestContext, command: FollowRuns) -> FollowedRuns:
    """Read closed runs in the order in which they were committed, from a cursor on.

    Clocks do not matter to it: a run that is committed late, or whose time lies in the past, is not missed.
    """
    return await _follow(context, command)


async def _follow(context: RequestContext, command: FollowRuns) -> FollowedRuns:
    """A page of the feed; one that gets too long is read again with a lower limit."""
    cursor, runs, found, more = command.cursor, list[Run](), list[Run](), True
    for _ in range(MOST_PAGES):
        command = command.model_copy(update={"cursor": cursor})
        runs, cursor = await context.store.analyses.ended_since(cursor, command.limit)
        found = [run for run in runs if run.tenant_id == context.tenant_id and command.matches(run)]
        more = len(runs) == command.limit
        if found or not more:
            break
    assert cursor is not None, "every page of the feed has a cursor"
    items, length = list[RunView](), 0
    for run in found:
        view = RunView.of(await _whole(context, run))
        length += size_of(view.response)
        if items and length > LONGEST_PAGE:
            return await _follow(context, command.model_copy(update={"limit": runs.index(run)}))
        items.append(view)
    return FollowedRuns.model_construct(items=items, next_cursor=cursor, more=more)


async def _whole(context: RequestContext, run: Run) -> Run:
    """The run with its response, which the feed leaves out."""
    try:
        return await context.store.runs.run(context.tenant_id, run.id)
    except NotFound:  # Deleted meanwhile.
        return run


RUN_FEED = (follow_runs,)
