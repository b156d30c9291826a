"""`cadenza users` and `cadenza agents`."""

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import pairs, quiet_hours, seconds, written_channel
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.parameters import AnAgent, AUser, NewName, OnlyNew
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
