"""Users and agents, as a store keeps them."""

from datetime import date
from typing import NamedTuple, Protocol

from cadenza.domain.agents.users import Agent, AgentKey, User, UserKey
from cadenza.ports.catalog import FIRST_PAGE, Page


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
