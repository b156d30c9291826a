"""Channels of users, and claims of undelivered messages for them."""

from datetime import datetime

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.memory.tables import MemoryTables, StoredChannels
from cadenza.domain.agents.channels.user_channels import NO_CHANNELS, UserChannels
from cadenza.domain.agents.delivery import Delivery, Subtitle
from cadenza.domain.agents.users import UserKey
from cadenza.ports.alerting import ChannelRule, ChannelsChange, ChannelSend, DueUser, TakenSends


class MemoryChannels:
    """Channels of users."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def channels(self, user: UserKey) -> UserChannels:
        with self._lock:
            return self._stored(user).channels

    async def amend_channels(
        self, user: UserKey, change: ChannelsChange, *, now: datetime, due_at: datetime
    ) -> UserChannels:
        with self._lock:
            stored = self._stored(user)
            stored.channels = change(stored.channels)
            if stored.claim_until is None or stored.claim_until <= now:
                stored.due_at = due_at
            self._tables.user_channels[user] = stored
            return stored.channels

    async def take_sends(self, rule: ChannelRule, *, now: datetime, token: str, limit: int) -> TakenSends:
        with self._lock:
            waiting = self._tables.user_channels.items()
            moments = [(one.due_at, user) for user, one in waiting if one.due_at is not None]
            due = [user for due_at, user in sorted(moments) if due_at <= now][:limit]
            decided = [self._decide(user, rule, token) for user in due]
            return TakenSends(len(due), [send for send in decided if send is not None])

    async def settle_send(
        self, send: ChannelSend, change: ChannelsChange, *, now: datetime, accepted: bool
    ) -> None:
        with self._lock:
            user = send.delivery.user
            if accepted:
                self._deliver(user, send)
            stored = self._tables.user_channels.get(user)
            if stored is not None and stored.claim_token == send.token:
                stored.channels = change(stored.channels)
                stored.due_at, stored.claim_token, stored.claim_until = now, None, None

    def _stored(self, user: UserKey) -> StoredChannels:
        if user not in self._tables.users:
            raise not_found("user", user.id)
        return self._tables.user_channels.get(user) or StoredChannels(NO_CHANNELS)

    def _decide(self, user: UserKey, rule: ChannelRule, token: str) -> ChannelSend | None:
        stored, oldest = self._tables.user_channels[user], self._oldest(user)
        decision = rule(DueUser(stored.channels, self._tables.users[user].timezone, oldest))
        stored.due_at, stored.claim_token, stored.claim_until = decision.again_at, None, None
        if decision.channel is None or decision.again_at is None or oldest is None:
            return None
        stored.claim_token, stored.claim_until = token, decision.again_at
        health = stored.channels.health.get(decision.channel.id)
        attempt = 1 if health is None else health.failures + 1
        return ChannelSend(oldest, decision.channel, attempt, token, decision.again_at)

    def _oldest(self, user: UserKey) -> Delivery | None:
        pending = self._tables.deliveries.get(user, ())
        owed = (one for one in pending if not one.delivered and isinstance(one.message, Subtitle))
        return next(owed, None)

    def _deliver(self, user: UserKey, send: ChannelSend) -> None:
        pending = self._tables.deliveries.get(user, [])
        for place, one in enumerate(pending):
            if one.seq == send.delivery.seq and not one.delivered:
                pending[place] = one._replace(delivered=True, channel=send.channel.id)
