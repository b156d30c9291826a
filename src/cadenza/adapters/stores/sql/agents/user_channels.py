"""Channels of users in rows, and claims of undelivered messages for them.

Rows are locked in the order of a turn's commit: users, then their channels; messages last.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, time
from typing import Any, NamedTuple

import orjson

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.sql.agents.deliveries import DELIVERY, read_delivery
from cadenza.adapters.stores.sql.agents.users_agents import LOCK_USER
from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.rows import Row, document
from cadenza.domain.agents.channels.channel_choice import ChannelDecision
from cadenza.domain.agents.channels.quiet_hours import QuietHours
from cadenza.domain.agents.channels.user_channels import NO_CHANNELS, ChannelHealth, UserChannel, UserChannels
from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.agents.users import UserKey
from cadenza.domain.channel import Channel, ChannelType
from cadenza.domain.json_values import Json
from cadenza.domain.validation import iso
from cadenza.ports.alerting import ChannelRule, ChannelsChange, ChannelSend, DueUser, TakenSends

GET = """
SELECT c.definition FROM users u LEFT JOIN user_channels c ON c.tenant_id = u.tenant_id AND c.user_id = u.id
WHERE u.tenant_id = $1 AND u.id = $2
"""
LOCK = "SELECT definition, claim_token FROM user_channels WHERE tenant_id = $1 AND user_id = $2 FOR UPDATE"
PUT = """
INSERT INTO user_channels AS c (tenant_id, user_id, definition, due_at, done_seq) VALUES ($1, $2, $3, $4, 0)
ON CONFLICT (tenant_id, user_id) DO UPDATE SET definition = excluded.definition,
    due_at = CASE WHEN c.claim_until > $5 THEN c.due_at ELSE excluded.due_at END
"""
LOCK_DUE = """
SELECT c.tenant_id, c.user_id, c.definition, u.timezone, c.done_seq FROM user_channels c
JOIN users u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
WHERE c.due_at <= $1 ORDER BY c.due_at LIMIT $2 FOR UPDATE OF c SKIP LOCKED
"""
OLDEST = f"""
SELECT {", ".join(f"m.{name}" for name in DELIVERY.split(", "))}
FROM unnest($1::text[], $2::text[], $3::bigint[]) AS k (tenant_id, user_id, seq)
JOIN pending_messages m ON m.tenant_id = k.tenant_id AND m.user_id = k.user_id AND m.seq = (
    SELECT o.seq FROM pending_messages o
    WHERE o.tenant_id = k.tenant_id AND o.user_id = k.user_id AND o.seq > k.seq
        AND NOT o.delivered AND (o.message ->> 'type') = 'subtitle'
    ORDER BY o.seq LIMIT 1
)
"""
CLAIM = """
UPDATE user_channels SET due_at = $3, claim_token = $4, claim_until = $5
WHERE tenant_id = $1 AND user_id = $2
"""
KEEP_USER = "SELECT id FROM users WHERE tenant_id = $1 AND id = $2 FOR KEY SHARE"
ACCEPTED = """
UPDATE pending_messages SET delivered = true, channel = $4
WHERE tenant_id = $1 AND user_id = $2 AND seq = $3 AND NOT delivered
"""
SETTLED = """
UPDATE user_channels SET definition = $3, due_at = $4, claim_token = NULL, claim_until = NULL,
    done_seq = greatest(done_seq, $5)
