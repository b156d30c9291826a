"""The tools of a model: steering, queries about its job, and submitting its analysis."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from datetime import timedelta
from typing import Annotated, Any, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from cadenza.adapters.planners.change_detection import was_executed
from cadenza.adapters.planners.llm.briefing import health_data, quoted_json, response_data, runs_data
from cadenza.adapters.planners.llm.client import ToolSchema
from cadenza.domain.errors import CadenzaError, NotAllowed, NotFound
from cadenza.domain.field_faults import refuse_fields
from cadenza.domain.planning.health import MOST_COUNTED, WINDOWS_H, health
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.validation import iso, quoted
from cadenza.ports.catalog import Page
from cadenza.ports.planning import Briefing, CallTool
from cadenza.ports.scheduling import RunFilter, RunStore

ENDPOINT = "endpoint"
WHICH = "The name of this endpoint or of one of its siblings; this one, if left out."
LONGEST_ANSWER = 6_000
MOST_LOOK_AGAIN_MINUTES = 7 * 24 * 60


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


Arguments = TypeVar("Arguments", bound=_Arguments)
EndpointName = Annotated[str | None, Field(description=WHICH)]


class ListRunsQuery(_Arguments):
    """List runs further back than those you were shown, newest first."""

    endpoint: EndpointName = None
    beforeIso: Annotated[  # noqa: N815 - as the steering tools spell theirs
        AwareDatetime | None, Field(description="Only runs that finished before this moment.")
    ] = None
    limit: Annotated[int, Field(strict=True, ge=1, le=20)] = 10


class LatestResponseQuery(_Arguments):
    """Show what an endpoint last answered."""

    endpoint: Annotated[str, Field(description="The name of this endpoint or of one of its siblings.")]


class HealthQuery(_Arguments):
    """Summarize the runs of an endpoint over the last 1, 4 and 24 hours."""

    endpoint: EndpointName = None


class SubmitAnalysis(_Arguments):
    """Finish by submitting your analysis."""

    reasoning: Annotated[
        str, Field(min_length=1, description="What you saw, what you did and why, in a few sentences.")
    ]
    confidence: Annotated[float, Field(ge=0, le=1, description="How sure you are, from 0 to 1.")]
    look_again_minutes: Annotated[
        Annotated[float, Field(gt=0, le=MOST_LOOK_AGAIN_MINUTES)] | None,
        Field(description="After how many minutes to look again, if nothing happens before; null for never."),
    ] = None


QUERIES: Mapping[str, type[_Arguments]] = {
    "list_runs": ListRunsQuery,
    "latest_response": LatestResponseQuery,
    "get_health": HealthQuery,
}
SUBMIT = "submit_analysis"


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without titles, which would only cost tokens."""
    copy = deepcopy(schema)
    copy.pop("title", None)
    copy.pop("description", None)
    for field in copy.get("properties", {}).values():
        field.pop("title", None)
    return copy


def query_schema(name: str, asked: type[_Arguments]) -> ToolSchema:
    """The schema of a query, or of submitting, as a model sees it."""
    return ToolSchema(name, (asked.__doc__ or "").strip(), _without_titles(asked.model_json_schema()))


def steering_schema(shape: ToolSchema, names: Sequence[str]) -> ToolSchema:
    """A steering tool that takes one of these endpoint names."""
    schema = _without_titles(shape.schema)
    properties = {ENDPOINT: {"type": "string", "enum": list(names), "description": WHICH}}
    return shape._replace(schema=schema | {"properties": properties | schema.get("properties", {})})


SUBMIT_SCHEMA = query_schema(SUBMIT, SubmitAnalysis)


