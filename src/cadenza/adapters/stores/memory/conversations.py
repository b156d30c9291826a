"""Conversations and what is owed to users, in dictionaries."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, date, datetime
from itertools import islice
from threading import RLock
from typing import NamedTuple

from cadenza.adapters.stores.common import missing
from cadenza.adapters.stores.memory.wakeup import Doorbells, Ring
from cadenza.domain.agents.conversation import ConversationKey, Message, Turn, deliveries_of
from cadenza.domain.agents.delivery import Delivery, count_firings, is_undelivered
from cadenza.domain.agents.users import Agent, AgentKey, User, UserKey
from cadenza.ports.agents import AgentUsage
from cadenza.ports.catalog import FIRST_PAGE, Page


class _Said(NamedTuple):
    message: Message
    turn_at: datetime


class _TurnLease(NamedTuple):
    token: str
    until: datetime


class MemoryConversations:
    """What was said, who may speak, and what is owed."""

    _lock: RLock

    def __init__(self) -> None:
        super().__init__()
        self._users: dict[UserKey, User] = {}
        self._agents: dict[AgentKey, Agent] = {}
        self._said: dict[ConversationKey, list[_Said]] = defaultdict(list)
        self._speaking: dict[ConversationKey, _TurnLease] = {}
        self._reset_at: dict[UserKey, datetime] = {}
        self._pending: dict[UserKey, list[Delivery]] = defaultdict(list)
        self._last_seq: dict[UserKey, int] = defaultdict(int)
        self._agent_spent: dict[tuple[UserKey, date], AgentUsage] = {}
        self._doorbells = Doorbells()

    async def begin_turn(self, key: ConversationKey, *, token: str, now: datetime, until: datetime) -> bool:
        with self._lock:
            if key.user not in self._users:
                raise missing("user", key.user.id)
            if key.agent not in self._agents:
                raise missing("agent", key.agent.id)
            speaking = self._speaking.get(key)
            if speaking is not None and speaking.token != token and speaking.until > now:
                return False
            self._speaking[key] = _TurnLease(token, until)
            return True

    async def renew_turn(self, key: ConversationKey, *, token: str, until: datetime) -> bool:
        with self._lock:
            if not self._has_turn(key, token):
                return False
            self._speaking[key] = _TurnLease(token, until)
            return True

    async def end_turn(self, key: ConversationKey, *, token: str) -> None:
        with self._lock:
            if self._has_turn(key, token):
                del self._speaking[key]

    async def commit_turn(self, turn: Turn) -> list[Delivery] | None:
        with self._lock:
            key = turn.conversation
            if key.user not in self._users or (turn.token and not self._has_turn(key, turn.token)):
                return None
            pending = self._pending.get(key.user, ())
            again = [one for one in pending if turn.firing is not None and one.firing == turn.firing]
            if again:
                self._end(turn)
                return again
            return self._speak(turn)

    async def context(self, key: ConversationKey, limit: int) -> list[Message]:
        with self._lock:
            since = self._reset_at.get(key.user)
            newest = self._said.get(key, [])[-limit:]
            return [one.message for one in newest if since is None or one.turn_at >= since]

    async def messages(self, key: ConversationKey, page: Page = FIRST_PAGE) -> list[Message]:
        with self._lock:
            newest = [one.message for one in reversed(self._said.get(key, ()))]
        ids = [message.id for message in newest]
        start = ids.index(page.after) + 1 if page.after in ids else 0
        return newest[start : start + page.limit]

    async def reset_context(self, user: UserKey, now: datetime) -> None:
        with self._lock:
            self._reset_at[user] = max(now, self._reset_at.get(user, now))

    async def forget_messages(self, before: datetime) -> int:
        with self._lock:
            gone = 0
            for key, said in self._said.items():
                kept = [one for one in said if one.message.at >= before]
                gone += len(said) - len(kept)
                self._said[key] = kept
            for place in [place for place in self._agent_spent if place[1] < before.astimezone(UTC).date()]:
                del self._agent_spent[place]
            return gone

    async def deliveries(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int, now: datetime
    ) -> list[Delivery]:
        with self._lock:
            found = _between(self._pending.get(user, ()), after, upto)
            return list(islice((one for one in found if one.expires_at > now), limit))

    async def undelivered(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int, now: datetime
    ) -> list[Delivery]:
        with self._lock:
            found = _between(self._pending.get(user, ()), after, upto)
            return list(islice((one for one in found if is_undelivered(one, now)), limit))

    async def undelivered_firings(self, user: UserKey, now: datetime) -> int:
        with self._lock:
            return count_firings(one for one in self._pending.get(user, ()) if is_undelivered(one, now))

    async def acknowledge(self, user: UserKey, upto: int) -> int:
        with self._lock:
            pending = self._pending.get(user, [])
            told = [place for place, one in enumerate(pending) if one.seq <= upto and not one.delivered]
            for place in told:
                pending[place] = pending[place]._replace(delivered=True)
            return len(told)

    async def last_seqs(self, users: Collection[UserKey]) -> Mapping[UserKey, int]:
        with self._lock:
            return {user: self._last_seq.get(user, 0) for user in users if user in self._users}

    def on_new_delivery(self, user: UserKey, ring: Ring) -> Ring:
        return self._doorbells.listen(user, ring)

    async def forget_deliveries(self, *, delivered_before: datetime, now: datetime) -> int:
        with self._lock:
            gone = 0
            for user, pending in self._pending.items():
                kept = [one for one in pending if _is_kept(one, delivered_before, now)]
                gone += len(pending) - len(kept)
                self._pending[user] = kept
            return gone

    def _speak(self, turn: Turn) -> list[Delivery]:
        """Keep what a turn leaves, if its user is still there; who calls holds the lock."""
        key = turn.conversation
        if key.user not in self._users:
            return []
        self._end(turn)
        self._said[key] += [_Said(message, turn.began_at) for message in turn.messages]
        deliveries = deliveries_of(turn, self._last_seq[key.user])
        self._pending[key.user] += deliveries
        self._last_seq[key.user] += len(deliveries)
        place = (key.user, turn.ended_at.astimezone(UTC).date())
        spent = self._agent_spent.get(place, AgentUsage())
        fires = spent.fires + (turn.firing is not None)
        self._agent_spent[place] = AgentUsage(fires, spent.tokens + turn.tokens)
        if deliveries:
            self._doorbells.ring([key.user])
        return deliveries

    def _end(self, turn: Turn) -> None:
        if turn.token is not None and self._has_turn(turn.conversation, turn.token):
            del self._speaking[turn.conversation]

    def _has_turn(self, key: ConversationKey, token: str) -> bool:
        speaking = self._speaking.get(key)
        return speaking is not None and speaking.token == token

    def _forget_user(self, user: UserKey) -> None:
        self._forget_conversations(lambda key: key.user == user)
        self._pending.pop(user, None)
        self._last_seq.pop(user, None)
        self._reset_at.pop(user, None)
        for place in [place for place in self._agent_spent if place[0] == user]:
            del self._agent_spent[place]

    def _forget_conversations(self, wanted: Callable[[ConversationKey], bool]) -> None:
        for key in [key for key in {*self._said, *self._speaking} if wanted(key)]:
            self._said.pop(key, None)
            self._speaking.pop(key, None)


def _between(pending: Iterable[Delivery], after: int, upto: int | None) -> Iterable[Delivery]:
    return (one for one in pending if after < one.seq and (upto is None or one.seq <= upto))


def _is_kept(delivery: Delivery, delivered_before: datetime, now: datetime) -> bool:
    return delivery.expires_at > now and not (delivery.delivered and delivery.owed_at < delivered_before)
