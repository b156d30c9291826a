"""Users at sockets: they connect, acknowledge, say things, lose their connection and come back."""

import asyncio
from collections import Counter, deque
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any

import orjson
from tests.simulation.whole_system.fault_plan import Fault, FaultPlan
from tests.simulation.whole_system.roles import Roles
from tests.simulation.whole_system.simulated_world import SimulatedWorld

from cadenza.testing.simulated_process import SimulatedProcess

NETWORK_S = 0.002
Message = MutableMapping[str, Any]
DISCONNECT: Message = {"type": "websocket.disconnect", "code": 1006}


class Wire:
    """One direction of a connection; what is in flight when it breaks is lost."""

    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world
        self._arrived: deque[Message] = deque()
        self._event = asyncio.Event()
        self.is_broken = False

    def put(self, message: Message) -> None:
        """Send a message."""
        self._world.later(NETWORK_S, self._arrive, message)

    def break_off(self) -> None:
        """Nothing arrives any more."""
        self.is_broken = True
        self._event.set()

    async def get(self) -> Message:
        """The next message; a disconnect if the connection is broken."""
        while not self._arrived:
            if self.is_broken:
                return DISCONNECT
            self._event.clear()
            await self._event.wait()
        return self._arrived.popleft()

    def _arrive(self, message: Message) -> None:
        if not self.is_broken:
            self._arrived.append(message)
            self._event.set()


class Connection:
    """Both directions, and the server's end of them."""

    def __init__(self, world: SimulatedWorld) -> None:
        self.to_server, self.to_client = Wire(world), Wire(world)

    def break_off(self) -> None:
        """Cut it."""
        self.to_server.break_off()
        self.to_client.break_off()

    async def send(self, message: Message) -> None:
        """What the server sends."""
        if self.to_client.is_broken:
            raise OSError("the connection is closed")
        self.to_client.put(message)


class SocketClient:
    """One user's client, which acknowledges what it has and remembers it for good."""

    def __init__(
        self, world: SimulatedWorld, roles: Roles, *, user_id: str, token: str, faults: FaultPlan
    ) -> None:
        self._world = world
        self._roles = roles
        self._user_id = user_id
        self._token = token
        self._faults = faults
        self._random = world.chance(f"client {user_id}")
        self._connection: Connection | None = None
        self._process: SimulatedProcess | None = None
        self._unanswered: dict[str, str] = {}
        self._said = 0
        self.received_at: dict[int, float] = {}
        self.received: dict[int, str] = {}
        """The id of each delivery that arrived, by its number."""
        self.answered: Counter[str] = Counter()
        self.texts: dict[str, str] = {}

    def forget(self, process: SimulatedProcess) -> None:
        """A process died: its connections are closed."""
        if self._process is process and self._connection is not None:
            self._connection.break_off()

    async def live(self) -> None:
        """Connect again and again."""
        while True:
            servers = list(self._roles.servers.items())
            if servers:
                process, app = self._random.choice(servers)
                await self._connected(process, app)
            await asyncio.sleep(self._random.choice([0.2, 1.0, 6.0]) if self._faults.active else 0.5)

    async def _connected(self, process: SimulatedProcess, app: Any) -> None:
        self._process, self._connection = process, Connection(self._world)
        connection = self._connection
        scope = {"type": "websocket", "client": ("127.0.0.1", 1), "headers": []}
        serve = app(scope, connection.to_server.get, connection.send)
        self._world.loop.run_in_process(process, lambda: asyncio.create_task(serve))
        connection.to_server.put({"type": "websocket.connect"})
        self._send({"type": "hello", "token": self._token, "acks": True})
        self._world.note(self._user_id, f"connects to {process.name}")
        if Fault.SOCKETS in self._faults.faults and self._faults.active:
            self._world.later(self._random.random() * 15, connection.break_off)
        with suppress(EOFError):
            await self._read(connection)
        connection.break_off()

    async def _read(self, connection: Connection) -> None:
        last = 0
        talking = asyncio.create_task(self._talk())
        try:
            while True:
                message = await connection.to_client.get()
                if message["type"] in ("websocket.disconnect", "websocket.close"):
                    raise EOFError
                if message["type"] == "websocket.send":
                    last = self._take(orjson.loads(message["text"]), last)
        finally:
            talking.cancel()

    def _take(self, frame: dict[str, Any], last: int) -> int:
        if frame["type"] == "answered":
            self.answered[frame["idempotency_key"]] += 1
            self._unanswered.pop(frame["idempotency_key"], None)
        if frame["type"] == "error" and (key := frame.get("message_id")) in self._unanswered:
            self._world.later(1.0, self._say, key, self._unanswered[key])
        if "seq" not in frame or "id" not in frame:
            return last
        seq, name = frame["seq"], frame["id"]
        if seq <= last:
            self._world.violation(f"{self._user_id} is sent {seq} after {last} on one connection")
        if self.received.setdefault(seq, name) != name:
            self._world.violation(f"{self._user_id} is sent {name} as {seq}, which was {self.received[seq]}")
        self.received_at[seq] = self._world.loop.time()
        self._world.note(self._user_id, f"receives {seq}")
        self._world.later(self._random.choice([0, 0.5, 4.0]), self._send, {"type": "ack", "seq": seq})
        return int(seq)

    async def _talk(self) -> None:
        for key, text in list(self._unanswered.items()):
            self._say(key, text)
        while self._faults.active:
            await asyncio.sleep(1 + self._random.random() * 8)
            self._said += 1
            key, name = f"{self._user_id}-{self._said}", f"thing {self._said} of {self._user_id}"
            text = f"remind me in {self._random.choice([1, 5, 20])} seconds to see {name}"
            self.texts[key] = text
            self._unanswered[key] = text
            self._say(key, text)

    def _say(self, key: str, text: str) -> None:
        frame = {"type": "message", "agent_id": "helper", "text": text, "id": key, "idempotency_key": key}
        self._send(frame)

    def _send(self, frame: dict[str, Any]) -> None:
        if self._connection is not None and not self._connection.to_server.is_broken:
            text = orjson.dumps(frame).decode()
            self._connection.to_server.put({"type": "websocket.receive", "text": text})
