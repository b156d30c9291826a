"""Operations on users, their tokens, and agents with their instructions."""

from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Self

from pydantic import Field, StringConstraints

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.users import (
    LONGEST_INSTRUCTIONS,
    Agent,
    AgentKey,
    Runtime,
    User,
    agent_target,
    refused_model,
)
from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.domain.http_request import LONGEST_URL, MOST_HEADERS, MOST_KEYS
from cadenza.domain.text_patterns import A_URL, WITHOUT_CONTROL
from cadenza.engine.agents.schedules import EVERY_MINUTE
from cadenza.operations.access.key_tokens import new_key
from cadenza.operations.agents.schedules import user_of
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Id, Listed, Name, Paged, Put, Whole, ZoneName, split_page
from cadenza.operations.long_pages import one_more, read_page
from cadenza.operations.operation import CREATED, NO_CONTENT, Command, Nothing, View, operation
from cadenza.ports.catalog import Page

LONGEST_TOKEN_S = 86_400
Instructions = Annotated[
    str, StringConstraints(strict=True, pattern=WITHOUT_CONTROL, max_length=LONGEST_INSTRUCTIONS)
]


class OneUser(Command):
    """The user who is meant."""

    user_id: Id


class PutUser(OneUser, Put):
    """A user, all of it: what is left out is not set."""

    timezone: ZoneName | None = None
    """An IANA time zone, in which moments without an offset are meant."""


class UserView(View):
    """A user."""

    id: str
    timezone: str | None
    created_at: datetime | None

    @classmethod
    def of(cls, user: User) -> Self:
        """The view of a user."""
        return cls(id=user.id, timezone=user.timezone, created_at=user.created_at)


class UsersPage(Listed[UserView]):
    """A page of users."""


class CreateUserToken(OneUser):
    """For whom, and for how long."""

    ttl_seconds: Annotated[int, Whole(1, LONGEST_TOKEN_S)] = 3_600


class UserTokenView(View):
    """A token that speaks for one user alone; it is shown this once."""

    user_id: str
    token: str
    """What goes behind `Authorization: Bearer`, or into the hello of a socket."""
    expires_at: datetime


class OneAgent(Command):
    """The agent that is meant."""

    agent_id: Id


class AgentTarget(Command):
    """Where the turns of an HTTP agent are sent. `${env:NAME}` and `${secret:NAME}` stand for secrets."""

    url: Annotated[str, Field(strict=True, max_length=LONGEST_URL, pattern=A_URL)]
    headers: Annotated[dict[str, str], Field(max_length=MOST_HEADERS)] = {}
    signing: Annotated[list[str], Field(max_length=MOST_KEYS)] = []
    """References to signing keys, the current one first; each signs, so that keys can overlap."""


class PutAgent(OneAgent, Put):
    """An agent, all of it: what is left out is not set."""

    name: Name
    instructions: Instructions = ""
    """What it is for and how it speaks, beside what every agent is taught."""
    model: Name | None = None
    """A `provider:model` that the settings allow, or `offline`; if left out, that of the settings, if any."""
    runtime: Runtime = Runtime.MODEL
    """`model`: Cadenza answers. `http`: a service gets each turn. `pull`: processes take turns."""
    target: AgentTarget | None = None
    """Where the turns of an HTTP agent are sent."""


class AgentView(View):
    """An agent."""

    id: str
    name: str
    instructions: str
    model: str | None
    runtime: Runtime
    target: AgentTarget | None
    created_at: datetime | None

    @classmethod
    def of(cls, agent: Agent) -> Self:
        """The view of an agent."""
        return cls(
            id=agent.id,
            name=agent.name,
            instructions=agent.instructions,
            model=agent.model,
            runtime=agent.runtime,
            target=_target_view(agent),
            created_at=agent.created_at,
        )


def _target_view(agent: Agent) -> AgentTarget | None:
    target = agent.target
    if target is None:
        return None
    return AgentTarget(url=target.url, headers=dict(target.headers), signing=list(target.signing))


class AgentsPage(Listed[AgentView]):
    """A page of agents."""


