"""`cadenza schedules`."""

from typing import Annotated

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import json_text, seconds
from cadenza.surfaces.cli.calendar_options import NO_CALENDARS, CalendarOptions, calendar_change
from cadenza.surfaces.cli.commands.agents.schedule_options import (
    At,
    CronLine,
    EveryOption,
    ForAWhile,
    In,
    Least,
    MayPace,
    Most,
    NewAgent,
    NewLabel,
    NewPrompt,
    ScheduleZone,
    Until,
    Why,
    timing,
)
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.paging import FIRST_PAGE, Paging, fetch_pages
from cadenza.surfaces.cli.parameters import ASchedule, present
from cadenza.surfaces.cli.written_words import Fills

OfUser = Annotated[str | None, Parameter(name="--user", help="Those of this user."), Fills("user_id")]
ForUser = Annotated[str, Parameter(name="--user", help="Whose schedule it is."), Fills("user_id")]
ByAgent = Annotated[str, Parameter(name="--agent", help="Who answers when it fires."), Fills("agent_id")]
Label = Annotated[str, Parameter(allow_leading_hyphen=True, help="A short label.")]
PromptOption = Annotated[str, Parameter(allow_leading_hyphen=True, help="What the agent gets when it fires.")]
Done = Annotated[bool, Parameter(help="Those that are done or switched off, too."), Fills("enabled_only")]
MaySchedule = Annotated[bool, Parameter(help="Whether it may make schedules when it fires.")]
ProbeOption = Annotated[str | None, Parameter(help="What is looked at first: JSON, or a file behind @.")]


class Schedules(Commands):
    """What users and their agents have planned."""

    @example("--user ada")
    def list_(
        self,
        *,
        user: OfUser = None,
        done: Done = False,
        paging: Paging = FIRST_PAGE,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """List schedules, in the order of their ids."""
        given = present(enabled_only=not done, user_id=user)
        return self.answer(
            connection,
            lambda client: fetch_pages(client, "list_schedules", given, paging=paging),
            "list_schedules",
        )

    @example(
        '--user ada --agent helper --name Pizza --prompt "take it out" --in 20m', operation="create_schedule"
    )
    def create(
        self,
        *,
        user: ForUser,
        agent: ByAgent,
        name: Label,
        prompt: PromptOption,
        at: At = None,
        in_: In = None,
        cron: CronLine = None,
        timezone: ScheduleZone = None,
        every: EveryOption = None,
        min_: Least = None,
        max_: Most = None,
        may_schedule: MaySchedule = False,
        may_pace: MayPace = None,
        probe: ProbeOption = None,
        calendars: CalendarOptions = NO_CALENDARS,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Send a prompt to an agent at a set time, once or repeatedly; the user gets its answer."""
        given = present(
            schedule_type="one-shot" if cron is None and every is None else "recurring",
            user_id=user,
            agent_id=agent,
            name=name,
            prompt=prompt,
            may_schedule=may_schedule,
            may_pace=may_pace,
            probe=None if probe is None else json_text("--probe", probe),
            **timing(at, in_, cron, timezone, every=every, least=min_, most=max_),
            **calendar_change(calendars, self.clock(connection)),
        )
        return self.ask(connection, "create_schedule", given)

    @example('sched-a7b3c --name Pizza --cron "0 19 * * 5"', operation="update_schedule")
    def update(
        self,
        schedule: ASchedule,
        /,
        *,
        name: NewLabel = None,
        prompt: NewPrompt = None,
        agent: NewAgent = None,
        at: At = None,
        in_: In = None,
        cron: CronLine = None,
        timezone: ScheduleZone = None,
        every: EveryOption = None,
        min_: Least = None,
        max_: Most = None,
        may_schedule: Annotated[bool | None, Parameter(help="Whether it may make schedules.")] = None,
        may_pace: Annotated[bool | None, Parameter(help="Whether its agent may steer it.")] = None,
        calendars: CalendarOptions = NO_CALENDARS,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Change a schedule: its name, prompt, agent, times or calendars. What is not given stays."""
        given = present(
            schedule_id=schedule,
            name=name,
            prompt=prompt,
            agent_id=agent,
            may_schedule=may_schedule,
            may_pace=may_pace,
            **timing(at, in_, cron, timezone, every=every, least=min_, most=max_),
            **calendar_change(calendars, self.clock(connection)),
        )
        return self.ask(connection, "update_schedule", given)

    @example("sched-a7b3c --until 2030-01-31T09:00:00+01:00", operation="pause_schedule")
    def pause(
        self,
        schedule: ASchedule,
        /,
        *,
        until: Until = None,
        reason: Why = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Pause a schedule until a moment, or until it is resumed."""
        given = present(schedule_id=schedule, until=until, reason=reason)
        return self.ask(connection, "pause_schedule", given)

    resume = DerivedCommand("resume_schedule", "sched-a7b3c")

    @example("sched-a7b3c --for 1h", operation="snooze_schedule")
    def snooze(
        self,
        schedule: ASchedule,
        /,
        *,
        for_: ForAWhile = None,
        until: Until = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Put off the next run of a schedule, once; then it goes on as before."""
        span = None if for_ is None else seconds("--for", for_)
        given = present(schedule_id=schedule, for_seconds=span, until=until)
        return self.ask(connection, "snooze_schedule", given)

    run_now = DerivedCommand("run_schedule", "sched-a7b3c")
    history = DerivedCommand("list_schedule_runs", "sched-a7b3c")
    explain = DerivedCommand("explain_schedule", "sched-a7b3c")
    delete = DerivedCommand("delete_schedule", "sched-a7b3c")
