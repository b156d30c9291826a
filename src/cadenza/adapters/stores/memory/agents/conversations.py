"""Conversations, and the messages that are delivered to users."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.memory.tables import MemoryTables, StoredMessage, TurnLease
from cadenza.domain.agents.conversation import ConversationKey, Message, Turn, deliveries_of
from cadenza.domain.agents.delivery import Delivery, Missed, count_firings
from cadenza.domain.agents.users import UserKey
from cadenza.ports.agents import AgentUsage, Callback
from cadenza.ports.alerting import SocketReservation
from cadenza.ports.catalog import FIRST_PAGE, Page


class MemoryConversations:
    """Messages of conversations, and the lease of each conversation's turn."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def begin_turn(self, key: ConversationKey, *, token: str, now: datetime, until: datetime) -> bool:
        with self._lock:
            if key.user not in self._tables.users:
                raise not_found("user", key.user.id)
            if key.agent not in self._tables.agents:
                raise not_found("agent", key.agent.id)
            lease = self._tables.turn_leases.get(key)
            if lease is not None and lease.token != token and lease.until > now:
                return False
            self._tables.turn_leases[key] = TurnLease(token, until)
            return True

    async def renew_turn(self, key: ConversationKey, *, token: str, until: datetime) -> bool:
        with self._lock:
            if not has_turn(self._tables, key, token):
                return False
            self._tables.turn_leases[key] = TurnLease(token, until)
            return True

    async def end_turn(self, key: ConversationKey, *, token: str) -> None:
        with self._lock:
            if has_turn(self._tables, key, token):
                del self._tables.turn_leases[key]

    async def commit_turn(self, turn: Turn) -> list[Delivery] | None:
        with self._lock:
            key = turn.conversation
            if key.user not in self._tables.users or (
                turn.token and not has_turn(self._tables, key, turn.token)
            ):
                return None
            pending = self._tables.deliveries.get(key.user, ())
            again = [one for one in pending if turn.firing is not None and one.firing == turn.firing]
            if again:
                end_turn(self._tables, turn)
                return again
            return write_turn(self._tables, turn)

    async def context(self, key: ConversationKey, limit: int) -> list[Message]:
        with self._lock:
            since = self._tables.context_resets.get(key.user)
            newest = self._tables.messages.get(key, [])[-limit:]
            return [one.message for one in newest if since is None or one.turn_at >= since]

    async def messages(self, key: ConversationKey, page: Page = FIRST_PAGE) -> list[Message]:
        with self._lock:
            newest = [one.message for one in reversed(self._tables.messages.get(key, ()))]
        ids = [message.id for message in newest]
        start = ids.index(page.after) + 1 if page.after in ids else 0
        return newest[start : start + page.limit]

    async def reset_context(self, user: UserKey, now: datetime) -> None:
        with self._lock:
            self._tables.context_resets[user] = max(now, self._tables.context_resets.get(user, now))

    async def forget_messages(self, before: datetime) -> int:
        with self._lock:
            gone = 0
            for key, messages in self._tables.messages.items():
                recent = [one for one in messages if one.message.at >= before]
                gone += len(messages) - len(recent)
                self._tables.messages[key] = recent
            for place in [
                place for place in self._tables.agent_spent if place[1] < before.astimezone(UTC).date()
            ]:
                del self._tables.agent_spent[place]
            return gone