@operation("PUT /v1/users/{user_id}", Scope.WRITE)
async def put_user(context: RequestContext, command: PutUser) -> UserView:
    """Create or replace a user."""
    if command.timezone is not None:
        context.dependencies.cron.check(EVERY_MINUTE, command.timezone)
    user = User(
        id=command.user_id,
        tenant_id=context.tenant_id,
        timezone=command.timezone,
        created_at=context.dependencies.clock.now(),
    )
    await command.refuse_existing(f"a user {user.id}", partial(context.store.users.user, user.key))
    return UserView.of(await context.store.users.put_user(user))


@operation("GET /v1/users", Scope.READ)
async def list_users(context: RequestContext, command: Paged) -> UsersPage:
    """List users, in the order of their ids."""
    users, more = split_page(
        await context.store.users.users(context.tenant_id, command.page()), command.limit
    )
    return UsersPage(items=[UserView.of(one) for one in users], next_cursor=users[-1].id if more else None)


@operation("GET /v1/users/{user_id}", Scope.READ, user=True)
async def get_user(context: RequestContext, command: OneUser) -> UserView:
    """Show one user."""
    return UserView.of(await context.store.users.user(user_of(context, command.user_id)))


@operation("DELETE /v1/users/{user_id}", Scope.WRITE, status=NO_CONTENT)
async def delete_user(context: RequestContext, command: OneUser) -> Nothing:
    """Delete a user and all data of the user: schedules, conversations, messages, tokens."""
    await context.store.users.remove_user(user_of(context, command.user_id))
    return Nothing()


@operation("POST /v1/users/{user_id}/token", Scope.WRITE, status=CREATED, agent=False, shown_once=True)
async def create_user_token(context: RequestContext, command: CreateUserToken) -> UserTokenView:
    """Create a short-lived token for this user only. It is shown only in this answer."""
    user = await context.store.users.user(user_of(context, command.user_id))
    expires_at = context.dependencies.clock.now() + timedelta(seconds=command.ttl_seconds)
    _, token = await new_key(
        context, name=f"user {user.id}"[:200], scopes=[Scope.WRITE], expires_at=expires_at, user_id=user.id
    )
    return UserTokenView(user_id=user.id, token=token, expires_at=expires_at)


@operation("PUT /v1/agents/{agent_id}", Scope.WRITE)
async def put_agent(context: RequestContext, command: PutAgent) -> AgentView:
    """Create or replace an agent."""
    refused = refused_model(command.model, context.dependencies.models)
    if refused is not None:
        raise InvalidRequest(refused, "model")
    target = command.target
    agent = Agent(
        id=command.agent_id,
        tenant_id=context.tenant_id,
        created_at=context.dependencies.clock.now(),
        target=None if target is None else agent_target(**target.model_dump()),
        **command.model_dump(exclude={"agent_id", "target", "only_new"}),
    )
    find = partial(context.store.agents.agent, AgentKey(agent.tenant_id, agent.id))
    await command.refuse_existing(f"an agent {agent.id}", find)
    before = None
    with suppress(NotFound):
        before = await find()
    context.trail.note("agent", agent.id, before=before, after=agent)
    return AgentView.of(await context.store.agents.put_agent(agent))


@operation("GET /v1/agents", Scope.READ)
async def list_agents(context: RequestContext, command: Paged) -> AgentsPage:
    """List agents, in the order of their ids."""

    async def find(page: Page) -> list[Agent]:
        return await context.store.agents.agents(context.tenant_id, page)

    page = Page(command.limit, command.cursor)
    agents, cursor = await read_page(one_more(find), page, lambda one: len(one.instructions))
    return AgentsPage(items=[AgentView.of(one) for one in agents], next_cursor=cursor)


@operation("GET /v1/agents/{agent_id}", Scope.READ)
async def get_agent(context: RequestContext, command: OneAgent) -> AgentView:
    """Show one agent."""
    return AgentView.of(await context.store.agents.agent(AgentKey(context.tenant_id, command.agent_id)))


@operation("DELETE /v1/agents/{agent_id}", Scope.WRITE, status=NO_CONTENT)
async def delete_agent(context: RequestContext, command: OneAgent) -> Nothing:
    """Delete an agent with its schedules and conversations; its undelivered messages stay."""
    await context.store.agents.remove_agent(AgentKey(context.tenant_id, command.agent_id))
    return Nothing()


PEOPLE = (
    put_user,
    list_users,
    get_user,
    delete_user,
    create_user_token,
    put_agent,
    list_agents,
    get_agent,
    delete_agent,
)
