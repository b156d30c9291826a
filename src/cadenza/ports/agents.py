"""What answers users, and what it may use while it does."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple, Protocol

from cadenza.domain.access.key import Caller
from cadenza.domain.agents.conversation import ConversationKey, Message, OriginKind, Turn
from cadenza.domain.agents.delivery import Delivery, SocketMessage
from cadenza.domain.agents.users import Agent, AgentKey, User, UserKey
from cadenza.domain.planning.analysis import Tokens
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.target import Json
from cadenza.ports.catalog import FIRST_PAGE, Page

CallTool = Callable[[str, Mapping[str, Any]], Awaitable[Json]]
"""Calls a tool by its name. A CadenzaError is a refusal, whose sentence is for the agent to read."""


class Tool(NamedTuple):
    """A tool as it is shown to an agent."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What an agent is to answer, and all that it is told."""

    now: datetime
    user: User
    agent: Agent
    message: Message
    """As it stands in the conversation. Its origin, and not its text, tells whether a schedule fired."""
    words: str
    """What was said, without the mark of a schedule."""
    history: Sequence[Message] = ()
    """What was said before, oldest first."""
    tools: Sequence[Tool] = ()
    """What may be called in this turn; nothing that is said in it adds to them."""
    most_tokens: int | None = None
    """What the user's day leaves."""

    @property
    def fired(self) -> bool:
        """Did something else than the user start this turn?"""
        return self.message.origin.kind is not OriginKind.USER


class Reply(NamedTuple):
    """How a turn ended."""

    messages: Sequence[SocketMessage] = ()
    tokens: Tokens = Tokens()
    error: str | None = None
    """Why it came to nothing; what it spent is counted all the same."""


class AgentRuntime(Protocol):
    """Lets an agent answer."""

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        """The agent's answer to one message, after whatever tools it called.

        What a model or its provider does wrong is an answer with an error. It takes a
        bounded number of steps and tokens, and acts through tools alone.
        """
        ...


class Tools(Protocol):
    """The tools of agents: what users may ask for themselves, asked for in their name."""

    def offered(self, caller: Caller) -> Sequence[Tool]:
        """What an agent may use while it speaks for this caller's user."""
        ...

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Json:
        """Use a tool; a CadenzaError if there is none, or it refuses."""
        ...


class AgentSpent(NamedTuple):
    """What agents' turns came to: how often something fired, and the tokens of all turns."""

    fires: int = 0
    tokens: int = 0


