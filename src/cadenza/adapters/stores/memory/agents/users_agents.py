"""Users, agents and the schedules of users."""

from datetime import date
from itertools import islice

from cadenza.adapters.stores.common import (
    agent_with_first_creation,
    already_exists,
    not_found,
    user_with_first_creation,
)
from cadenza.adapters.stores.memory.agents.conversations import forget_conversations
from cadenza.adapters.stores.memory.daily.users import forget_person
from cadenza.adapters.stores.memory.monitoring.conditions import drop_messages
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.agents.schedule import belongs_to, is_active
from cadenza.domain.agents.users import Agent, AgentKey, User, UserKey
from cadenza.domain.monitoring.alert import about_endpoint
from cadenza.domain.monitoring.condition import endpoint_condition
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.ports.access import user_reply_prefix
from cadenza.ports.agents import AgentUsage, ChooseSchedule
from cadenza.ports.catalog import FIRST_PAGE, Page


class MemoryUsers:
    """Users and what their turns cost."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def put_user(self, user: User) -> User:
        with self._lock:
            stored = user_with_first_creation(user, self._tables.users.get(user.key))
            self._tables.users[user.key] = stored
            return stored

    async def user(self, key: UserKey) -> User:
        with self._lock:
            return _user(self._tables, key)

    async def users(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[User]:
        with self._lock:
            mine = [user for key, user in sorted(self._tables.users.items()) if key.tenant_id == tenant_id]
        return list(islice((user for user in mine if user.id > (page.after or "")), page.limit))

    async def remove_user(self, key: UserKey) -> None:
        with self._lock:
            _user(self._tables, key)
            for endpoint in _prompting(self._tables, key.tenant_id):
                if belongs_to(endpoint, key):
                    _forget_endpoint(self._tables, endpoint.key)
            _forget_user(self._tables, key)

    async def usage_of_user(self, key: UserKey, day: date) -> AgentUsage:
        with self._lock:
            return self._tables.agent_spent.get((key, day), AgentUsage())

    async def usage_of_users(self, tenant_id: str, day: date) -> AgentUsage:
        with self._lock:
            ours = [
                spent
                for (user, on), spent in self._tables.agent_spent.items()
                if (user.tenant_id, on) == (tenant_id, day)
            ]
        return AgentUsage(sum(one.fires for one in ours), sum(one.tokens for one in ours))


class MemoryAgents:
    """Agents."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def put_agent(self, agent: Agent) -> Agent:
        with self._lock:
            stored = agent_with_first_creation(agent, self._tables.agents.get(agent.key))
            self._tables.agents[agent.key] = stored
            return stored

    async def agent(self, key: AgentKey) -> Agent:
        with self._lock:
            return _agent(self._tables, key)

    async def agents(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Agent]:
        with self._lock:
            mine = [agent for key, agent in sorted(self._tables.agents.items()) if key.tenant_id == tenant_id]
        return list(islice((agent for agent in mine if agent.id > (page.after or "")), page.limit))

    async def remove_agent(self, key: AgentKey) -> None:
        with self._lock:
            _agent(self._tables, key)
            for endpoint in _prompting(self._tables, key.tenant_id):
                if isinstance(endpoint.target, PromptTarget) and endpoint.target.agent_id == key.id:
                    _forget_endpoint(self._tables, endpoint.key)
            forget_conversations(self._tables, lambda conversation: conversation.agent == key)
            del self._tables.agents[key]


class MemorySchedules:
    """Endpoints that are schedules of a user."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def add_schedule(self, user: UserKey, decide: ChooseSchedule) -> Endpoint:
        with self._lock:
            _user(self._tables, user)
            active = {one.key: one for one in self._schedules(user) if is_active(one)}
            decided = decide(list(active.values()))
            if decided.key in active:
                return active[decided.key]
            if decided.key in self._tables.endpoints:
                raise already_exists("endpoint", decided.id)
            self._tables.add_endpoint(decided)
            return self._tables.endpoints[decided.key]

    async def schedules(
        self, user: UserKey, *, active_only: bool = True, page: Page = FIRST_PAGE
    ) -> list[Endpoint]:
        with self._lock:
            found = [one for one in self._schedules(user) if is_active(one) or not active_only]
        return [one for one in found if one.id > (page.after or "")][: page.limit]

    def _schedules(self, user: UserKey) -> list[Endpoint]:
        return [
            one
            for one in _prompting(self._tables, user.tenant_id)
            if belongs_to(one, user) and not one.archived
        ]


def _user(tables: MemoryTables, key: UserKey) -> User:
    try:
        return tables.users[key]
    except KeyError:
        raise not_found("user", key.id) from None


def _agent(tables: MemoryTables, key: AgentKey) -> Agent:
    try:
        return tables.agents[key]
    except KeyError:
        raise not_found("agent", key.id) from None


def _prompting(tables: MemoryTables, tenant_id: str) -> list[Endpoint]:
    return [one for one in tables.endpoints_of(tenant_id) if isinstance(one.target, PromptTarget)]


def _forget_user(tables: MemoryTables, user: UserKey) -> None:
    """Delete a user with everything of theirs but their schedules."""
    forget_conversations(tables, lambda key: key.user == user)
    for table in (
        tables.deliveries,
        tables.last_seqs,
        tables.sent_seqs,
        tables.expired_messages,
        tables.context_resets,
        tables.user_channels,
        tables.users,
    ):
        table.pop(user, None)
    for place in [place for place in tables.agent_spent if place[0] == user]:
        del tables.agent_spent[place]
    forget_person(tables, user)
    theirs = user_reply_prefix(user.id)
    for tenant_id, key in list(tables.replies):
        if tenant_id == user.tenant_id and key.startswith(theirs):
            del tables.replies[tenant_id, key]
    for stored in [one.key for one in tables.keys.values()]:
        if (stored.tenant_id, stored.user_id) == user:
            tables.drop_key(stored.id)


def _forget_endpoint(tables: MemoryTables, key: EndpointKey) -> None:
    """Delete an endpoint with its runs and hints, its alerts, and what planners know of it."""
    tables.due.remove(key)
    tables.sweeps.put(key, None, 0)
    for table in (tables.endpoints, tables.ranks, tables.runs, tables.hints, tables.analyses):
        table.pop(key, None)
    for look in [look for look in tables.looks if look[0] == key]:
        del tables.looks[look]
    for note in [note for note in tables.notes if note[1] == key]:
        del tables.notes[note]
    begin = about_endpoint(*key)
    for name, one in list(tables.alerts.items()):
        if name.startswith(begin) and one.alert.facts.get("endpoint_id") == key.id:
            del tables.alerts[name]
    condition = endpoint_condition(*key)
    tables.conditions.pop(condition, None)
    drop_messages(tables, condition)