class AnalysisTools:
    """The tools of one analysis; an error of a call is returned to the model as its result."""

    def __init__(
        self,
        briefing: Briefing,
        call: CallTool,
        *,
        store: RunStore,
        steering: Sequence[ToolSchema],
        most_tool_calls: int,
    ) -> None:
        self._briefing = briefing
        self._call = call
        self._store = store
        self._endpoints = {**briefing.siblings, briefing.endpoint.name: briefing.endpoint}
        self._steering = {shape.name: steering_schema(shape, list(self._endpoints)) for shape in steering}
        self._calls_left = most_tool_calls
        self.submitted: SubmitAnalysis | None = None

    @property
    def tool_schemas(self) -> list[ToolSchema]:
        """All tools except submitting."""
        return [*self._steering.values(), *(query_schema(name, asked) for name, asked in QUERIES.items())]

    async def answer(self, tool: str, arguments: Mapping[str, Any], *, only_end: bool) -> str:
        """The result of a call, or why it was refused."""
        try:
            if only_end and tool != SUBMIT:
                raise NotAllowed(f"No steps left; only {SUBMIT} can be called.")
            return await self._answer(tool, arguments)
        except CadenzaError as problem:
            return quoted_json({"refused": problem.message})

    async def _answer(self, tool: str, arguments: Mapping[str, Any]) -> str:
        if tool == SUBMIT:
            self.submitted = parsed(SubmitAnalysis, arguments)
            return quoted_json({"done": True})
        if tool in self._steering:
            return await self._steer(tool, arguments)
        if tool in QUERIES:
            return await self._query(parsed(QUERIES[tool], arguments))
        there = ", ".join((*self._steering, *QUERIES, SUBMIT))
        raise NotFound(f"Tool {quoted(tool)} not found; available are {there}.")

    async def _steer(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Steer an endpoint; the call itself checks its arguments and permissions."""
        endpoint = self._endpoint_named(arguments.get(ENDPOINT))
        if not self._calls_left:
            raise NotAllowed(f"Tool limit reached: finish with {SUBMIT}.")
        self._calls_left -= 1
        given = {name: value for name, value in arguments.items() if name != ENDPOINT}
        changed = await self._call(endpoint, tool, given)
        steered, note = changed.endpoint, {"note": changed.note} if changed.note else {}
        next_run_at = steered.next_run_at and iso(steered.next_run_at)
        return quoted_json(
            {"endpoint": steered.name, "next_run_at": next_run_at, "source": steered.next_source, **note}
        )

    async def _query(self, asked: _Arguments) -> str:
        match asked:
            case ListRunsQuery():
                return await self._runs(asked)
            case LatestResponseQuery():
                return await self._latest(self._endpoint_named(asked.endpoint))
            case HealthQuery():
                return await self._health(self._endpoint_named(asked.endpoint))
            case _:
                raise AssertionError(asked)

    async def _runs(self, asked: ListRunsQuery) -> str:
        endpoint = self._endpoint_named(asked.endpoint)
        wanted = RunFilter(endpoint_id=endpoint.id, until=asked.beforeIso)
        found = await self._store.find_runs(endpoint.tenant_id, wanted=wanted, page=Page(asked.limit))
        return quoted_json(runs_data(found.runs, most_characters=LONGEST_ANSWER))

    async def _latest(self, endpoint: Endpoint) -> str:
        wanted = RunFilter(endpoint_id=endpoint.id)
        found = await self._store.find_runs(endpoint.tenant_id, wanted=wanted, page=Page(20))
        run = next(filter(was_executed, found.runs), None)
        if run is None:
            raise NotFound(f"{endpoint.name} has not answered yet.")
        response = response_data(run, most=LONGEST_ANSWER)
        return quoted_json(
            {"at": iso(run.started_at or run.due_at), "status": run.status, "response": response}
        )

    async def _health(self, endpoint: Endpoint) -> str:
        now = self._briefing.now
        since = now - timedelta(hours=max(WINDOWS_H))
        ended = await self._store.ended(endpoint.key, since=since, limit=MOST_COUNTED)
        return quoted_json(health_data(health(ended, now)))

    def _endpoint_named(self, name: Any) -> Endpoint:
        """The endpoint of this job with this name; the analyzed one if the name is None."""
        if name is None:
            return self._briefing.endpoint
        endpoint = self._endpoints.get(name) if isinstance(name, str) else None
        if endpoint is None:
            raise NotFound(f"Endpoint {quoted(name)} not found; available are {', '.join(self._endpoints)}.")
        return endpoint


def parsed(kind: type[Arguments], arguments: Mapping[str, Any]) -> Arguments:
    """The validated arguments; InvalidRequest with what is wrong otherwise."""
    try:
        return kind.model_validate(arguments)
    except ValidationError as problem:
        raise refuse_fields(kind.model_json_schema(), arguments, problem.errors(include_url=False)) from None
