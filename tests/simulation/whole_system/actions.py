"""What simulated people ask for, and of which endpoints."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any, Protocol

import orjson
from tests.simulation.whole_system.simulated_world import SimulatedWorld

from cadenza.domain.access.key import Caller, Scope
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.validation import iso
from cadenza.operations.idempotency import Answer

TENANT, JOB = "default", "default"
PERSON = Caller(TENANT, frozenset({Scope.ADMIN}), "key:person")
MODEL = Caller(TENANT, frozenset({Scope.ADMIN}), "llm:person")
Arguments = Mapping[str, Any]


@dataclass
class Request:
    """A request with an idempotency key, which is sent until it is answered."""

    key: str
    action: str
    arguments: Arguments
    caller: Caller
    answer: Answer | None = None

    @property
    def has_succeeded(self) -> bool:
        """Whether it was answered, and not refused."""
        return self.answer is not None and self.answer.status == DONE

    @property
    def made(self) -> str | None:
        """The id of the endpoint that it made, as it was told."""
        if self.action != "create_endpoint" or self.answer is None or not self.has_succeeded:
            return None
        return str(orjson.loads(self.answer.body)["id"])


DONE, REFUSED = 200, 400


class Actions:
    """Chooses requests; people know the first endpoints and those that they made, until they delete them."""

    def __init__(self, world: SimulatedWorld, endpoints: list[str], runs: "SeenByPeople | None") -> None:
        self._world = world
        self._kinds = dict(KINDS)
        self.runs = runs
        if runs is not None:
            self._kinds |= RUN_KINDS
        self.random: Random = world.chance("actions")
        self.endpoints = endpoints
        self.requests: list[Request] = []

    def choose(self) -> Request:
        """The next request."""
        key = f"request-{len(self.requests)}"
        action = self.random.choice(list(self._kinds))
        if action not in OF_NO_ENDPOINT and not self.endpoints:
            action = "create_endpoint"
        if action == "pause_job" and self.random.random() < 0.5:
            action = "resume_job"  # Where everything is paused, nothing happens.
        arguments = self._kinds[action](self, key)
        if action not in OF_NO_ENDPOINT:
            arguments = {"endpoint_id": self.random.choice(self.endpoints), **arguments}
        caller = MODEL if action in OF_MODELS_TOO and self.random.random() < 0.4 else PERSON
        self.requests.append(Request(key, action, arguments, caller))
        return self.requests[-1]

    def note(self, request: Request, answer: Answer) -> None:
        """A request was answered."""
        request.answer = answer
        if request.made is not None:
            self.endpoints.append(request.made)
        if request.action == "delete_endpoint" and request.has_succeeded:
            self.endpoints.remove(request.arguments["endpoint_id"])

    def moment(self, longest_s: float) -> str:
        """Some moment ahead."""
        return iso(self._world.now() + timedelta(seconds=1 + self.random.random() * longest_s))

    def every(self, *intervals_ms: int) -> Arguments:
        """A baseline with one of these intervals."""
        return {"kind": "every", "interval_ms": self.random.choice(intervals_ms)}

    def a_run(self, *, is_open: bool) -> str:
        """The id of a run that people may have seen; of one that is not there, if they have seen none."""
        assert self.runs is not None, "only who acts on runs looks at them"
        found = sorted(self.runs.leases.values() if is_open else self.runs.closed)
        return self.random.choice(found[-MOST_RECENT:]) if found else "nothing"

    def something_that_waits(self) -> str:
        """The id of a requested run that waits, if there is any, or else of an open run."""
        assert self.runs is not None, "only who acts on runs looks at them"
        found = sorted(self.runs.waiting())
        return self.random.choice(found) if found else self.a_run(is_open=True)

    def since(self, longest_s: float) -> str:
        """Some moment before now."""
        return iso(self._world.now() - timedelta(seconds=5 + self.random.random() * longest_s))


class SeenByPeople(Protocol):
    """The runs that the lists of open and closed runs show."""

    leases: dict[EndpointKey, str]
    closed: dict[str, Run]

    def waiting(self) -> list[str]:
        """The ids of requested runs that wait."""
        ...


KINDS: dict[str, Callable[[Actions, str], Arguments]] = {
    "create_endpoint": lambda actions, key: {
        "job_id": JOB,
        "name": key,
        "target": {"kind": "http", "url": "http://example.com/"},
        "baseline": actions.every(5_000, 20_000),
        "policy": {"timeout_ms": actions.random.choice([3_000, 30_000])},
        "start_now": actions.random.random() < 0.5,
    },
    "propose_interval": lambda actions, key: {
        "intervalMs": actions.random.choice([2_000, 15_000]),
        "ttlMinutes": actions.random.choice([0.5, 5]),
        "reason": key,
    },
    "propose_next_time": lambda actions, key: {
        "nextRunInMs": actions.random.choice([0, 1_500, 9_000]),
        "reason": key,
    },
    "pause_until": lambda actions, key: {
        "untilIso": actions.random.choice([None, actions.moment(20)]),
        "reason": key,
    },
    "clear_hints": lambda *_: {},
    "run_now": lambda *_: {},
    "delete_endpoint": lambda *_: {},
    "pause_job": lambda *_: {"job_id": JOB},
    "resume_job": lambda *_: {"job_id": JOB},
    "update_endpoint": lambda actions, key: {"baseline": actions.every(4_000, 12_000), "description": key},
}
"""The arguments of each kind of action; the key of the request is among them, where it can be."""
RUN_KINDS: dict[str, Callable[[Actions, str], Arguments]] = {
    "rerun": lambda actions, key: {"run_id": actions.a_run(is_open=False), "reason": key},
    "cancel_run": lambda actions, key: {
        "run_id": actions.random.choice([actions.a_run(is_open=True), actions.something_that_waits()]),
        "reason": key,
    },
    "redrive_runs": lambda actions, key: {
        "job_id": JOB,
        "since": actions.since(60),
        "limit": 5,
        "dry_run": actions.random.random() < 0.2,
        "reason": key,
    },
    "backfill": lambda actions, key: {"since": actions.since(30), "limit": 4, "reason": key},
}
"""What those who act on runs ask for."""
ABOUT_RUNS = frozenset({"rerun", "cancel_run", "redrive_runs"})
OF_NO_ENDPOINT = frozenset({"create_endpoint", "pause_job", "resume_job"}) | ABOUT_RUNS
OF_MODELS_TOO = frozenset({"propose_interval", "propose_next_time", "cancel_run"})
MOST_RECENT = 20
"""Nobody looks further back."""
