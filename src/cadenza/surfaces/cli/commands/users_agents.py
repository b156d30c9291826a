"""`cadenza users` and `cadenza agents`."""

from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.domain.durations import span_ms
from cadenza.surfaces.cli.connection import HERE, Way
from cadenza.surfaces.cli.operation_command import Commands, example, said
from cadenza.surfaces.cli.paging import FIRST, Paging, gathered

AUser = Annotated[str, Parameter(help="The user's id.")]
OnBehalfOf = Annotated[str, Parameter(name="--user", help="The user who says it.")]
AnAgent = Annotated[str, Parameter(help="The agent's id.")]
Zone = Annotated[str | None, Parameter(help="An IANA time zone, such as Europe/Berlin.")]
Lasts = Annotated[str, Parameter(name="--for", help="How long it speaks for the user: 10m, 1h.")]
AgentName = Annotated[str, Parameter(allow_leading_hyphen=True, help="What people call it.")]
Instructions = Annotated[str, Parameter(allow_leading_hyphen=True, help="What it is for, and how it speaks.")]
Model = Annotated[str | None, Parameter(help="PROVIDER:MODEL, or offline.")]
Words = Annotated[str, Parameter(allow_leading_hyphen=True, help="What the user says.")]


class Users(Commands):
    """Those to whom agents speak."""

    @example("cadenza users list")
    def list_(self, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """List users, in the order of their ids."""
        from cadenza.surfaces.cli.output.columns import USERS
        from cadenza.surfaces.cli.output.formatting import listing

        look = listing(USERS, "There are no users; cadenza users put makes one.")
        return self.answer(way, lambda asker: gathered(asker, "list_users", {}, paging=paging), look)

    @example("cadenza users show ada")
    def show(self, user: AUser, /, *, way: Way = HERE) -> int:
        """Show one user."""
        return self.answer(way, lambda asker: asker.ask("get_user", {"user_id": user}), _user)

    @example("cadenza users put ada --timezone Europe/Berlin")
    def put(self, user: AUser, /, *, timezone: Zone = None, way: Way = HERE) -> int:
        """Keep a user, new or changed."""
        given = {"user_id": user, "timezone": timezone}
        return self.answer(way, lambda asker: asker.ask("put_user", given), _user)

    @example("cadenza users token ada --for 10m")
    def token(self, user: AUser, /, *, for_: Lasts = "1h", way: Way = HERE) -> int:
        """Make a token that speaks for this user alone. It is shown only now."""
        given = {"user_id": user, "ttl_seconds": max(1, span_ms("--for", for_) // 1_000)}
        return self.answer(way, lambda asker: asker.ask("create_user_token", given), _token)

    @example("cadenza users delete ada")
    def delete(self, user: AUser, /, *, way: Way = HERE) -> int:
        """Delete a user with everything that is theirs."""
        done = said(f"Deleted the user {user} with everything that was theirs.")
        return self.answer(way, lambda asker: asker.ask("delete_user", {"user_id": user}), done)


class Agents(Commands):
    """Those who answer users."""

    @example("cadenza agents list")
    def list_(self, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """List agents, in the order of their ids."""
        from cadenza.surfaces.cli.output.columns import AGENTS
        from cadenza.surfaces.cli.output.formatting import listing

        look = listing(AGENTS, "There are no agents; cadenza agents put makes one.")
        return self.answer(way, lambda asker: gathered(asker, "list_agents", {}, paging=paging), look)

    @example("cadenza agents show helper")
    def show(self, agent: AnAgent, /, *, way: Way = HERE) -> int:
        """Show one agent."""
        return self.answer(way, lambda asker: asker.ask("get_agent", {"agent_id": agent}), _agent)

    @example("cadenza agents put helper --name Helper")
    def put(
        self,
        agent: AnAgent,
        /,
        *,
        name: AgentName,
        instructions: Instructions = "",
        model: Model = None,
        way: Way = HERE,
    ) -> int:
        """Keep an agent, new or changed; without a model anywhere, it works offline."""
        given = {"agent_id": agent, "name": name, "instructions": instructions, "model": model}
        return self.answer(way, lambda asker: asker.ask("put_agent", given), _agent)

    @example('cadenza agents say helper "remind me in 20 minutes to take the pizza out" --user ada')
    def say(self, agent: AnAgent, text: Words, /, *, user: OnBehalfOf, way: Way = HERE) -> int:
        """Say something to an agent in the name of a user, and read its answer."""
        given = {"agent_id": agent, "user_id": user, "text": text}
        return self.answer(way, lambda asker: asker.ask("send_message", given), _answer)

    @example("cadenza agents delete helper")
    def delete(self, agent: AnAgent, /, *, way: Way = HERE) -> int:
        """Delete an agent with its schedules and conversations."""
        done = said(f"Deleted the agent {agent} with its schedules and conversations.")
        return self.answer(way, lambda asker: asker.ask("delete_agent", {"agent_id": agent}), done)


def _user(user: Any) -> Any:
    from cadenza.surfaces.cli.output.formatting import card, moment

    yield card({"user": user["id"], "time zone": user["timezone"], "created": moment(user["created_at"])})


def _agent(agent: Any) -> Any:
    from cadenza.surfaces.cli.output.formatting import card, moment

    facts = {"agent": agent["name"], "id": agent["id"], "model": agent["model"]}
    yield card(
        {**facts, "instructions": agent["instructions"] or None, "created": moment(agent["created_at"])}
    )


def _token(made: Any) -> Any:
    from rich.text import Text

    from cadenza.surfaces.cli.output.formatting import card, moment, text

    yield card({"user": made["user_id"], "expires": moment(made["expires_at"])})
    yield text("It speaks for this user alone, and is shown only now:")
    yield Text(made["token"], no_wrap=True, overflow="ignore")


def _answer(answer: Any) -> Any:
    from cadenza.surfaces.cli.output.formatting import as_json, text

    for message in answer["messages"]:
        yield text(message["text"]) if message["type"] == "subtitle" else as_json(message["command"])
