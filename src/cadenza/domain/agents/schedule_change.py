"""Changes of a schedule: what is not given stays as it is."""

from dataclasses import dataclass, replace
from datetime import datetime

from cadenza.domain.agents.probe import planning_of
from cadenza.domain.agents.schedule import Schedule, ScheduleType
from cadenza.domain.agents.schedule_request import NewSchedule, check_prompt
from cadenza.domain.agents.users import one_line
from cadenza.domain.scheduling.baseline import Cron, Once
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock
from cadenza.domain.scheduling.steer import replan
from cadenza.domain.scheduling.target import PromptTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleChange:
    """The arguments of `update_schedule`; None leaves a part as it is."""

    name: str | None = None
    prompt: str | None = None
    agent_id: str | None = None
    run_at: str | None = None
    """Makes it one that fires once."""
    cron_expression: str | None = None
    """Makes it one that fires repeatedly."""
    timezone: str | None = None

    @property
    def moves(self) -> bool:
        """Whether it changes when the schedule fires."""
        return any(part is not None for part in (self.run_at, self.cron_expression, self.timezone))


def request_after(schedule: Schedule, change: ScheduleChange) -> NewSchedule:
    """The request that would create the schedule as it is wanted now."""
    run_at: str | datetime | None = change.run_at
    line = change.cron_expression
    if run_at is None and line is None:
        run_at, line = schedule.run_at, schedule.cron_expression
    zone = schedule.timezone if schedule.cron_expression else None
    return NewSchedule(
        name=schedule.name if change.name is None else change.name,
        prompt=schedule.prompt if change.prompt is None else change.prompt,
        schedule_type=ScheduleType.ONE_SHOT if line is None else ScheduleType.RECURRING,
        run_at=run_at,
        cron_expression=line,
        agent_id=change.agent_id or schedule.agent_id,
        timezone=change.timezone or zone,
        may_schedule=schedule.may_schedule,
    )


def changed_schedule(
    endpoint: Endpoint, wanted: NewSchedule, *, baseline: Once | Cron | None, now: datetime, cron: CronClock
) -> Endpoint:
    """The endpoint of a schedule as it is wanted now; with a new baseline its next firing is planned anew."""
    target = endpoint.target
    assert isinstance(target, PromptTarget), "a schedule has a prompt target"
    agent_id = wanted.agent_id or target.agent_id
    said = replace(target, agent_id=agent_id, prompt=check_prompt(wanted.prompt))
    changed = evolve(endpoint, name=one_line("name", wanted.name), target=said)
    if baseline is None or baseline == endpoint.baseline:
        return changed
    moved = evolve(changed, baseline=baseline)
    return replan(evolve(moved, planning=planning_of(moved)), now, cron)
