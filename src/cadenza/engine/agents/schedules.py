"""Creates, lists, changes and deletes the agent schedules of users."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from cadenza.domain.access.tenant import Limits
from cadenza.domain.agents.schedule import (
    Schedule,
    format_moment,
    is_active,
    next_fires,
    schedule_not_found,
    schedule_of,
    schedule_of_user,
    with_first_fire,
)
from cadenza.domain.agents.schedule_calendars import check_calendars
from cadenza.domain.agents.schedule_change import (
    ScheduleUpdate,
    changed_baseline,
    due_now,
    paused,
    resumed,
    snoozed,
    updated,
)
from cadenza.domain.agents.schedule_protection import SCHEDULES_JOB
from cadenza.domain.agents.schedule_request import (
    LONGEST_ID,
    SHORTEST_ID,
    NewSchedule,
    ScheduleRequester,
    admit_schedule,
    baseline_of,
    check_count_of,
    check_requester,
    draft_endpoint,
    same_request,
)
from cadenza.domain.agents.schedule_timing import future_moment
from cadenza.domain.agents.users import AgentKey, User, UserKey
from cadenza.domain.errors import Conflict, InvalidRequest, NotFound
from cadenza.domain.scheduling.baseline import Baseline, Cron
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job, evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.engine.calendar_rules import calendars_in_change, resolve_rules
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.clock import Clock, CronCalculator
from cadenza.ports.store import Store

EVERY_MINUTE = "* * * * *"
MOST_ACTIVE = 10_000


class CreatedSchedule(NamedTuple):
    """A new schedule and its next firing times: as moments, and as text for the confirmation."""

    schedule: Schedule
    next_fires: list[datetime]
    next_fires_text: list[str]


class AgentSchedules:
    """The schedules of users; the message of every refusal tells an agent what to change."""

    def __init__(self, *, store: Store, clock: Clock, cron: CronCalculator) -> None:
        self._store = store
        self._clock = clock
        self._cron = cron

    async def create(self, requester: ScheduleRequester, wanted: NewSchedule) -> CreatedSchedule:
        """Create a schedule; the same request twice in one turn creates it once."""
        check_requester(requester, wanted)
        user = await self._store.users.user(requester.user)
        agent_id = await self._agent_of(requester, wanted)
        baseline = self._baseline(wanted, user)
        rules = await resolve_rules(self._store, user.tenant_id, wanted.calendar)
        parts: dict[str, Any] = {"baseline": baseline, "agent_id": agent_id, "rules": rules}
        limits = (await self._store.tenants.tenant(user.tenant_id)).limits
        await self._ensure_job(user.tenant_id)
        for length in range(SHORTEST_ID, LONGEST_ID):
            draft = draft_endpoint(requester, wanted, **parts, length=length)
            stored = await self._store_once(user.key, draft, limits)
            if stored is not None:
                return self._created(stored, user)
        raise Conflict("No id is free for this schedule: say its name or prompt differently.")

    async def schedules(
        self, user: UserKey, *, enabled_only: bool = True, page: Page = FIRST_PAGE
    ) -> list[Schedule]:
        """A user's schedules, in the order of their ids."""
        found = await self._store.schedules.schedules(user, active_only=enabled_only, page=page)
        return [schedule_of(endpoint) for endpoint in found]

    async def delete(self, user: UserKey, schedule_id: str) -> None:
        """Delete a schedule; NotFound if the user has none under this id."""
        await self._amend(user, schedule_id, lambda one: ChangedEndpoint(evolve(one, archived=True)))

    async def update(
        self, user: UserKey, schedule_id: str, update: ScheduleUpdate, *, origin: str
    ) -> Schedule:
        """Change what a schedule says or when it fires, within the limits of its user."""
        zone = (await self._store.users.user(user)).timezone
        limits = (await self._store.tenants.tenant(user.tenant_id)).limits
        if update.agent_id is not None:
            await self._store.agents.agent(AgentKey(user.tenant_id, update.agent_id))
        if update.timezone is not None:
            self._cron.check(EVERY_MINUTE, update.timezone)
        others, by = await self._active_beside(user, schedule_id), self._by(origin)
        by["calendars"] = await calendars_in_change(self._store, user.tenant_id, update.calendar)

        def change(endpoint: Endpoint) -> ChangedEndpoint:
            baseline = changed_baseline(endpoint, update, now=by["now"], zone=zone)
            if isinstance(baseline, Cron):
                self._check_line(baseline)
            return updated(endpoint, update, baseline=baseline, others=others, limits=limits, **by)

        return schedule_of(await self._amend(user, schedule_id, change))

    async def pause(
        self, user: UserKey, schedule_id: str, until: str | None, reason: str | None, *, origin: str
    ) -> Schedule:
        """Do not let a schedule fire until a moment or, without one, until it is resumed."""
        end = None if until is None else await self._moment(user, until)
        by = self._by(origin)
        return schedule_of(await self._amend(user, schedule_id, lambda one: paused(one, end, reason, **by)))

    async def resume(self, user: UserKey, schedule_id: str, *, origin: str) -> Schedule:
        """Let a schedule fire again that was paused or is done; any other stays as it is."""
        limits = (await self._store.tenants.tenant(user.tenant_id)).limits
        others, by = await self._active_beside(user, schedule_id), self._by(origin)

        def change(endpoint: Endpoint) -> ChangedEndpoint:
            changed = resumed(endpoint, **by)
            if is_active(changed.endpoint) and not is_active(endpoint):
                check_count_of(others, limits)
            return changed

        return schedule_of(await self._amend(user, schedule_id, change))

    async def snooze(
        self, user: UserKey, schedule_id: str, *, for_seconds: int | None, until: str | None, origin: str
    ) -> Schedule:
        """Put off the next firing of a schedule to a moment, once."""
        if (for_seconds is None) == (until is None):
            raise InvalidRequest("Give either for_seconds or until.", "until")
        now = self._clock.now()
        end = now + timedelta(seconds=for_seconds or 0) if until is None else await self._moment(user, until)
        by = self._by(origin) | {"now": now}
        return schedule_of(await self._amend(user, schedule_id, lambda one: snoozed(one, end, **by)))

    async def run_now(self, user: UserKey, schedule_id: str) -> Schedule:
        """Let a schedule fire at once, beside its regular times."""
        now = self._clock.now()
        return schedule_of(await self._amend(user, schedule_id, lambda one: due_now(one, now=now)))

    async def schedule(self, user: UserKey, schedule_id: str) -> Endpoint:
        """The endpoint of a schedule; NotFound if the user has none under this id."""
        try:
            endpoint = await self._store.endpoints.get(EndpointKey(user.tenant_id, schedule_id))
        except NotFound:
            raise schedule_not_found(schedule_id) from None
        return schedule_of_user(endpoint, user)

    async def _amend(
        self, user: UserKey, schedule_id: str, change: Callable[[Endpoint], ChangedEndpoint]
    ) -> Endpoint:
        def of_user(endpoint: Endpoint) -> ChangedEndpoint:
            return change(schedule_of_user(endpoint, user))

        try:
            key = EndpointKey(user.tenant_id, schedule_id)
            return (await self._store.endpoints.amend(key, of_user)).endpoint
        except NotFound:
            raise schedule_not_found(schedule_id) from None

    def _by(self, origin: str) -> dict[str, Any]:
        return {"now": self._clock.now(), "cron": self._cron, "origin": origin}

    async def _moment(self, user: UserKey, until: str) -> datetime:
        """The end of a pause or a snooze; without an offset it is in the user's time zone."""
        zone = (await self._store.users.user(user)).timezone
        return future_moment("until", until, now=self._clock.now(), zone=zone)

    async def _active_beside(self, user: UserKey, schedule_id: str) -> list[Endpoint]:
        """The user's other active schedules."""
        active = await self._store.schedules.schedules(user, page=Page(MOST_ACTIVE))
        return [one for one in active if one.id != schedule_id]

    async def _agent_of(self, requester: ScheduleRequester, wanted: NewSchedule) -> str:
        agent_id = wanted.agent_id or requester.agent_id
        if agent_id is None:
            raise InvalidRequest("agent_id must say which agent answers when it fires.", "agent_id")
        await self._store.agents.agent(AgentKey(requester.user.tenant_id, agent_id))
        return agent_id

    def _baseline(self, wanted: NewSchedule, user: User) -> Baseline:
        if wanted.timezone is not None:
            self._cron.check(EVERY_MINUTE, wanted.timezone)
        baseline = baseline_of(wanted, now=self._clock.now(), zone=user.timezone)
        if isinstance(baseline, Cron):
            self._check_line(baseline)
        return baseline

    def _check_line(self, line: Cron) -> None:
        """Check a cron line; InvalidRequest names the argument by which it was given."""
        try:
            self._cron.check(line.expression, line.timezone)
        except InvalidRequest as problem:
            field = "cron_expression" if problem.field == "expression" else problem.field
            raise InvalidRequest(problem.message, field) from None

    async def _ensure_job(self, tenant_id: str) -> None:
        """Create the job of the tenant's schedules with the first of them."""
        try:
            await self._store.catalog.job(tenant_id, SCHEDULES_JOB)
        except NotFound:
            description = "What users' agents have planned."
            job = Job(
                id=SCHEDULES_JOB,
                name=SCHEDULES_JOB,
                tenant_id=tenant_id,
                description=description,
                created_at=self._clock.now(),
            )
            with suppress(Conflict):
                await self._store.catalog.add_job(job)

    async def _store_once(self, user: UserKey, draft: Endpoint, limits: Limits) -> Endpoint | None:
        """The schedule as it is stored; None if another endpoint has its id."""
        now = self._clock.now()
        check_calendars(draft, now, self._cron)
        planned = with_first_fire(evolve(draft, created_at=now), now=now, cron=self._cron)
        try:
            return await self._store.schedules.add_schedule(
                user, lambda active: admit_schedule(planned, active, limits=limits, cron=self._cron)
            )
        except Conflict:
            existing = await self._store.endpoints.get(planned.key)
            return existing if same_request(existing, planned) and not existing.archived else None

    def _created(self, endpoint: Endpoint, user: User) -> CreatedSchedule:
        schedule = schedule_of(endpoint)
        fires = next_fires(endpoint, self._cron)
        zone = schedule.timezone if schedule.cron_expression else user.timezone or "UTC"
        return CreatedSchedule(schedule, fires, [format_moment(fire, zone) for fire in fires])
