"""`cadenza users`, `cadenza agents` and `cadenza schedules`."""

from typing import Annotated

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import json_text, quiet_hours, seconds, written_channel
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.paging import FIRST_PAGE, Paging, fetch_pages
from cadenza.surfaces.cli.parameters import AnAgent, ASchedule, AUser, NewName, OnlyNew, present
from cadenza.surfaces.cli.written_words import Fills

UserOption = Annotated[str, Parameter(name="--user", help="The user who says it."), Fills("user_id")]
Zone = Annotated[str | None, Parameter(help="An IANA time zone, such as Europe/Berlin.")]
Lasts = Annotated[
    str, Parameter(name="--for", help="How long it speaks for the user: 10m, 1h."), Fills("ttl_seconds")
]
Instructions = Annotated[str, Parameter(allow_leading_hyphen=True, help="What it is for, and how it speaks.")]
Model = Annotated[str | None, Parameter(help="PROVIDER:MODEL, or offline.")]
Words = Annotated[str, Parameter(allow_leading_hyphen=True, help="What the user says.")]
OfUser = Annotated[str | None, Parameter(name="--user", help="Those of this user."), Fills("user_id")]
ForUser = Annotated[str, Parameter(name="--user", help="Whose schedule it is."), Fills("user_id")]
ByAgent = Annotated[str, Parameter(name="--agent", help="Who answers when it fires."), Fills("agent_id")]
Label = Annotated[str, Parameter(allow_leading_hyphen=True, help="A short label.")]
PromptOption = Annotated[str, Parameter(allow_leading_hyphen=True, help="What the agent gets when it fires.")]
NewAgent = Annotated[
    str | None, Parameter(name="--agent", help="Who answers when it fires."), Fills("agent_id")
]
NewLabel = Annotated[str | None, Parameter(allow_leading_hyphen=True, help="A short label.")]
NewPrompt = Annotated[
    str | None, Parameter(allow_leading_hyphen=True, help="What the agent gets when it fires.")
]
At = Annotated[
    str | None, Parameter(help="When it fires, once; without an offset, in the time zone."), Fills("run_at")
]
In = Annotated[
    str | None, Parameter(name="--in", help="Fire once, after a span: 20m, 2h."), Fills("delay_seconds")
]
CronLine = Annotated[
    str | None, Parameter(name="--cron", help="Fire again and again: five fields."), Fills("cron_expression")
]
ScheduleZone = Annotated[str | None, Parameter(help="An IANA time zone; the user's if left out.")]
Done = Annotated[bool, Parameter(help="Those that are done or switched off, too."), Fills("enabled_only")]
MaySchedule = Annotated[bool, Parameter(help="Whether it may make schedules when it fires.")]
ProbeOption = Annotated[str | None, Parameter(help="What is looked at first: JSON, or a file behind @.")]


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
        only_new: OnlyNew = False,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Create or change an agent. Without a model it works offline."""
        given = {
            "agent_id": agent,
            "name": name,
            "instructions": instructions,
            "model": model,
            "only_new": only_new,
        }
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
        may_schedule: MaySchedule = False,
        probe: ProbeOption = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Send a prompt to an agent at a set time, once or repeatedly; the user gets its answer."""
        given = present(
            schedule_type="one-shot" if cron is None else "recurring",
            user_id=user,
            agent_id=agent,
            name=name,
            prompt=prompt,
            run_at=at,
            delay_seconds=None if in_ is None else seconds("--in", in_),
            cron_expression=cron,
            timezone=timezone,
            may_schedule=may_schedule,
            probe=None if probe is None else json_text("--probe", probe),
        )
        return self.ask(connection, "create_schedule", given)

    @example("sched-a7b3c --cron '0 9 * * 1-5'", operation="update_schedule")
    def update(
        self,
        schedule: ASchedule,
        /,
        *,
        agent: NewAgent = None,
        name: NewLabel = None,
        prompt: NewPrompt = None,
        at: At = None,
        cron: CronLine = None,
        timezone: ScheduleZone = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Change a schedule. Options that are not given keep their value."""
        given = present(
            schedule_id=schedule,
            agent_id=agent,
            name=name,
            prompt=prompt,
            run_at=at,
            cron_expression=cron,
            timezone=timezone,
        )
        return self.ask(connection, "update_schedule", given)

    resume = DerivedCommand("resume_schedule", "sched-a7b3c")
    delete = DerivedCommand("delete_schedule", "sched-a7b3c")
