"""People who steer over REST, each write under an idempotency key until it is answered."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Any, NamedTuple

from tests.faults.access.test_api_is_killed import AN_ENDPOINT, USERS, Request
from tests.faults.campaign.caller import REFUSED, PersistentCaller
from tests.faults.campaign.load import OWNED, every, http
from tests.faults.campaign.receiver import Receiver
from tests.faults.scheduling.history_checks import Asked
from tests.surfaces.api_in_process import Answered

from cadenza.domain.validation import iso

FAR = timedelta(hours=6)


class Steered(NamedTuple):
    """A call about one endpoint that was acknowledged."""

    kind: str
    endpoint_id: str
    key: str
    sent_at: datetime
    acknowledged_at: datetime


@dataclass
class SteeringLog:
    """Everything that people were told was done."""

    steered: list[Steered] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    once: list[str] = field(default_factory=list)
    schedules: list[str] = field(default_factory=list)
    daily_users: list[str] = field(default_factory=list)
    asked: Asked = field(default_factory=Counter)
    """Slots that were asked for beside the schedules."""
    answered: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """The numbers of messages that users got as answers to their own: these are not owed any more."""
    counts: Counter[str] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)


class Person:
    """Steers endpoints that nobody else steers, so that the order of what was done is known."""

    def __init__(self, number: int, caller: PersistentCaller, log: SteeringLog, *, chance: Random) -> None:
        self._number = number
        self._caller = caller
        self._log = log
        self._chance = chance

    async def steer(self, receiver: Receiver, stop: asyncio.Event) -> None:
        """Do everything once, and then one thing after the other until told to stop; all to its end."""
        steering = (self._hint, self._next_time, self._pause, self._delete, self._once)
        actions = (
            *steering,
            self._rerun,
            self._backfill,
            self._request,
            self._request,
            self._schedule,
            self._daily,
        )
        first = self._chance.sample(actions, len(actions))
        while first or not stop.is_set():
            await (first.pop() if first else self._chance.choice(actions))(receiver)
            await asyncio.sleep(self._chance.uniform(0.05, 0.4))

    async def _hint(self, _: Receiver) -> None:
        span = self._chance.randint(500, 3_000)
        await self._tool("propose_interval", self._own(), {"intervalMs": span, "ttlMinutes": 1})

    async def _next_time(self, _: Receiver) -> None:
        span = self._chance.randint(0, 2_000)
        await self._tool("propose_next_time", self._own(), {"nextRunInMs": span})

    async def _pause(self, _: Receiver) -> None:
        endpoint_id = self._own()
        await self._tool("pause_until", endpoint_id, {"untilIso": iso(datetime.now(UTC) + FAR)})
        await asyncio.sleep(self._chance.uniform(0, 2.5))
        await self._tool("pause_until", endpoint_id, {"untilIso": None}, kind="resume")

    async def _rerun(self, _: Receiver) -> None:
        """Run a slot again that has its verdict, each once."""
        found = await self._caller.ask(f"GET /v1/runs?endpoint_id={self._own()}&limit=20", key="-")
        for run in found.json()["items"]:
            place = run["endpoint_id"], datetime.fromisoformat(run["slot"])
            if run["verdict"] and not self._log.asked[place]:
                if await self._send("rerun", f"POST /v1/runs/{run['id']}/rerun", {}, key=f"key-{run['id']}"):
                    self._log.asked[place] += 1
                return

    async def _backfill(self, _: Receiver) -> None:
        endpoint_id, since = self._own(), datetime.now(UTC) - timedelta(hours=self._chance.uniform(1, 100))
        given = {"since": iso(since), "until": iso(since + timedelta(seconds=10)), "limit": 2}
        request, key = f"POST /v1/endpoints/{endpoint_id}/backfill", f"key-{next(self._log.numbers)}"
        answer = await self._send("backfill", request, given, key=key)
        if answer is not None:
            items = answer.json()["items"]
            self._log.asked.update((endpoint_id, datetime.fromisoformat(one["slot"])) for one in items)

    async def _delete(self, receiver: Receiver) -> None:
        endpoint_id = f"gone-{next(self._log.numbers)}"
        shape = {"target": http(receiver, "ok"), "baseline": every(1_000), "start_now": True}
        await self._create("create", endpoint_id, shape)
        await asyncio.sleep(self._chance.uniform(0, 1.5))
        await self._steer("delete", endpoint_id, f"DELETE /v1/endpoints/{endpoint_id}")

    async def _once(self, receiver: Receiver) -> None:
        endpoint_id = f"once-{next(self._log.numbers)}"
        moment = {"kind": "once", "at": iso(datetime.now(UTC) + timedelta(seconds=1))}
        await self._create("create once", endpoint_id, {"target": http(receiver, "ok"), "baseline": moment})
        self._log.once.append(endpoint_id)

    async def _request(self, _: Receiver) -> None:
        request = Request(
            self._chance.choice(("job", "endpoint", "run-now", "message")), next(self._log.numbers)
        )
        if request.kind == "run-now":
            await self._create("create ready", f"ready-{request.number}", AN_ENDPOINT)
        answer = await self._send(request.kind, *request.rest, key=f"key-{request.number}")
        if answer is not None:
            self._log.requests.append(request)
            if request.kind == "message":
                self._log.answered[request.user] |= {one["seq"] for one in answer.json()["messages"]}

    async def _schedule(self, _: Receiver) -> None:
        number = next(self._log.numbers)
        wish = {
            "user_id": USERS[number % len(USERS)],
            "agent_id": "helper",
            "name": f"wish {number}",
            "prompt": "look up",
            "schedule_type": "one-shot",
            "delay_seconds": 1,
        }
        answer = await self._send("schedule", "POST /v1/schedules", wish, key=f"key-{number}")
        if answer is not None:
            self._log.schedules.append(answer.json()["id"])

    async def _daily(self, _: Receiver) -> None:
        """A daily user whose window is open, and for long enough."""
        user_id = f"day-{next(self._log.numbers)}"
        due = {"due_time": f"{datetime.now(UTC) + timedelta(minutes=50):%H:%M}"}
        if await self._send("daily user", f"PUT /v1/daily/users/{user_id}", due, key=f"key-{user_id}"):
            self._log.daily_users.append(user_id)

    def _own(self) -> str:
        return f"own-{self._number}-{self._chance.randrange(OWNED)}"

    async def _create(self, kind: str, endpoint_id: str, shape: dict[str, Any]) -> None:
        body = shape | {"id": endpoint_id, "name": endpoint_id}
        await self._send(kind, "POST /v1/jobs/base/endpoints", body, key=f"key-{endpoint_id}")

    async def _tool(
        self, tool: str, endpoint_id: str, arguments: dict[str, Any], *, kind: str | None = None
    ) -> None:
        path = f"POST /v1/endpoints/{endpoint_id}/tools/{tool}"
        await self._steer(kind or tool, endpoint_id, path, arguments)

    async def _steer(
        self, kind: str, endpoint_id: str, request: str, arguments: dict[str, Any] | None = None
    ) -> None:
        key = f"key-{next(self._log.numbers)}"
        body = None if arguments is None else arguments | {"reason": key}
        sent_at = datetime.now(UTC)
        if await self._send(kind, request, body, key=key):
            self._log.steered.append(Steered(kind, endpoint_id, key, sent_at, datetime.now(UTC)))

    async def _send(self, kind: str, request: str, body: Any, *, key: str) -> Answered | None:
        """The answer, unless the request was refused, which none of them may be."""
        answer = await self._caller.ask(request, body, key=key)
        if answer.status >= REFUSED:
            self._log.refusals.append(f"{request} under {key} was refused: {answer.body.decode()}")
            return None
        self._log.counts[kind] += 1
        return answer