WHERE tenant_id = $1 AND user_id = $2
"""


class _DueRow(NamedTuple):
    user: UserKey
    channels: UserChannels
    timezone: str | None
    done_seq: int


class SqlChannels:
    """Channels of users, in one row for each user who has any."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def channels(self, user: UserKey) -> UserChannels:
        for row in await self._database.read(GET, *user):
            return read_channels(user.tenant_id, row[0])
        raise not_found("user", user.id)

    async def amend_channels(
        self, user: UserKey, change: ChannelsChange, *, now: datetime, due_at: datetime
    ) -> UserChannels:
        async def work(connection: Connection) -> UserChannels:
            if not await connection.fetch(LOCK_USER, *user):
                raise not_found("user", user.id)
            row = await connection.fetchrow(LOCK, *user)
            changed = change(read_channels(user.tenant_id, None if row is None else row[0]))
            await connection.execute(PUT, *user, write_channels(changed), due_at, now)
            return changed

        return await self._database.write(work)

    async def take_sends(self, rule: ChannelRule, *, now: datetime, token: str, limit: int) -> TakenSends:
        async def work(connection: Connection) -> TakenSends:
            due = [_due_row(row) for row in await connection.fetch(LOCK_DUE, now, limit)]
            oldest = await self._oldest(connection, due) if due else {}
            decided = [(row, rule(DueUser(row.channels, row.timezone, oldest.get(row.user)))) for row in due]
            await connection.executemany(CLAIM, [_claim(row, decision, token) for row, decision in decided])
            sends = [
                _send(row, decision, oldest[row.user], token) for row, decision in decided if decision.channel
            ]
            return TakenSends(len(due), sends)

        return await self._database.write(work)

    async def settle_send(
        self, send: ChannelSend, change: ChannelsChange, *, now: datetime, accepted: bool
    ) -> None:
        user, seq = send.delivery.user, send.delivery.seq

        async def work(connection: Connection) -> None:
            await connection.fetch(KEEP_USER, *user)
            row = await connection.fetchrow(LOCK, *user)
            if accepted:
                await connection.execute(ACCEPTED, *user, seq, send.channel.id)
            if row is not None and row[1] == send.token:
                changed = write_channels(change(read_channels(user.tenant_id, row[0])))
                await connection.execute(SETTLED, *user, changed, now, seq if accepted else 0)

        await self._database.write(work)

    async def _oldest(self, connection: Connection, due: Sequence[_DueRow]) -> Mapping[UserKey, Delivery]:
        columns = zip(*((*row.user, row.done_seq) for row in due), strict=True)
        rows = await connection.fetch(OLDEST, *map(list, columns))
        found = [read_delivery(row, self._database.read_moment) for row in rows]
        return {one.user: one for one in found}


def _due_row(row: Row) -> _DueRow:
    tenant_id, user_id, definition, timezone, done_seq = row
    return _DueRow(UserKey(tenant_id, user_id), read_channels(tenant_id, definition), timezone, done_seq)


def _claim(row: _DueRow, decision: ChannelDecision, token: str) -> tuple[Any, ...]:
    """The columns that `CLAIM` writes."""
    claimed = (token, decision.again_at) if decision.channel is not None else (None, None)
    return (*row.user, decision.again_at, *claimed)


def _send(row: _DueRow, decision: ChannelDecision, delivery: Delivery, token: str) -> ChannelSend:
    assert decision.channel is not None
    assert decision.again_at is not None, "a claim ends"
    health = row.channels.health.get(decision.channel.id)
    attempt = 1 if health is None else health.failures + 1
    return ChannelSend(delivery, decision.channel, attempt, token, decision.again_at)


def write_channels(channels: UserChannels) -> str:
    """The column `definition`."""
    quiet = channels.quiet
    return document(
        {
            "channels": [
                {"id": one.id, "type": one.channel.type, "url": one.channel.url, "enabled": one.enabled}
                for one in channels.channels
            ],
            "quiet": None if quiet is None else [quiet.start.isoformat(), quiet.end.isoformat()],
            "health": {
                id_: [one.failures, iso(one.again_at), one.problem] for id_, one in channels.health.items()
            },
        }
    )


def read_channels(tenant_id: str, definition: str | None) -> UserChannels:
    """The channels of the column `definition`."""
    if definition is None:
        return NO_CHANNELS
    found = orjson.loads(definition)
    quiet = found["quiet"]
    return UserChannels(
        channels=tuple(_read_channel(tenant_id, one) for one in found["channels"]),
        quiet=None if quiet is None else QuietHours(*map(time.fromisoformat, quiet)),
        health={
            id_: ChannelHealth(failures, datetime.fromisoformat(again_at), problem)
            for id_, (failures, again_at, problem) in found["health"].items()
        },
    )


def _read_channel(tenant_id: str, one: Mapping[str, Json]) -> UserChannel:
    return UserChannel(
        id=str(one["id"]),
        tenant_id=tenant_id,
        channel=Channel(ChannelType(str(one["type"])), str(one["url"])),
        enabled=bool(one["enabled"]),
    )
