"""Agent runtimes and tools, and the stores of users, agents, conversations, deliveries and schedules."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple, Protocol

from cadenza.domain.access.key import Caller
from cadenza.domain.agents.conversation import ConversationKey, Message, OriginKind, Turn
from cadenza.domain.agents.delivery import Delivery, Missed, SocketMessage
from cadenza.domain.agents.users import Agent, AgentKey, User, UserKey
from cadenza.domain.json_values import Json
from cadenza.domain.planning.analysis import Tokens
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.ports.alerting import SocketReservation
from cadenza.ports.catalog import FIRST_PAGE, Page

CallTool = Callable[[str, Mapping[str, Any]], Awaitable[Json]]
"""Calls a tool by its name. A CadenzaError is a refusal, whose message the agent reads."""


class AgentTool(NamedTuple):
    """A tool as an agent sees it."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The message that an agent answers, with everything it is given for that."""

    now: datetime
    user: User
    agent: Agent
    message: Message
    """As it is stored. Its origin, and not its text, decides whether a schedule started the turn."""
    words: str
    """Its text without the prefix that marks a scheduled message."""
    history: Sequence[Message] = ()
    """Earlier messages, oldest first."""
    tools: Sequence[AgentTool] = ()
    """The tools of this turn; no message can add to them."""
    most_tokens: int | None = None
    """How many tokens the user may still spend today; None if there is no limit."""

    @property
    def scheduled(self) -> bool:
        """Whether the turn was started by a schedule or the daily runner, and not by the user."""
        return self.message.origin.kind is not OriginKind.USER


class Reply(NamedTuple):
    """The agent's answer."""

    messages: Sequence[SocketMessage] = ()
    tokens: Tokens = Tokens()
    error: str | None = None
    """Why there is no answer; its tokens count all the same."""


class AgentRuntime(Protocol):
    """Produces an agent's answers."""

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        """The agent's answer to one message, after any calls of tools.

        A failure of the model or its provider is a reply with an error. A turn takes a
        bounded number of steps and tokens, and has effects through tools alone.
        """
        ...


class Tools(Protocol):
    """The tools of agents: operations that a user may call, called on behalf of that user."""

    def offered(self, caller: Caller) -> Sequence[AgentTool]:
        """The tools that an agent may call on behalf of this caller's user."""
        ...

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Json:
        """Call a tool; a CadenzaError if it does not exist or refuses."""
        ...


class AgentUsage(NamedTuple):
    """The usage of turns: how many a schedule or the daily runner started, and the tokens of all."""

    fires: int = 0
    tokens: int = 0


