"""Operations on limits of runs: how many are in flight, and begin in a minute."""

from datetime import datetime
from functools import partial
from typing import Annotated, Self

from pydantic import Field, StringConstraints

from cadenza.domain.access.key import Scope
from cadenza.domain.access.run_limit import (
    LONGEST_NAME,
    MOST,
    MOST_LIMITS,
    LimitKind,
    LimitUse,
    RunLimit,
    allows_again_at,
    room,
)
from cadenza.domain.errors import NotFound
from cadenza.domain.text_patterns import ONE_LINE
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import Shape
from cadenza.operations.fields import IF_GIVEN, Listed, Paged, Put, Whole, split_page
from cadenza.operations.operation import NO_CONTENT, Command, Nothing, View, operation

LimitName = Annotated[str, StringConstraints(strict=True, pattern=ONE_LINE, max_length=LONGEST_NAME)]
Runs = Annotated[int, Whole(1, MOST)]


class OneLimit(Command):
    """The limit that is meant."""

    kind: LimitKind
    """`host`, `job`, or `key`, which endpoints name as their `limit_key`."""
    name: LimitName
    """The host without a port, the id of the job, or the key."""


class SetLimit(OneLimit, Put):
    """A limit, new or in place of the one before; what is left out is not limited."""

    max_in_flight: Runs | None = None
    """How many runs may be in flight at the same time, of all endpoints and on all workers together."""
    max_per_minute: Runs | None = None
    """How many runs may begin in any minute."""


class ConfigLimit(Shape):
    """A limit of runs; with `max_in_flight`, `max_per_minute`, or both."""

    kind: LimitKind
    name: LimitName
    max_in_flight: Runs | None = IF_GIVEN
    """How many runs may be in flight at the same time."""
    max_per_minute: Runs | None = IF_GIVEN
    """How many runs may begin in any minute."""


ConfigLimits = Annotated[list[ConfigLimit], Field(max_length=MOST_LIMITS)]


class LimitView(View):
    """A limit, and how much of it is in use."""

    kind: LimitKind
    name: str
    max_in_flight: int | None
    max_per_minute: int | None
    created_at: datetime | None
    in_flight: int
    started_in_minute: int
    """How many runs began within the last minute."""
    waiting: int
    """How many endpoints under it are due."""
    holds_back: bool
    """Whether it is why they wait."""
    held_since: datetime | None
    """Since when it holds something back."""
    goes_on_at: datetime | None
    """When the next run may begin, where the minute is used up; null where a run in flight must end first."""

    @classmethod
    def of(cls, use: LimitUse, now: datetime) -> Self:
        """The view of a limit."""
        limit = use.limit
        holds_back = use.waiting > 0 and room(use, now) == 0
        return cls(
            kind=limit.kind,
            name=limit.name,
            max_in_flight=limit.max_in_flight,
            max_per_minute=limit.max_per_minute,
            created_at=limit.created_at,
            in_flight=use.in_flight,
            started_in_minute=use.count_started(now),
            waiting=use.waiting,
            holds_back=holds_back,
            held_since=(limit.held_since or use.waiting_since) if holds_back else None,
            goes_on_at=allows_again_at(use, now) if holds_back else None,
        )


class LimitsPage(Listed[LimitView]):
    """A page of limits."""


@operation("GET /v1/limits", Scope.READ)
async def list_limits(context: RequestContext, command: Paged) -> LimitsPage:
    """List limits of runs, with how much of each is in use, and what they hold back."""
    now = context.dependencies.clock.now()
    uses = await context.store.limits.uses(context.tenant_id, now)
    after = [use for use in uses if use.limit.key > (command.cursor or "")]
    found, more = split_page(after, command.limit)
    return LimitsPage(
        items=[LimitView.of(use, now) for use in found],
        next_cursor=found[-1].limit.key if more else None,
    )


@operation("PUT /v1/limits/{kind}/{name}", Scope.ADMIN, agent=False)
async def set_limit(context: RequestContext, command: SetLimit) -> LimitView:
    """Limit the runs of all endpoints with the same host, job or key, on all workers together."""
    now = context.dependencies.clock.now()
    limit = RunLimit(tenant_id=context.tenant_id, created_at=now, **command.model_dump(exclude={"only_new"}))
    await command.refuse_existing(f"a limit {limit.key}", partial(_stored, context, limit))
    note_limit(context, limit, await context.store.limits.put_limit(limit))
    uses = await context.store.limits.uses(context.tenant_id, now)
    return next(LimitView.of(use, now) for use in uses if use.limit.key == limit.key)


@operation("DELETE /v1/limits/{kind}/{name}", Scope.ADMIN, status=NO_CONTENT, agent=False)
async def delete_limit(context: RequestContext, command: OneLimit) -> Nothing:
    """Delete a limit; what waited for it goes on."""
    limit = RunLimit(tenant_id=context.tenant_id, kind=command.kind, name=command.name, max_in_flight=1)
    deleted = await context.store.limits.delete_limit(context.tenant_id, limit.kind, limit.name)
    note_limit(context, None, deleted)
    return Nothing()


async def _stored(context: RequestContext, limit: RunLimit) -> RunLimit:
    """The limit as it is stored; NotFound if there is none."""
    for one in await context.store.limits.limits(context.tenant_id):
        if one.key == limit.key:
            return one
    raise NotFound(f"Limit {limit.key} not found.")


def note_limit(context: RequestContext, limit: RunLimit | None, before: RunLimit | None) -> None:
    """Note a changed limit for the audit: None if it was deleted, or if there was none before."""
    present = limit or before
    assert present is not None, "something changes"
    earlier, later = (None if one is None else _numbers(one) for one in (before, limit))
    context.trail.note("limit", present.key, before=earlier, after=later)


def _numbers(limit: RunLimit) -> dict[str, int | None]:
    return {"max_in_flight": limit.max_in_flight, "max_per_minute": limit.max_per_minute}


LIMITS = (list_limits, set_limit, delete_limit)
