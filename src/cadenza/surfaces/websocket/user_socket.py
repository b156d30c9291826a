"""One user at one socket, from the welcome to the end."""

import asyncio
from collections import Counter, deque
from contextlib import suppress
from typing import NamedTuple, Protocol

from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import CadenzaError, InvalidRequest, Unavailable
from cadenza.operations.agents.socket_users import DeliveryStream, Guest
from cadenza.surfaces.http.problems import TOO_MANY, UNEXPECTED, Refusal
from cadenza.surfaces.websocket import frames
from cadenza.surfaces.websocket.background_tasks import Tending
from cadenza.surfaces.websocket.connection import NOT_ADMITTED, POLICY, Closing, Gone, Line
from cadenza.surfaces.websocket.frames import Ack, Hello, Say
from cadenza.surfaces.websocket.limits import Pace, SocketLimits

PATIENCE = 100
"""A client that goes on after so many refusals in a row is sent away."""
AGAIN_S = 1.0
BUG = Refusal(UNEXPECTED, "Something went wrong here, and the agent did not answer. Say it again.")


class Talk(Protocol):
    """Lets agents answer."""

    async def __call__(self, guest: Guest, say: Say) -> int | None:
        """Let an agent answer what was said; a CadenzaError or a Refusal if it cannot.

        The number of the last message of the answer, if there is any.
        """
        ...


class House(NamedTuple):
    """What all sockets share."""

    limits: SocketLimits
    talk: Talk
    tending: Tending
    said: Counter[UserKey]
    """How many messages of each user wait for their answers; also those whose sockets are gone."""


