"""What the expressions of rules see: plain values, and nothing that is not there."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from cadenza.domain.planning.health import COUNTED
from cadenza.domain.planning.rules.incidents import Decision, Memory, Sight, decide
from cadenza.domain.planning.rules.rule import Rule, Step
from cadenza.domain.planning.rules.steps import Call, already, calls, effective_interval_ms
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.domain.validation import milliseconds

Facts = Mapping[str, Any]
NAMES = ("response", "run", "recent", "siblings", "endpoint", "now")


def facts(
    endpoint: Endpoint,
    now: datetime,
    *,
    is_new: bool = False,
    recent: Sequence[Run] = (),
    siblings: Mapping[str, Endpoint] | None = None,
    latest: Mapping[str, Run] | None = None,
) -> dict[str, Any]:
    """All that is known about an endpoint, its newest runs first; slots that were not run are no runs.

    The newest `is_new` when it is looked at for its own sake, and for the first time.
    """
    ran = [_seen(endpoint, run) for run in recent if run.status in COUNTED]
    newest = ran[0] if ran else {"response": {}, "run": {}}
    return {
        "response": newest["response"],
        "run": {**newest["run"], "is_new": bool(ran) and is_new},
        "recent": ran,
        "siblings": {
            name: _sibling(one, (latest or {}).get(name), now) for name, one in (siblings or {}).items()
        },
        "endpoint": {"name": endpoint.name, "labels": dict(endpoint.labels), **_standing(endpoint, now)},
        "now": now,
    }


def _seen(endpoint: Endpoint, run: Run) -> dict[str, Any]:
    return {"response": _response(endpoint, run), "run": _run(run)}


def _run(run: Run) -> dict[str, Any]:
    return {
        "status": str(run.status),
        "late_ms": run.late_ms,
        "attempt": run.attempt,
        "source": str(run.source),
    }


def _response(endpoint: Endpoint, run: Run) -> dict[str, Any]:
    """An answer over HTTP by its parts; what a function returned is all body."""
    told: dict[str, Any] = {"ok": run.status is RunStatus.SUCCESS, "latency_ms": run.duration_ms}
    if not isinstance(endpoint.target, HttpTarget):
        return told | ({} if run.response is None else {"body": run.response})
    parts = run.response if isinstance(run.response, dict) else {}
    for name, part in (("status", "status"), ("headers", "headers"), ("body", "text"), ("body", "body")):
        if part in parts:
            told[name] = parts[part]
    return told


def _sibling(endpoint: Endpoint, latest: Run | None, now: datetime) -> dict[str, Any]:
    told = _standing(endpoint, now)
    if latest is not None and latest.status in COUNTED:
        told["last"] = _response(endpoint, latest)
    if endpoint.next_run_at is not None:
        told["next_in_ms"] = max(0, (endpoint.next_run_at - now) // milliseconds(1))
    return told


def _standing(endpoint: Endpoint, now: datetime) -> dict[str, Any]:
    told: dict[str, Any] = {"paused": endpoint.paused(now), "failures": endpoint.failure_count}
    interval_ms = effective_interval_ms(endpoint, now)
    return told if interval_ms is None else told | {"interval_ms": interval_ms}


class Scene:
    """What is known at one moment; who acts tells what became of an endpoint."""

    def __init__(
        self,
        now: datetime,
        endpoint: Endpoint,
        *,
        is_new: bool = False,
        recent: Sequence[Run] = (),
        siblings: Mapping[str, Endpoint] | None = None,
        latest: Mapping[str, Run] | None = None,
    ) -> None:
        self.now = now
        self.facts = facts(endpoint, now, is_new=is_new, recent=recent, siblings=siblings, latest=latest)
        self._own = endpoint.name
        self._endpoints = {**(siblings or {}), endpoint.name: endpoint}

    def meant(self, step: Step) -> Endpoint | None:
        """Whom a step is about, as it stands by now; None if there is nobody of that name."""
        return self._endpoints.get(step.endpoint or self._own)

    def became(self, endpoint: Endpoint) -> None:
        """An endpoint stands differently by now."""
        self._endpoints[endpoint.name] = endpoint

    def decide(self, rule: Rule, memory: Memory, *, holds: bool | None, trouble: str | None) -> Decision:
        """What a rule does, whose condition holds or not."""
        return decide(rule, Sight(self.now, holds, trouble), memory, done=self._done)

    def calls(self, rule: Rule, step: Step) -> list[tuple[Endpoint, Call]]:
        """The tools that a step calls, and on whom; none if there is nobody of that name."""
        endpoint = self.meant(step)
        if endpoint is None:
            return []
        return [(endpoint, call) for call in calls(step, endpoint, rule=rule, now=self.now)]

    def _done(self, step: Step) -> bool:
        endpoint = self.meant(step)
        return endpoint is not None and already(step, endpoint, self.now)
