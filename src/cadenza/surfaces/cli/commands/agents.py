"""`cadenza users`, `cadenza agents` and `cadenza schedules`."""

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import pairs, quiet_hours, seconds, written_channel
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.paging import FIRST_PAGE, Paging, fetch_pages
from cadenza.surfaces.cli.parameters import AnAgent, ASchedule, AUser, NewName, OnlyNew, present
from cadenza.surfaces.cli.schedule_options import (
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
from cadenza.surfaces.cli.written_words import Fills

UserOption = Annotated[str, Parameter(name="--user", help="The user who says it."), Fills("user_id")]
Zone = Annotated[str | None, Parameter(help="An IANA time zone, such as Europe/Berlin.")]
Lasts = Annotated[
    str, Parameter(name="--for", help="How long it speaks for the user: 10m, 1h."), Fills("ttl_seconds")
]
Instructions = Annotated[str, Parameter(allow_leading_hyphen=True, help="What it is for, and how it speaks.")]
Model = Annotated[str | None, Parameter(help="PROVIDER:MODEL, or offline.")]
AgentRuntime = Annotated[
    Literal["model", "http", "pull"],
    Parameter(help="Who answers: Cadenza, a service at --url, or processes that take turns."),
]
TurnsUrl = Annotated[
    str | None, Parameter(help="Where the turns of an HTTP agent are sent."), Fills("target", "target.url")
]
TurnHeaders = Annotated[
    tuple[str, ...],
    Parameter(name="--header", help="NAME=VALUE; ${secret:NAME} stands for a secret."),
    Fills("target.headers"),
]
TurnSigning = Annotated[
    tuple[str, ...],
    Parameter(name="--sign", help="A signing key, such as ${secret:NAME}; several while keys change."),
    Fills("target.signing"),
]
Words = Annotated[str, Parameter(allow_leading_hyphen=True, help="What the user says.")]
OfUser = Annotated[str | None, Parameter(name="--user", help="Those of this user."), Fills("user_id")]
ForUser = Annotated[str, Parameter(name="--user", help="Whose schedule it is."), Fills("user_id")]
ByAgent = Annotated[str, Parameter(name="--agent", help="Who answers when it fires."), Fills("agent_id")]
Label = Annotated[str, Parameter(allow_leading_hyphen=True, help="A short label.")]
PromptOption = Annotated[str, Parameter(allow_leading_hyphen=True, help="What the agent gets when it fires.")]
Done = Annotated[bool, Parameter(help="Those that are done or switched off, too."), Fills("enabled_only")]
MaySchedule = Annotated[bool, Parameter(help="Whether it may make schedules when it fires.")]


ChannelList = Annotated[
    tuple[str, ...],
    Parameter(name="--channel", help="ID=TYPE:ADDRESS; webhook, slack or apprise. The preferred one first."),
    Fills("channels"),
]
ChannelsOff = Annotated[
    tuple[str, ...], Parameter(name="--off", help="Keep this channel, and send nothing there.")
]
Quiet = Annotated[
    str | None,
    Parameter(help="When nothing is sent: 22:00-07:00, in the user's time zone."),
    Fills("quiet_hours"),
]


class Users(Commands):
    """Users of agents."""

    list_ = DerivedCommand("list_users")
    show = DerivedCommand("get_user", "ada")

    @example("ada --timezone Europe/Berlin")
    def put(
        self,
        user: AUser,
        /,
        *,
        timezone: Zone = None,
        only_new: OnlyNew = False,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Create or change a user."""
        given = {"user_id": user, "timezone": timezone, "only_new": only_new}
        return self.ask(connection, "put_user", given)

    @example("ada --for 10m")
    def token(self, user: AUser, /, *, for_: Lasts = "1h", connection: CliOptions = AS_CONFIGURED) -> int:
        """Create a token for this user only. It is shown only once."""
        return self.ask(
            connection, "create_user_token", {"user_id": user, "ttl_seconds": seconds("--for", for_)}
        )

    channels = DerivedCommand("get_user_channels", "ada")

    @example(
        "ada --channel 'phone=apprise:ntfy://${secret:TOPIC}' --channel hook=webhook:https://example.com/in"
        " --quiet 22:00-07:00",
        operation="put_user_channels",
    )
    def set_channels(
        self,
        user: AUser,
        /,
        *,
        channel: ChannelList = (),
        off: ChannelsOff = (),
        quiet: Quiet = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Replace the channels of a user, the preferred one first, and their quiet hours."""
        channels = [one | {"enabled": one["id"] not in off} for one in map(written_channel, channel)]
        given = {"user_id": user, "channels": channels, "quiet_hours": quiet_hours(quiet)}
        return self.ask(connection, "put_user_channels", given)

    test_channel = DerivedCommand("test_user_channel", "ada phone")
    delete = DerivedCommand("delete_user", "ada", about="Delete a user and all data of the user.")


class Agents(Commands):
    """Conversational agents."""

    list_ = DerivedCommand("list_agents")
    show = DerivedCommand("get_agent", "helper")

    @example("helper --name Helper")
    def put(
        self,
        agent: AnAgent,
        /,
        *,
        name: NewName,
        instructions: Instructions = "",
        model: Model = None,
        runtime: AgentRuntime = "model",
        url: TurnsUrl = None,
        header: TurnHeaders = (),
        sign: TurnSigning = (),
        only_new: OnlyNew = False,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Create or change an agent. Without a model it works offline."""
        given: dict[str, Any] = {
            "agent_id": agent,
            "name": name,
            "instructions": instructions,
            "model": model,
            "runtime": runtime,
            "only_new": only_new,
        }
        if url is not None or header or sign:
            given["target"] = {"url": url or "", "headers": pairs("--header", header), "signing": list(sign)}
        return self.ask(connection, "put_agent", given)

    @example('helper "remind me in 20 minutes to take the pizza out" --user ada')
    def say(
        self,
        agent: AnAgent,
        text: Words,
        /,
        *,
        user: UserOption,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Send a message to an agent on behalf of a user, and print its answer."""
        return self.ask(connection, "send_message", {"agent_id": agent, "user_id": user, "text": text})

    delete = DerivedCommand(
        "delete_agent", "helper", about="Delete an agent with its schedules and conversations."
    )


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
            **timing(at, in_, cron, timezone, every=every, least=min_, most=max_),
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
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Change a schedule: its name, prompt, agent or times. What is not given stays."""
        given = present(
            schedule_id=schedule,
            name=name,
            prompt=prompt,
            agent_id=agent,
            may_schedule=may_schedule,
            may_pace=may_pace,
            **timing(at, in_, cron, timezone, every=every, least=min_, most=max_),
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
