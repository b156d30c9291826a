"""The variables that conditions of rules can read, and the endpoints that their steps act on."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from cadenza.domain.json_values import Json
from cadenza.domain.planning.analysis import ToolRequest
from cadenza.domain.planning.health import COUNTED
from cadenza.domain.planning.rules.incidents import Evaluation, IncidentState, RuleDecision, decide
from cadenza.domain.planning.rules.rule import Rule, Step
from cadenza.domain.planning.rules.steps import has_no_effect, is_outranked, tool_requests
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.slots import cadence_ms
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.domain.validation import milliseconds

Variables = Mapping[str, Any]
VARIABLES = ("response", "run", "recent", "siblings", "endpoint", "now")
ANY_NAME = "*"


class ListOf(NamedTuple):
    """A list whose elements have these fields."""

    element: "Fields"


Fields = Mapping[str, "Fields"] | ListOf | None
"""The fields of a variable, `*` for any name; a plain value has none, and None may have any."""


def rule_variables(
    endpoint: Endpoint,
    now: datetime,
    *,
    is_new: bool = False,
    recent: Sequence[Run] = (),
    siblings: Mapping[str, Endpoint] | None = None,
    latest: Mapping[str, Run] | None = None,
) -> dict[str, Any]:
    """The variables of an endpoint; `recent` has its newest run first, and slots without a run are left out.

    `run.is_new` is true when the analysis was triggered by that run.
    """
    ran = [_past_run(endpoint, run) for run in recent if run.status in COUNTED]
    newest = ran[0] if ran else {"response": {}, "run": {}}
    return {
        "response": newest["response"],
        "run": {**newest["run"], "is_new": bool(ran) and is_new},
        "recent": ran,
        "siblings": {
            name: _sibling(one, (latest or {}).get(name), now) for name, one in (siblings or {}).items()
        },
        "endpoint": {
            "name": endpoint.name,
            "labels": dict(endpoint.labels),
            **_schedule(endpoint, now),
        },
        "now": now,
    }


def _past_run(endpoint: Endpoint, run: Run) -> dict[str, Any]:
    return {"response": _response(endpoint, run), "run": _run(run)}


def _run(run: Run) -> dict[str, Any]:
    return {
        "status": str(run.status),
        "late_ms": run.late_ms,
        "attempt": run.attempt,
        "source": str(run.source),
    }


def _response(endpoint: Endpoint, run: Run) -> dict[str, Any]:
    """What a run has shown: its response by its parts, whether it succeeded, and how long it took."""
    values: dict[str, Any] = {"ok": run.status is RunStatus.SUCCESS, "latency_ms": run.duration_ms}
    return values | response_parts(endpoint.target, run.response)


def response_parts(target: object, response: Json) -> dict[str, Any]:
    """An HTTP response by its parts; what a function or a tool returned is the body."""
    if not isinstance(target, HttpTarget):
        return {} if response is None else {"body": response}
    parts, values = response if isinstance(response, dict) else {}, dict[str, Any]()
    for name, part in (("status", "status"), ("headers", "headers"), ("body", "text"), ("body", "body")):
        if part in parts:
            values[name] = parts[part]
    return values


def _sibling(endpoint: Endpoint, latest: Run | None, now: datetime) -> dict[str, Any]:
    values = _schedule(endpoint, now)
    if latest is not None and latest.status in COUNTED:
        values["last"] = _response(endpoint, latest)
    if endpoint.next_run_at is not None:
        values["next_in_ms"] = max(0, (endpoint.next_run_at - now) // milliseconds(1))
    return values


def _schedule(endpoint: Endpoint, now: datetime) -> dict[str, Any]:
    values: dict[str, Any] = {"paused": endpoint.paused(now), "failures": endpoint.failure_count}
    interval_ms = cadence_ms(endpoint, now)
    return values if interval_ms is None else values | {"interval_ms": interval_ms}


def sample_variables(response: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of an endpoint to which all has happened, with this response."""
    now = datetime(2025, 1, 1, tzinfo=UTC)
    endpoint = Endpoint(id="sample", name="sample", target=HttpTarget("https://example.com"), next_run_at=now)
    run = Run(
        id="run",
        tenant_id=endpoint.tenant_id,
        job_id=endpoint.job_id,
        endpoint_id=endpoint.id,
        slot=now,
        due_at=now,
        attempt=1,
        source=Source.BASELINE_INTERVAL,
        claimed_at=now,
        status=RunStatus.SUCCESS,
        duration_ms=120,
        response=dict(response),
    )
    siblings, latest = {ANY_NAME: endpoint}, {ANY_NAME: run}
    return rule_variables(endpoint, now, is_new=True, recent=[run, run], siblings=siblings, latest=latest)


def variable_fields() -> dict[str, Fields]:
    """The fields of every variable, found in a sample of them."""
    sample = sample_variables({"status": 200, "headers": {}, "body": None})
    return {name: fields_of(value) for name, value in sample.items()}


def fields_of(value: Any) -> Fields:
    """The fields of a value; an empty mapping, such as labels and headers, has a plain value for any name."""
    match value:
        case {}:
            return {name: fields_of(inner) for name, inner in value.items()} or {ANY_NAME: {}}
        case [first, *_]:
            return ListOf(fields_of(first))
        case None:
            return None
        case _:
            return {}


class RuleContext:
    """An endpoint and its siblings at one moment; steps that were taken update the endpoints."""

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
        self.variables = rule_variables(
            endpoint, now, is_new=is_new, recent=recent, siblings=siblings, latest=latest
        )
        self._own_name = endpoint.name
        self._endpoints = {**(siblings or {}), endpoint.name: endpoint}

    def endpoint_of(self, step: Step) -> Endpoint | None:
        """The endpoint a step acts on, as it is by now; None if the job has none of that name."""
        return self._endpoints.get(step.endpoint or self._own_name)

    def update(self, endpoint: Endpoint) -> None:
        """Replace an endpoint after it was steered."""
        self._endpoints[endpoint.name] = endpoint

    def decide(self, rule: Rule, state: IncidentState, evaluation: Evaluation) -> RuleDecision:
        """What a rule does, given its evaluated condition."""
        return decide(
            rule,
            state,
            evaluation,
            now=self.now,
            has_no_effect=self._has_no_effect,
            is_outranked=partial(self._is_outranked, rule),
        )

    def tool_requests(self, rule: Rule, step: Step) -> list[tuple[Endpoint, ToolRequest]]:
        """The tools that a step calls and the endpoint they act on; none if there is no such endpoint."""
        endpoint = self.endpoint_of(step)
        if endpoint is None:
            return []
        return [(endpoint, request) for request in tool_requests(step, endpoint, rule=rule, now=self.now)]

    def _is_outranked(self, rule: Rule, step: Step) -> bool:
        endpoint = self.endpoint_of(step)
        return endpoint is not None and is_outranked(step, endpoint, rule=rule, now=self.now)

    def _has_no_effect(self, step: Step) -> bool:
        endpoint = self.endpoint_of(step)
        return endpoint is not None and has_no_effect(step, endpoint, self.now)
