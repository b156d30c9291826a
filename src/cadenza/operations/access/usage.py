"""What a tenant has and spends, and how much of it it may."""

from datetime import datetime
from typing import Annotated, Any, Self

from cadenza.domain.access.key import Scope
from cadenza.domain.access.tenant import NO_LIMITS, Limits, Tenant, month_of, next_month
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Id, Name, Span, Whole
from cadenza.operations.operation import Command, View, operation

COUNTED_ENDPOINTS = 100_000
MOST = 2**53
Count = Annotated[int, Whole(0, MOST)]


class LimitsView(View):
    """How much a tenant may have and spend; null is without limit."""

    endpoints: int | None
    min_interval_ms: int | None
    runs_per_month: int | None
    planner_tokens_per_month: int | None
    schedules_per_user: int | None
    schedule_min_interval_ms: int | None
    schedule_fires_per_day: int | None
    schedule_tokens_per_day: int | None

    @classmethod
    def of(cls, limits: Limits) -> Self:
        """The view of limits."""
        return cls(**{name: getattr(limits, name) for name in cls.model_fields})


class GetUsage(Command):
    """How far to look back."""

    months: Annotated[int, Whole(1, 24)] = 12


class MonthView(View):
    """What was spent in a month."""

    month: str
    runs: int
    planner_tokens: int


class UsageView(View):
    """What the tenant has and spends, and how much of it it may."""

    tenant_id: str
    month: str
    runs: int
    """Runs that were dispatched this month."""
    planner_tokens: int
    endpoints: int
    endpoints_counted_all: bool
    """False when there are too many to count at once."""
    limits: LimitsView
    resets_at: datetime
    history: list[MonthView]


class SetLimits(Command):
    """A tenant's limits, all of them; what is left out is without limit, or as by default for schedules."""

    tenant_id: Id
    name: Name | None = None
    endpoints: Count | None = None
    min_interval_ms: Span | None = None
    runs_per_month: Count | None = None
    planner_tokens_per_month: Count | None = None
    schedules_per_user: Count | None = NO_LIMITS.schedules_per_user
    schedule_min_interval_ms: Span | None = NO_LIMITS.schedule_min_interval_ms
    schedule_fires_per_day: Count | None = NO_LIMITS.schedule_fires_per_day
    schedule_tokens_per_day: Count | None = NO_LIMITS.schedule_tokens_per_day


@operation("GET /v1/usage", Scope.READ)
async def get_usage(context: RequestContext, command: GetUsage) -> UsageView:
    """Show the usage of this month and of earlier months, and the limits."""
    now, tenant_id = context.dependencies.clock.now(), context.tenant_id
    tenant = await context.store.tenants.tenant(tenant_id)
    history = await context.store.tenants.usage_by_month(tenant_id, command.months)
    months = [MonthView(month=one.month, **one.spent._asdict()) for one in history]
    month = month_of(now)
    nothing = MonthView(month=month, runs=0, planner_tokens=0)
    current = next((one for one in months if one.month == month), nothing)
    endpoints = await context.store.tenants.count_endpoints(tenant_id, COUNTED_ENDPOINTS)
    return UsageView(
        tenant_id=tenant_id,
        **current.model_dump(),
        endpoints=endpoints,
        endpoints_counted_all=endpoints < COUNTED_ENDPOINTS,
        limits=LimitsView.of(tenant.limits),
        resets_at=next_month(now),
        history=months,
    )


@operation("PUT /v1/tenants/{tenant_id}/limits", Scope.ADMIN, agent=False, operator=True)
async def set_limits(context: RequestContext, command: SetLimits) -> LimitsView:
    """Set all limits of a tenant. Only the operator may: callers of the tenant `default`."""
    given = command.model_dump(exclude={"tenant_id", "name"})
    before = await context.store.tenants.tenant(command.tenant_id)
    tenant = Tenant(id=command.tenant_id, name=command.name or before.name, limits=Limits(**given))
    await context.store.tenants.put_tenant(tenant)
    context.trail.tenant_id = tenant.id
    context.trail.note("tenant", tenant.id, before=_written(before), after=_written(tenant))
    return LimitsView.of(tenant.limits)


def _written(tenant: Tenant) -> dict[str, Any]:
    return {"name": tenant.name, **LimitsView.of(tenant.limits).model_dump()}


USAGE = (get_usage, set_limits)
