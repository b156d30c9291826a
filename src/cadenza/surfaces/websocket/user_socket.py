"""One user's socket, from the welcome frame to its close."""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import CadenzaError, InvalidRequest, Unavailable
from cadenza.operations.agents.socket_users import DeliveryStream, SocketUser
from cadenza.surfaces.http.problems import TOO_MANY, UNEXPECTED, Refusal
from cadenza.surfaces.websocket import frames
from cadenza.surfaces.websocket.connection import (
    DELETED_KEY,
    NOT_ADMITTED,
    POLICY,
    BackgroundTasks,
    CloseSocket,
    Disconnected,
    SocketConnection,
)
from cadenza.surfaces.websocket.frames import AckFrame, HelloFrame, MessageFrame
from cadenza.surfaces.websocket.limits import Pace, SocketLimits

MOST_REFUSED = 100
"""After so many refused frames in a row, the socket is closed."""
RETRY_S = 1.0
BUG = Refusal(UNEXPECTED, "Internal error: the agent did not answer. Send the message again.")


class AnswerMessage(Protocol):
    """Has an agent answer a message."""

    async def __call__(self, socket_user: SocketUser, message: MessageFrame) -> int | None:
        """Have an agent answer a message; CadenzaError or Refusal if it cannot.

        The number of the last message of the answer, if there is any.
        """
        ...


class SharedSockets(NamedTuple):
    """What all sockets share."""

    limits: SocketLimits
    answer_message: AnswerMessage
    admits: Callable[[SocketUser], Awaitable[bool]]
    """Whether the key of a socket is still valid."""
    tasks: BackgroundTasks
    unanswered: Counter[UserKey]
    """Unanswered messages by user, also those whose sockets have closed."""