class UserStore(Protocol):
    """Those to whom agents speak."""

    async def put_user(self, user: User) -> User:
        """Keep a user, new or changed, and answer it; one that is there stays as old as it is."""
        ...

    async def user(self, key: UserKey) -> User:
        """The user; NotFound if the tenant has none under this id."""
        ...

    async def users(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[User]:
        """A tenant's users, in the order of their ids."""
        ...

    async def remove_user(self, key: UserKey) -> None:
        """Forget a user with everything that is theirs, in one commit; NotFound if there is none.

        Their schedules with runs, hints and alerts, conversations, owed messages, counters,
        tokens and the replies to requests about them go. A turn that is under way leaves
        nothing: there is nobody to whom it could.
        """
        ...

    async def spent_by_user(self, key: UserKey, day: date) -> AgentSpent:
        """What a user's turns that ended on a UTC day came to."""
        ...

    async def spent_by_users(self, tenant_id: str, day: date) -> AgentSpent:
        """What the turns of all users of a tenant that ended on a UTC day came to."""
        ...


class AgentStore(Protocol):
    """Those who answer."""

    async def put_agent(self, agent: Agent) -> Agent:
        """Keep an agent, new or changed, and answer it; one that is there stays as old as it is."""
        ...

    async def agent(self, key: AgentKey) -> Agent:
        """The agent; NotFound if the tenant has none under this id."""
        ...

    async def agents(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Agent]:
        """A tenant's agents, in the order of their ids."""
        ...

    async def remove_agent(self, key: AgentKey) -> None:
        """Forget an agent with its schedules and conversations, in one commit; NotFound if there is none.

        What it owes to users stays owed.
        """
        ...


class PeopleStore(UserStore, AgentStore, Protocol):
    """Everybody who talks."""


class ConversationStore(Protocol):
    """What was said, in the order in which it was committed; and the turn: one at a time has it."""

    async def begin_turn(self, key: ConversationKey, *, token: str, now: datetime, until: datetime) -> bool:
        """Take the turn, until a moment; False while somebody else has it.

        Of any number of callers, in all processes, one has it. A turn that ran out is
        taken over. NotFound if there is no such user or agent.
        """
        ...

    async def renew_turn(self, key: ConversationKey, *, token: str, until: datetime) -> bool:
        """Have the turn for longer; False if it is somebody else's by now."""
        ...

    async def end_turn(self, key: ConversationKey, *, token: str) -> None:
        """Give the turn back with nothing said; nothing happens if it is somebody else's."""
        ...

    async def commit_turn(self, turn: Turn) -> list[Delivery] | None:
        """Keep what was said, owe what is owed, count what it cost and end the turn, in one commit.

        None, and then nothing is kept, if the turn is somebody else's by now or its
        user is gone. A turn without a token asks for no right to speak. What is owed
        rings the user's bell. A turn that carries a firing is committed once.
        """
        ...

    async def context(self, key: ConversationKey, limit: int) -> list[Message]:
        """So many of the newest messages, oldest first; turns that began before a reset are left out."""
        ...

    async def messages(self, key: ConversationKey, page: Page = FIRST_PAGE) -> list[Message]:
        """All that was said, newest first; a page goes on after the id of a message."""
        ...

    async def reset_context(self, user: UserKey, now: datetime) -> None:
        """Let the user's conversations start afresh: turns that began before are no context any more."""
        ...

    async def forget_messages(self, before: datetime) -> int:
        """Forget what was said earlier, and what it cost; how many messages it was."""
        ...


Ring = Callable[[], None]


class DeliveryStore(Protocol):
    """Messages with a number of their user's own.

    Numbers have no gaps and become visible in their order: who has read up to one
    will never find an earlier one.
    """

    async def deliveries(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int, now: datetime
    ) -> list[Delivery]:
        """The user's messages with numbers after one, in their order; what expired is left out."""
        ...

    async def owed(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int, now: datetime
    ) -> list[Delivery]:
        """Those of them that are not delivered yet."""
        ...

    async def owed_firings(self, user: UserKey, now: datetime) -> int:
        """How many different things fired whose messages are still owed."""
        ...

    async def acknowledge(self, user: UserKey, upto: int) -> int:
        """Everything up to a number is delivered; how many messages were not before."""
        ...

    async def last_seqs(self, users: Collection[UserKey]) -> Mapping[UserKey, int]:
        """The number of each user's last message, 0 if there was none; users that are gone are left out."""
        ...

    def on_owed(self, user: UserKey, ring: Ring) -> Ring:
        """Call whenever something new is owed to the user, by any process that can be heard.

        The answer ends it. A call may be lost, so whoever waits for it also looks now and then.
        """
        ...

    async def forget_deliveries(self, *, delivered_before: datetime, now: datetime) -> int:
        """Forget messages that were owed earlier and are delivered, and those that expired; how many."""
        ...


Decide = Callable[[Sequence[Endpoint]], Endpoint]
"""What is kept, given the user's active schedules: one of them, or a new one; it may refuse by raising."""


class ScheduleStore(Protocol):
    """Schedules, found by the user to whom they belong."""

    async def add_schedule(self, user: UserKey, decide: Decide) -> Endpoint:
        """Keep the endpoint that is decided on, in one commit; one that is there already stays as it is.

        Decisions about one user happen one after the other. NotFound if there is no
        such user, Conflict if the new id is taken. A new one rings the bell.
        """
        ...

    async def schedules(
        self, user: UserKey, *, active_only: bool = True, page: Page = FIRST_PAGE
    ) -> list[Endpoint]:
        """A user's schedules, in the order of their ids; those that are done or switched off if wanted.

        What was deleted is left out.
        """
        ...
