"""Sends users' messages that no socket took to their channels, until one accepts them."""

import asyncio
from datetime import datetime, timedelta
from functools import partial

from cadenza.domain.agents.channels.channel_choice import (
    SOCKET_FIRST,
    TRIES,
    ChannelDecision,
    ChannelSituation,
    choose_channel,
    health_after_refusal,
)
from cadenza.domain.agents.channels.user_channels import UserChannels, notice_of, with_health
from cadenza.domain.errors import Unavailable
from cadenza.domain.job_failure import error_text
from cadenza.engine.async_helpers import Attempts, first_of
from cadenza.ports.alerting import ChannelSend, ChannelSender, ChannelStore, DueUser
from cadenza.ports.clock import Clock
from cadenza.ports.ids import Ids
from cadenza.ports.telemetry import CHANNEL_MESSAGE, Logger, Telemetry

AT_ONCE = 20
POLL_MS, RETRY_MS = 5_000, 1_000
STOP_MS = 5_000
"""How long messages that are being sent may take when the process stops."""
LEFT_OF_CLAIM = timedelta(seconds=30)
"""With less than this left of its claim, a message is not sent: a process that froze has lost it."""


class ChannelDelivery:
    """Claims messages, sends them beside each other and records what came of it.

    The messages of one user are sent one after the other, in order. A claim is committed before its
    message is sent, so that of all processes one sends it. If the process dies after a channel accepted a
    message and before that is recorded, it is sent again when the claim has ended.
    """

    def __init__(
        self,
        *,
        store: ChannelStore,
        sender: ChannelSender,
        clock: Clock,
        ids: Ids,
        log: Logger,
        telemetry: Telemetry,
        socket_first: timedelta = SOCKET_FIRST,
    ) -> None:
        self._store = store
        self._sender = sender
        self._clock = clock
        self._ids = ids
        self._log = log
        self._telemetry = telemetry
        self._socket_first = socket_first
        self._attempts = Attempts("channels", clock, log)
        self._sending: set[asyncio.Task[None]] = set()
        self._wakeup = asyncio.Event()
        self._stopping = False

    async def run(self) -> None:
        """Send what is due, until asked to stop; what is being sent then has some seconds left."""
        self._stopping = False
        try:
            while not self._stopping:
                self._wakeup.clear()
                await self._attempts.try_once(self._take())
                await first_of(self._clock.sleep(POLL_MS), self._wakeup.wait())
            if self._sending:
                await first_of(self._clock.sleep(STOP_MS), asyncio.wait(set(self._sending)))
        finally:
            for task in self._sending:
                task.cancel()

    def stop(self) -> None:
        """Claim no more, and end when nothing is being sent."""
        self._stopping = True
        self._wakeup.set()

    async def _take(self) -> None:
        while free := AT_ONCE - len(self._sending):
            now = self._clock.now()
            rule = partial(self._choose, now=now)
            taken = await self._store.take_sends(rule, now=now, token=self._ids.new(), limit=free)
            for send in taken.sends:
                task = asyncio.create_task(self._send(send))
                self._sending.add(task)
                task.add_done_callback(self._ended)
            if taken.looked_at < free:
                return

    def _choose(self, due: DueUser, now: datetime) -> ChannelDecision:
        situation = ChannelSituation(
            now=now,
            oldest=due.oldest,
            channels=due.channels,
            timezone=due.timezone,
            socket_first=self._socket_first,
        )
        return choose_channel(situation)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        self._wakeup.set()
        if not task.cancelled() and (bug := task.exception()) is not None:
            self._log.error("what came of a message could not be recorded", problem=error_text(bug))

    async def _send(self, send: ChannelSend) -> None:
        if send.until - self._clock.now() < LEFT_OF_CLAIM:
            return
        problem = await self._problem(send)
        result = "sent" if problem is None else "refused"
        about = {"channel": send.channel.channel.type.value, "result": result}
        self._telemetry.emit(CHANNEL_MESSAGE, {"attempt": send.attempt}, about)
        if problem is not None and send.attempt in (1, TRIES):
            names = {"tenant_id": send.delivery.tenant_id, "user_id": send.delivery.user_id}
            facts = {**names, "channel": send.channel.id, "attempt": send.attempt, "problem": problem}
            self._log.warning("a user's channel refused a message", **facts)
        await self._record(send, problem)

    async def _problem(self, send: ChannelSend) -> str | None:
        """Send a message once; why it was not accepted."""
        try:
            return await self._sender.send(notice_of(send.delivery), send.channel, send.attempt)
        except Exception as bug:  # noqa: BLE001 - In one user's channel, it must not stop those of all others.
            return f"it could not be sent: {type(bug).__name__}"

    async def _record(self, send: ChannelSend, problem: str | None) -> None:
        """Record it; while the store is unavailable, again and again until the claim ends."""
        now = self._clock.now()
        change = partial(_after_send, channel_id=send.channel.id, problem=problem, now=now)
        while True:
            try:
                await self._store.settle_send(send, change, now=now, accepted=problem is None)
            except Unavailable as away:
                self._attempts.failed(away)
                if self._clock.now() >= send.until:
                    raise
                await self._clock.sleep(RETRY_MS)
            else:
                return


def _after_send(before: UserChannels, *, channel_id: str, problem: str | None, now: datetime) -> UserChannels:
    """The channels after one of them accepted a message, or had a problem."""
    if problem is None:
        return with_health(before, channel_id, None)
    health = health_after_refusal(before.health.get(channel_id), problem, now)
    return with_health(before, channel_id, health)