class UserSocket:
    """Sends deliveries, receives frames and lets agents answer, all at the same time.

    Agents' answers are deliveries like all others, so that each socket of the user
    gets them in the same order. A message that came in is answered also if its
    socket has closed by then.
    """

    __slots__ = (
        "_acked",
        "_acks",
        "_connection",
        "_pace",
        "_sent",
        "_shared",
        "_stream",
        "_to_ack",
        "_unanswered",
        "acking",
        "id",
        "socket_user",
    )  # fmt: skip

    def __init__(
        self,
        connection: SocketConnection,
        stream: DeliveryStream,
        *,
        socket_user: SocketUser,
        acks: bool,
        shared: SharedSockets,
        name: str,
    ) -> None:
        self.id = name
        self.socket_user = socket_user
        self.acking: asyncio.Task[None] | None = None
        """The task that stores acknowledgements, while there is one."""
        self._acks = acks
        self._connection = connection
        self._stream = stream
        self._shared = shared
        self._pace = Pace(shared.limits.frames_per_s)
        self._unanswered: dict[str, deque[MessageFrame]] = {}
        self._sent = self._acked = self._to_ack = stream.received

    async def run(self) -> None:
        """Send the welcome, then serve until the client disconnects or the socket is closed."""
        await self._connection.send(frames.welcome(self.socket_user.user.id, self._stream.last_seq))
        if self._stream.notice is not None:
            await self._connection.send(frames.notification(self._stream.notice, self._stream.missed))
        sending = asyncio.create_task(self._send_deliveries())
        try:
            while True:
                await self._handle(await self._connection.receive())
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            if self.acking is not None:
                await asyncio.wait([self.acking], timeout=RETRY_S)

    def end(self, code: int, reason: str) -> None:
        """Close the socket."""
        self._shared.tasks.keep(self._connection.close(code, reason))

    async def _send_deliveries(self) -> None:
        """Send all deliveries; for a client without acknowledgements, sent counts as received."""
        closing = CloseSocket(NOT_ADMITTED, "This user was deleted.")
        try:
            async for page in self._stream.pages():
                await self._check_key()
                for delivery in page:
                    self._sent = delivery.seq
                    await self._connection.send(frames.delivered(delivery))
                if not self._acks:
                    self._note(page[-1].seq)
        except Disconnected:
            return
        except CloseSocket as slow:
            closing = slow
        except Exception as problem:  # noqa: BLE001 - A bug ends this socket; what is owed stays owed.
            closing = self._shared.tasks.failed(problem)
        await self._connection.close(closing.code, closing.reason)

    async def _check_key(self) -> None:
        """CloseSocket if the key of this socket was deleted."""
        with suppress(Unavailable):  # Then nobody can tell.
            if not await self._shared.admits(self.socket_user):
                raise CloseSocket(*DELETED_KEY)

    async def _handle(self, frame: str | bytes) -> None:
        """Act on a frame, or answer with an error. Acknowledgements are not rate limited."""
        problem: CadenzaError | Refusal | None = None
        frame_in: frames.ClientFrame | None = None
        try:
            frame_in = frames.read(frame, self._shared.limits.frame_bytes)
        except (CadenzaError, Refusal) as wrong:
            problem = wrong
        if isinstance(frame_in, AckFrame) and self._to_ack < frame_in.seq <= self._sent:
            self._note(frame_in.seq)
            return
        if not self._pace.allows_one():
            problem = self._too_fast()
        elif frame_in is not None:
            problem = self._act(frame_in)
        if problem is not None:
            about = frame_in.id if isinstance(frame_in, MessageFrame) else None
            await self._connection.send(frames.error(problem, request_id=self.id, about=about))

    def _too_fast(self) -> Refusal:
        if self._pace.refused > MOST_REFUSED:
            raise CloseSocket(POLICY, "There were too many frames.")
        most = self._shared.limits.frames_per_s
        return Refusal(TOO_MANY, f"At most {most} frames a second are taken, and this one was not.")

    def _act(self, frame_in: frames.ClientFrame) -> CadenzaError | Refusal | None:
        """Act on a frame; the error if it cannot be done now."""
        match frame_in:
            case HelloFrame():
                return InvalidRequest("hello may be sent only once; reconnect to send another.", "type")
            case AckFrame(seq=seq) if seq > self._sent:
                return InvalidRequest(f"seq: {self._sent} is the last that was sent here.", "seq")
            case AckFrame():
                return None
            case MessageFrame():
                return self._queue_message(frame_in)

    def _queue_message(self, message: MessageFrame) -> Refusal | None:
        """Queue a message for its agent, which answers one after the other."""
        if self._shared.unanswered[self.socket_user.user] >= self._shared.limits.unanswered:
            return Refusal(TOO_MANY, "Too many messages wait for their answers, and this one was not taken.")
        self._shared.unanswered[self.socket_user.user] += 1
        waiting = self._unanswered.get(message.agent_id)
        if waiting is None:
            self._unanswered[message.agent_id] = deque([message])
            self._shared.tasks.keep(self._answer(message.agent_id))
        else:
            waiting.append(message)
        return None

    async def _answer(self, agent_id: str) -> None:
        waiting = self._unanswered[agent_id]
        try:
            while waiting:
                await self._answer_one(waiting[0])
                waiting.popleft()
                self._message_done()
        finally:
            del self._unanswered[agent_id]

    def _message_done(self) -> None:
        unanswered, user = self._shared.unanswered, self.socket_user.user
        unanswered[user] -= 1
        if not unanswered[user]:
            del unanswered[user]

    async def _answer_one(self, message: MessageFrame) -> None:
        try:
            await self._check_key()
            seq = await self._shared.answer_message(self.socket_user, message)
            if message.idempotency_key is not None:
                await self._reply(frames.answered(message.idempotency_key, seq))
        except CloseSocket as closing:
            self.end(closing.code, closing.reason)
        except (CadenzaError, Refusal) as problem:
            await self._send_error(message, problem)
        except Exception as problem:  # noqa: BLE001 - A bug costs this answer, and no other.
            self._shared.tasks.failed(problem)
            await self._send_error(message, BUG)

    async def _send_error(self, message: MessageFrame, problem: CadenzaError | Refusal) -> None:
        await self._reply(frames.error(problem, request_id=self.id, about=message.id))

    async def _reply(self, frame: str) -> None:
        with suppress(Disconnected, CloseSocket):  # What else is sent meets the same.
            await self._connection.send(frame)

    def _note(self, seq: int) -> None:
        """Store, in the background, that the client has all deliveries up to a number."""
        self._to_ack = seq
        if self.acking is None:
            self.acking = self._shared.tasks.keep(self._acknowledge())

    async def _acknowledge(self) -> None:
        try:
            while self._acked < self._to_ack:
                upto = self._to_ack
                try:
                    await self._stream.acknowledge(upto)
                    self._acked = upto
                except Unavailable:  # What is not written down comes again.
                    if self._connection.closed:
                        return
                    await asyncio.sleep(RETRY_S)
        finally:
            self.acking = None