class MemoryDeliveries:
    """Messages to users, numbered for each user."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def deliveries(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int
    ) -> list[Delivery]:
        with self._lock:
            found = _between(self._tables.deliveries.get(user, ()), after, upto)
            return list(islice((one for one in found if one.channel is None), limit))

    async def undelivered(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int
    ) -> list[Delivery]:
        with self._lock:
            found = _between(self._tables.deliveries.get(user, ()), after, upto)
            return list(islice((one for one in found if not one.delivered), limit))

    async def reserve_for_socket(self, user: UserKey, *, now: datetime, until: datetime) -> SocketReservation:
        with self._lock:
            stored = self._tables.user_channels.get(user)
            if stored is None:
                return SocketReservation(uses_channels=False)
            if stored.claim_until is not None and stored.claim_until > now:
                return SocketReservation(uses_channels=True, sending_until=stored.claim_until)
            stored.due_at = until if stored.due_at is None else max(stored.due_at, until)
            stored.claim_token = stored.claim_until = None
            return SocketReservation(uses_channels=True)

    async def missed(self, user: UserKey) -> Missed:
        with self._lock:
            unsent = _between(self._tables.deliveries.get(user, ()), self._tables.sent_seqs[user], None)
            firings = count_firings(one for one in unsent if not one.delivered)
            return Missed(firings, self._tables.expired_messages[user])

    async def mark_sent(self, user: UserKey, upto: int, *, expired: int = 0) -> None:
        with self._lock:
            if user in self._tables.users:
                sent, before = self._tables.sent_seqs, self._tables.expired_messages
                sent[user] = max(sent[user], upto)
                before[user] = max(0, before[user] - expired)

    async def acknowledge(self, user: UserKey, upto: int) -> int:
        with self._lock:
            pending = self._tables.deliveries.get(user, [])
            acknowledged = [
                place for place, one in enumerate(pending) if one.seq <= upto and not one.delivered
            ]
            for place in acknowledged:
                pending[place] = pending[place]._replace(delivered=True)
            return len(acknowledged)

    async def last_seqs(self, users: Collection[UserKey]) -> Mapping[UserKey, int]:
        with self._lock:
            return {user: self._tables.last_seqs.get(user, 0) for user in users if user in self._tables.users}

    def on_new_delivery(self, user: UserKey, callback: Callback) -> Callback:
        return self._tables.user_wakeups.listen(user, callback)

    async def forget_deliveries(
        self, *, delivered_before: datetime, undelivered_before: datetime | None = None
    ) -> int:
        with self._lock:
            total = 0
            for user, pending in self._tables.deliveries.items():
                fresh = [one for one in pending if not (one.delivered and one.owed_at < delivered_before)]
                if undelivered_before is not None:
                    kept = [one for one in fresh if one.delivered or one.owed_at >= undelivered_before]
                    self._tables.expired_messages[user] += len(fresh) - len(kept)
                    total, fresh = total + len(fresh) - len(kept), kept
                self._tables.deliveries[user] = fresh
            return total


def write_turn(tables: MemoryTables, turn: Turn) -> list[Delivery]:
    """Write the messages, deliveries and costs of a turn, unless its user is gone; with the lock held."""
    key = turn.conversation
    if key.user not in tables.users:
        return []
    end_turn(tables, turn)
    if key.agent in tables.agents:
        tables.messages[key] += [StoredMessage(message, turn.began_at) for message in turn.messages]
    deliveries = deliveries_of(turn, tables.last_seqs[key.user])
    tables.deliveries[key.user] += deliveries
    tables.last_seqs[key.user] += len(deliveries)
    place = (key.user, turn.ended_at.astimezone(UTC).date())
    spent = tables.agent_spent.get(place, AgentUsage())
    fires = spent.fires + (turn.firing is not None)
    tables.agent_spent[place] = AgentUsage(fires, spent.tokens + turn.tokens)
    if deliveries:
        tables.user_wakeups.notify([key.user])
        stored = tables.user_channels.get(key.user)
        if stored is not None and stored.due_at is None and not turn.delivered_in_response:
            stored.due_at = turn.ended_at
    return deliveries


def end_turn(tables: MemoryTables, turn: Turn) -> None:
    """End the lease of a turn, if it still has it; with the lock held."""
    if turn.token is not None and has_turn(tables, turn.conversation, turn.token):
        del tables.turn_leases[turn.conversation]


def has_turn(tables: MemoryTables, key: ConversationKey, token: str) -> bool:
    """Is this token the one that has the turn?"""
    lease = tables.turn_leases.get(key)
    return lease is not None and lease.token == token


def forget_conversations(tables: MemoryTables, wanted: Callable[[ConversationKey], bool]) -> None:
    """Delete the messages and turns of some conversations; with the lock held."""
    for key in [key for key in {*tables.messages, *tables.turn_leases} if wanted(key)]:
        tables.messages.pop(key, None)
        tables.turn_leases.pop(key, None)


def _between(pending: Iterable[Delivery], after: int, upto: int | None) -> Iterable[Delivery]:
    return (one for one in pending if after < one.seq and (upto is None or one.seq <= upto))
