"""Creates, lists, changes, resumes and deletes the agent schedules of users."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import NamedTuple

from cadenza.domain.access.tenant import Limits
from cadenza.domain.agents.schedule import (
    Schedule,
    format_moment,
    next_fires,
    resumed,
    schedule_not_found,
    schedule_of,
    schedule_of_user,
    with_first_fire,
)
from cadenza.domain.agents.schedule_change import ScheduleChange, changed_schedule, request_after
from cadenza.domain.agents.schedule_protection import SCHEDULES_JOB
from cadenza.domain.agents.schedule_request import (
    LONGEST_ID,
    SHORTEST_ID,
    NewSchedule,
    ScheduleRequester,
    admit_schedule,
    baseline_of,
    check_requester,
    draft_endpoint,
    same_request,
)
from cadenza.domain.agents.users import AgentKey, User, UserKey
from cadenza.domain.errors import Conflict, InvalidRequest, NotFound
from cadenza.domain.scheduling.baseline import Cron, Once
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job, evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.clock import Clock, CronCalculator
from cadenza.ports.store import Store

EVERY_MINUTE = "* * * * *"
EVERY = Page(limit=100_000)


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
        limits = (await self._store.tenants.tenant(user.tenant_id)).limits
        await self._ensure_job(user.tenant_id)
        for length in range(SHORTEST_ID, LONGEST_ID):
            draft = draft_endpoint(requester, wanted, baseline=baseline, agent_id=agent_id, length=length)
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

    async def update(self, user_key: UserKey, schedule_id: str, change: ScheduleChange) -> CreatedSchedule:
        """Change a schedule; with another time, its next firing is planned anew within the user's limits."""
        user = await self._store.users.user(user_key)
        current = await self._amend(user_key, schedule_id, lambda endpoint: endpoint)
        wanted = request_after(schedule_of(current), change)
        await self._store.agents.agent(AgentKey(user.tenant_id, wanted.agent_id or ""))
        baseline = self._baseline(wanted, user) if change.moves else None
        rule = partial(
            changed_schedule, wanted=wanted, baseline=baseline, now=self._clock.now(), cron=self._cron
        )
        if change.moves:
            await self._admit_change(user, rule(current))
        return self._created(await self._amend(user_key, schedule_id, rule), user)

    async def _admit_change(self, user: User, changed: Endpoint) -> None:
        """Refuse a change that the user's limits do not allow beside the other schedules."""
        limits = (await self._store.tenants.tenant(user.tenant_id)).limits
        active = await self._store.schedules.schedules(user.key, page=EVERY)
        others = [one for one in active if one.id != changed.id]
        admit_schedule(changed, others, limits=limits, cron=self._cron)

    async def delete(self, user: UserKey, schedule_id: str) -> None:
        """Delete a schedule; NotFound if the user has none under this id."""
        await self._amend(user, schedule_id, lambda endpoint: evolve(endpoint, archived=True))

    async def resume(self, user: UserKey, schedule_id: str) -> Schedule:
        """Let a paused schedule fire again; one that is not paused stays as it is."""
        rule = partial(resumed, now=self._clock.now(), cron=self._cron)
        return schedule_of(await self._amend(user, schedule_id, rule))

    async def _amend(
        self, user: UserKey, schedule_id: str, change: Callable[[Endpoint], Endpoint]
    ) -> Endpoint:
        def changed(endpoint: Endpoint) -> ChangedEndpoint:
            return ChangedEndpoint(change(schedule_of_user(endpoint, user)))

        try:
            key = EndpointKey(user.tenant_id, schedule_id)
            return (await self._store.endpoints.amend(key, changed)).endpoint
        except NotFound:
            raise schedule_not_found(schedule_id) from None

    async def _agent_of(self, requester: ScheduleRequester, wanted: NewSchedule) -> str:
        agent_id = wanted.agent_id or requester.agent_id
        if agent_id is None:
            raise InvalidRequest("agent_id must say which agent answers when it fires.", "agent_id")
        await self._store.agents.agent(AgentKey(requester.user.tenant_id, agent_id))
        return agent_id

    def _baseline(self, wanted: NewSchedule, user: User) -> Once | Cron:
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