class Session:
    """What is owed goes out, frames come in, and agents answer, all side by side.

    Agents' answers are owed like everything else, so that each socket of the user
    gets them in the same order. A message that came in is answered also if its
    socket is gone by then.
    """

    __slots__ = (
        "_acked",
        "_acks",
        "_house",
        "_line",
        "_pace",
        "_said",
        "_sent",
        "_stream",
        "_to_ack",
        "acking",
        "guest",
        "id",
    )  # fmt: skip

    def __init__(
        self, line: Line, stream: DeliveryStream, *, guest: Guest, acks: bool, house: House, name: str
    ) -> None:
        self.id = name
        self.guest = guest
        self.acking: asyncio.Task[None] | None = None
        """While what the client has is being written down."""
        self._acks = acks
        self._line = line
        self._stream = stream
        self._house = house
        self._pace = Pace(house.limits.frames_per_s)
        self._said: dict[str, deque[Say]] = {}
        self._sent = self._acked = self._to_ack = stream.received

    async def run(self) -> None:
        """Say welcome, then go on until the client is gone or somebody ends it."""
        await self._line.tell(frames.welcome(self.guest.user.id, self._stream.last_seq))
        if self._stream.notice is not None:
            await self._line.tell(frames.notification(self._stream.notice, self._stream.count))
        handing = asyncio.create_task(self._hand_over())
        try:
            while True:
                await self._take(await self._line.hear())
        finally:
            handing.cancel()
            await asyncio.gather(handing, return_exceptions=True)
            if self.acking is not None:
                await asyncio.wait([self.acking], timeout=AGAIN_S)

    def end(self, code: int, reason: str) -> None:
        """Send the client away."""
        self._house.tending.keep(self._line.close(code, reason))

    async def _hand_over(self) -> None:
        """Send everything that is owed; to a client that does not acknowledge, sent is delivered."""
        closing = Closing(NOT_ADMITTED, "This user was deleted.")
        try:
            async for page in self._stream.pages():
                for delivery in page:
                    self._sent = delivery.seq
                    await self._line.tell(frames.delivered(delivery))
                if not self._acks:
                    self._note(page[-1].seq)
        except Gone:
            return
        except Closing as slow:
            closing = slow
        except Exception as problem:  # noqa: BLE001 - A bug ends this socket; what is owed stays owed.
            closing = self._house.tending.failed(problem)
        await self._line.close(closing.code, closing.reason)

    async def _take(self, frame: str | bytes) -> None:
        """Act on a frame, or say what is wrong with it. What it acknowledges is taken at any pace."""
        problem: CadenzaError | Refusal | None = None
        heard: frames.Heard | None = None
        try:
            heard = frames.read(frame, self._house.limits.frame_bytes)
        except (CadenzaError, Refusal) as wrong:
            problem = wrong
        if isinstance(heard, Ack) and self._to_ack < heard.seq <= self._sent:
            self._note(heard.seq)
            return
        if not self._pace.take():
            problem = self._too_fast()
        elif heard is not None:
            problem = self._acted(heard)
        if problem is not None:
            about = heard.id if isinstance(heard, Say) else None
            await self._line.tell(frames.error(problem, request_id=self.id, about=about))

    def _too_fast(self) -> Refusal:
        if self._pace.refused > PATIENCE:
            raise Closing(POLICY, "There were too many frames.")
        most = self._house.limits.frames_per_s
        return Refusal(TOO_MANY, f"At most {most} frames a second are taken, and this one was not.")

    def _acted(self, heard: frames.Heard) -> CadenzaError | Refusal | None:
        """Act on a frame; what is wrong with it now."""
        match heard:
            case Hello():
                return InvalidRequest("hello is said once; close and come again to say it anew.", "type")
            case Ack(seq=seq) if seq > self._sent:
                return InvalidRequest(f"seq: {self._sent} is the last that was sent here.", "seq")
            case Ack():
                return None
            case Say():
                return self._hear_out(heard)

    def _hear_out(self, say: Say) -> Refusal | None:
        """Let the agent answer when it has answered what was said before."""
        if self._house.said[self.guest.user] >= self._house.limits.said:
            return Refusal(TOO_MANY, "Too many messages wait for their answers, and this one was not taken.")
        self._house.said[self.guest.user] += 1
        waiting = self._said.get(say.agent_id)
        if waiting is None:
            self._said[say.agent_id] = deque([say])
            self._house.tending.keep(self._answer(say.agent_id))
        else:
            waiting.append(say)
        return None

    async def _answer(self, agent_id: str) -> None:
        waiting = self._said[agent_id]
        try:
            while waiting:
                await self._answer_one(waiting[0])
                waiting.popleft()
                self._heard_out()
        finally:
            del self._said[agent_id]

    def _heard_out(self) -> None:
        said, user = self._house.said, self.guest.user
        said[user] -= 1
        if not said[user]:
            del said[user]

    async def _answer_one(self, say: Say) -> None:
        try:
            seq = await self._house.talk(self.guest, say)
            if say.idempotency_key is not None:
                await self._reply(frames.answered(say.idempotency_key, seq))
        except (CadenzaError, Refusal) as problem:
            await self._not_answered(say, problem)
        except Exception as problem:  # noqa: BLE001 - A bug costs this answer, and no other.
            self._house.tending.failed(problem)
            await self._not_answered(say, BUG)

    async def _not_answered(self, say: Say, problem: CadenzaError | Refusal) -> None:
        await self._reply(frames.error(problem, request_id=self.id, about=say.id))

    async def _reply(self, frame: str) -> None:
        with suppress(Gone, Closing):  # What else is sent meets the same.
            await self._line.tell(frame)

    def _note(self, seq: int) -> None:
        """Have it written down that the client has everything up to a number."""
        self._to_ack = seq
        if self.acking is None:
            self.acking = self._house.tending.keep(self._write_down())

    async def _write_down(self) -> None:
        try:
            while self._acked < self._to_ack:
                upto = self._to_ack
                try:
                    await self._stream.acknowledge(upto)
                    self._acked = upto
                except Unavailable:  # What is not written down comes again.
                    if self._line.closed:
                        return
                    await asyncio.sleep(AGAIN_S)
        finally:
            self.acking = None
