"""Tokens of the senders of heartbeats, and their signals."""

from datetime import datetime

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.rows import Read, Row, read_endpoint
from cadenza.adapters.stores.sql.scheduling.endpoints import GET_LOCKED, EndpointTables
from cadenza.domain.monitoring.heartbeat import Signal, SignalKind
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.monitoring import Receive

SIGNAL = "id, kind, at, body, expected_at"
WRITE_DIGEST = """
INSERT INTO heartbeat_tokens (tenant_id, endpoint_id, digest) VALUES ($1, $2, $3)
ON CONFLICT (tenant_id, endpoint_id) DO UPDATE SET digest = excluded.digest
"""
ENDPOINT_OF = "SELECT tenant_id, endpoint_id FROM heartbeat_tokens WHERE digest = $1"
ADD_SIGNAL = f"""
INSERT INTO heartbeat_signals (tenant_id, endpoint_id, {SIGNAL}) VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
DELETE_RECORDED = "DELETE FROM heartbeat_signals WHERE tenant_id = $1 AND endpoint_id = $2 AND slot <> $3"
TAKE = f"""
UPDATE heartbeat_signals SET slot = $3 WHERE tenant_id = $1 AND endpoint_id = $2 RETURNING {SIGNAL}
"""


class SqlHeartbeats:
    """Heartbeats on both databases."""

    def __init__(self, database: Database, endpoint_tables: EndpointTables) -> None:
        self._database = database
        self._endpoint_tables = endpoint_tables

    async def put_token(self, key: EndpointKey, digest: bytes) -> None:
        await self._database.ask(WRITE_DIGEST, *key, digest)

    async def endpoint_of(self, digest: bytes) -> EndpointKey | None:
        rows = await self._database.read(ENDPOINT_OF, digest)
        return EndpointKey(*rows[0]) if rows else None

    async def receive(self, key: EndpointKey, receive: Receive) -> bool:
        async def work(connection: Connection) -> bool:
            row = await connection.fetchrow(GET_LOCKED, *key)
            if row is None:
                raise not_found("endpoint", key.id)
            before = read_endpoint(row, self._database.read_moment)
            received = receive(before)
            if received is None:
                return False
            signal, after = received
            await connection.execute(ADD_SIGNAL, *key, signal.id, signal.kind.value, *signal[2:])
            if after != before:
                await self._endpoint_tables.amend(connection, [(before, ChangedEndpoint(after))])
            return True

        return await self._database.write(work)

    async def take_signals(self, key: EndpointKey, slot: datetime) -> list[Signal]:
        async def work(connection: Connection) -> list[Signal]:
            await connection.execute(DELETE_RECORDED, *key, slot)
            rows = await connection.fetch(TAKE, *key, slot)
            signals = (_read_signal(row, self._database.read_moment) for row in rows)
            return sorted(signals, key=lambda signal: (signal.at, signal.id))

        return await self._database.write(work)


def _read_signal(row: Row, read: Read) -> Signal:
    id_, kind, at, body, expected_at = row
    return Signal(id_, SignalKind(kind), read(at), body, read(expected_at))