class UserStore(Protocol):
    """Users of agents."""

    async def put_user(self, user: User) -> User:
        """Store a user, new or changed, and return it; an existing one keeps its `created_at`."""
        ...

    async def user(self, key: UserKey) -> User:
        """The user; NotFound if the tenant has none under this id."""
        ...

    async def users(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[User]:
        """A tenant's users, in the order of their ids."""
        ...

    async def remove_user(self, key: UserKey) -> None:
        """Delete a user with everything that is theirs, in one commit; NotFound if there is none.

        That is their schedules with runs, hints and alerts, conversations, deliveries,
        counters, tokens, and stored responses to requests about them. A turn that is under
        way then cannot be committed.
        """
        ...

    async def usage_of_user(self, key: UserKey, day: date) -> AgentUsage:
        """The usage of a user's turns that ended on a UTC day."""
        ...

    async def usage_of_users(self, tenant_id: str, day: date) -> AgentUsage:
        """The usage of all turns of a tenant's users that ended on a UTC day."""
        ...


class AgentStore(Protocol):
    """Agents."""

    async def put_agent(self, agent: Agent) -> Agent:
        """Store an agent, new or changed, and return it; an existing one keeps its `created_at`."""
        ...

    async def agent(self, key: AgentKey) -> Agent:
        """The agent; NotFound if the tenant has none under this id."""
        ...

    async def agents(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Agent]:
        """A tenant's agents, in the order of their ids."""
        ...

    async def remove_agent(self, key: AgentKey) -> None:
        """Delete an agent with its schedules and conversations, in one commit; NotFound if there is none.

        Its undelivered messages stay.
        """
        ...


class ConversationStore(Protocol):
    """Messages of conversations in commit order, and the lock that allows one turn at a time."""

    async def begin_turn(self, key: ConversationKey, *, token: str, now: datetime, until: datetime) -> bool:
        """Acquire the turn lock until a moment; False while another token holds it.

        Of any number of callers, in all processes, one holds it. A lock whose lease has
        expired can be acquired. NotFound if there is no such user or agent.
        """
        ...

    async def renew_turn(self, key: ConversationKey, *, token: str, until: datetime) -> bool:
        """Extend the lease of the turn lock; False if another token holds it by now."""
        ...

    async def end_turn(self, key: ConversationKey, *, token: str) -> None:
        """Release the turn lock without a commit; does nothing if another token holds it."""
        ...

    async def commit_turn(self, turn: Turn) -> list[Delivery] | None:
        """Store a turn's messages, deliveries and usage, and release the turn lock, in one commit.

        Returns the deliveries, and notifies the subscribers of their user. None, with nothing
        stored, if another token holds the lock by now or the user was deleted. A turn
        without a token needs no lock. A turn with a firing is committed once.
        """
        ...

    async def context(self, key: ConversationKey, limit: int) -> list[Message]:
        """The newest messages, oldest first; turns that began before a reset are left out."""
        ...

    async def messages(self, key: ConversationKey, page: Page = FIRST_PAGE) -> list[Message]:
        """All messages, newest first; a page continues after the id of a message."""
        ...

    async def reset_context(self, user: UserKey, now: datetime) -> None:
        """Reset the context of the user's conversations: turns that began before are left out of it."""
        ...

    async def forget_messages(self, before: datetime) -> int:
        """Delete earlier messages and usage; returns the number of messages."""
        ...


Callback = Callable[[], None]


class DeliveryStore(Protocol):
    """Deliveries, numbered for each user.

    Numbers have no gaps and become visible in order: a reader who has seen one never
    finds an earlier one later.
    """

    async def deliveries(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int
    ) -> list[Delivery]:
        """The user's deliveries with numbers after one, in order, but what a channel accepted."""
        ...

    async def undelivered(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int
    ) -> list[Delivery]:
        """Those of them that are not delivered yet."""
        ...

    async def reserve_for_socket(self, user: UserKey, *, now: datetime, until: datetime) -> SocketReservation:
        """Leave the user's messages to their sockets, unless a channel is sending one of them.

        No channel is sent any for the first half of the time until then at least.
        """
        ...

    async def missed(self, user: UserKey) -> Missed:
        """How many different firings have undelivered messages that no socket was sent, and what expired."""
        ...

    async def mark_sent(self, user: UserKey, upto: int, *, expired: int = 0) -> None:
        """A socket of the user was sent everything up to a number, and was told of so many expired messages.

        A number that is not higher than before changes nothing.
        """
        ...

    async def acknowledge(self, user: UserKey, upto: int) -> int:
        """Mark everything up to a number as delivered; returns how many were not before."""
        ...

    async def last_seqs(self, users: Collection[UserKey]) -> Mapping[UserKey, int]:
        """The number of each user's last delivery, 0 if there is none; deleted users are left out."""
        ...

    def on_new_delivery(self, user: UserKey, callback: Callback) -> Callback:
        """Call back whenever the user has a new delivery, committed by any process that can notify this one.

        The returned function unsubscribes. A notification may be lost, so callers also poll.
        """
        ...

    async def forget_deliveries(
        self, *, delivered_before: datetime, undelivered_before: datetime | None = None
    ) -> int:
        """Remove old delivered messages and, if asked, old undelivered ones; returns how many of the latter.

        Those have expired, and are counted for their user until the user is told.
        """
        ...


ChooseSchedule = Callable[[Sequence[Endpoint]], Endpoint]
"""Decides which schedule to store, given the user's active ones: one of them, or a new one; it may raise."""


class ScheduleStore(Protocol):
    """Agent schedules, by user."""

    async def add_schedule(self, user: UserKey, decide: ChooseSchedule) -> Endpoint:
        """Store the endpoint that is decided on, in one commit; an existing one stays as it is.

        Decisions about one user happen one after the other. NotFound if there is no
        such user, Conflict if the new id is taken. A new one wakes the workers.
        """
        ...

    async def schedules(
        self, user: UserKey, *, active_only: bool = True, page: Page = FIRST_PAGE
    ) -> list[Endpoint]:
        """A user's schedules, in the order of their ids; finished and disabled ones if asked for.

        Deleted ones are left out.
        """
        ...
