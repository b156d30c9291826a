"""Users, agents and the schedules of users, in dictionaries."""

from datetime import date
from itertools import islice

from cadenza.adapters.stores.common import missing, still_as_old, still_the_agent, taken
from cadenza.adapters.stores.memory.conversations import MemoryConversations
from cadenza.adapters.stores.memory.tables import Shelves
from cadenza.domain.agents.schedule import belongs_to, is_active
from cadenza.domain.agents.users import Agent, AgentKey, User, UserKey
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.ports.access import KeptKey
from cadenza.ports.agents import AgentUsage, Decide
from cadenza.ports.catalog import FIRST_PAGE, Page


class MemoryPeople(MemoryConversations, Shelves):
    """Everybody who talks."""

    _keys: dict[str, KeptKey]

    async def put_user(self, user: User) -> User:
        with self._lock:
            kept = still_as_old(user, self._users.get(user.key))
            self._users[user.key] = kept
            return kept

    async def user(self, key: UserKey) -> User:
        with self._lock:
            return self._get_user(key)

    async def users(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[User]:
        with self._lock:
            mine = [user for key, user in sorted(self._users.items()) if key.tenant_id == tenant_id]
        return list(islice((user for user in mine if user.id > (page.after or "")), page.limit))

    async def remove_user(self, key: UserKey) -> None:
        with self._lock:
            self._get_user(key)
            for endpoint in self._prompting(key.tenant_id):
                if belongs_to(endpoint, key):
                    self._drop(endpoint.key)
            self._forget_user(key)
            for kept in [one.key for one in self._keys.values()]:
                if (kept.tenant_id, kept.user_id) == key:
                    del self._keys[kept.id]
            del self._users[key]

    async def usage_of_user(self, key: UserKey, day: date) -> AgentUsage:
        with self._lock:
            return self._agent_spent.get((key, day), AgentUsage())

    async def usage_of_users(self, tenant_id: str, day: date) -> AgentUsage:
        with self._lock:
            ours = [
                spent
                for (user, on), spent in self._agent_spent.items()
                if (user.tenant_id, on) == (tenant_id, day)
            ]
        return AgentUsage(sum(one.fires for one in ours), sum(one.tokens for one in ours))

    async def put_agent(self, agent: Agent) -> Agent:
        with self._lock:
            kept = still_the_agent(agent, self._agents.get(agent.key))
            self._agents[agent.key] = kept
            return kept

    async def agent(self, key: AgentKey) -> Agent:
        with self._lock:
            return self._get_agent(key)

    async def agents(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Agent]:
        with self._lock:
            mine = [agent for key, agent in sorted(self._agents.items()) if key.tenant_id == tenant_id]
        return list(islice((agent for agent in mine if agent.id > (page.after or "")), page.limit))

    async def remove_agent(self, key: AgentKey) -> None:
        with self._lock:
            self._get_agent(key)
            for endpoint in self._prompting(key.tenant_id):
                if isinstance(endpoint.target, PromptTarget) and endpoint.target.agent_id == key.id:
                    self._drop(endpoint.key)
            self._forget_conversations(lambda conversation: conversation.agent == key)
            del self._agents[key]

    async def add_schedule(self, user: UserKey, decide: Decide) -> Endpoint:
        with self._lock:
            self._get_user(user)
            active = {one.key: one for one in self._schedules(user) if is_active(one)}
            decided = decide(list(active.values()))
            if decided.key in active:
                return active[decided.key]
            if decided.key in self._endpoints:
                raise taken("endpoint", decided.id)
            self._keep(decided)
            return self._endpoints[decided.key]

    async def schedules(
        self, user: UserKey, *, active_only: bool = True, page: Page = FIRST_PAGE
    ) -> list[Endpoint]:
        with self._lock:
            found = [one for one in self._schedules(user) if is_active(one) or not active_only]
        return [one for one in found if one.id > (page.after or "")][: page.limit]

    def _schedules(self, user: UserKey) -> list[Endpoint]:
        return [one for one in self._prompting(user.tenant_id) if belongs_to(one, user) and not one.archived]

    def _prompting(self, tenant_id: str) -> list[Endpoint]:
        return [one for one in self._of_tenant(tenant_id) if isinstance(one.target, PromptTarget)]

    def _drop(self, key: EndpointKey) -> None:
        """Forget an endpoint as if it had never been."""
        self._due.put(key, None, 0)
        self._sweeps.put(key, None, 0)
        for shelf in (self._endpoints, self._rank, self._runs, self._hints):
            shelf.pop(key, None)

    def _get_user(self, key: UserKey) -> User:
        try:
            return self._users[key]
        except KeyError:
            raise missing("user", key.id) from None

    def _get_agent(self, key: AgentKey) -> Agent:
        try:
            return self._agents[key]
        except KeyError:
            raise missing("agent", key.id) from None
