"""What a model may call: the steering tools, queries about its job, and the end of the sitting."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from datetime import timedelta
from typing import Annotated, Any, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from cadenza.adapters.planners.change_detection import was_executed
from cadenza.adapters.planners.llm.briefing import health_told, quoted_json, response_told, runs_told
from cadenza.adapters.planners.llm.client import Shape
from cadenza.domain.errors import CadenzaError, InvalidRequest, NotAllowed, NotFound
from cadenza.domain.planning.health import MOST_COUNTED, WINDOWS_H, health
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.validation import iso, quoted
from cadenza.ports.catalog import Catalog, Page, RunFilter
from cadenza.ports.planning import Briefing, CallTool

ENDPOINT = "endpoint"
WHICH = "The name of this endpoint or of one of its siblings; this one, if left out."
LONGEST_ANSWER = 6_000
MOST_LOOK_AGAIN_MINUTES = 7 * 24 * 60


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")


Kind = TypeVar("Kind", bound=_Asked)
Named = Annotated[str | None, Field(description=WHICH)]


class ListRuns(_Asked):
    """List runs further back than those you were shown, newest first."""

    endpoint: Named = None
    beforeIso: Annotated[  # noqa: N815 - as the steering tools spell theirs
        AwareDatetime | None, Field(description="Only runs that finished before this moment.")
    ] = None
    limit: Annotated[int, Field(strict=True, ge=1, le=20)] = 10


class LatestResponse(_Asked):
    """Show what an endpoint last answered."""

    endpoint: Annotated[str, Field(description="The name of this endpoint or of one of its siblings.")]


class GetHealth(_Asked):
    """Sum up an endpoint's runs over the last 1, 4 and 24 hours."""

    endpoint: Named = None


class SubmitAnalysis(_Asked):
    """End the sitting with your analysis."""

    reasoning: Annotated[
        str, Field(min_length=1, description="What you saw, what you did and why, in a few sentences.")
    ]
    confidence: Annotated[float, Field(ge=0, le=1, description="How sure you are, from 0 to 1.")]
    look_again_minutes: Annotated[
        Annotated[float, Field(gt=0, le=MOST_LOOK_AGAIN_MINUTES)] | None,
        Field(description="After how many minutes to look again, if nothing happens before; null for never."),
    ] = None


QUERIES: Mapping[str, type[_Asked]] = {
    "list_runs": ListRuns,
    "latest_response": LatestResponse,
    "get_health": GetHealth,
}
SUBMIT = "submit_analysis"


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without the titles that a model reads for nothing."""
    copy = deepcopy(schema)
    copy.pop("title", None)
    copy.pop("description", None)
    for field in copy.get("properties", {}).values():
        field.pop("title", None)
    return copy


def shape_of(name: str, asked: type[_Asked]) -> Shape:
    """A query, or the end, as it is shown to a model."""
    return Shape(name, (asked.__doc__ or "").strip(), _bare(asked.model_json_schema()))


def for_endpoints(shape: Shape, names: Sequence[str]) -> Shape:
    """A steering tool that takes the endpoint by its name, and knows which names there are."""
    schema = _bare(shape.schema)
    properties = {ENDPOINT: {"type": "string", "enum": list(names), "description": WHICH}}
    return shape._replace(schema=schema | {"properties": properties | schema.get("properties", {})})


THE_END = shape_of(SUBMIT, SubmitAnalysis)


class Toolbox:
    """The tools of one sitting. Whatever is wrong with a call is its answer, for the model to read."""

    def __init__(
        self, briefing: Briefing, call: CallTool, *, store: Catalog, steering: Sequence[Shape], most_acts: int
    ) -> None:
        self._briefing = briefing
        self._call = call
        self._store = store
        self._endpoints = {**briefing.siblings, briefing.endpoint.name: briefing.endpoint}
        self._steering = {shape.name: for_endpoints(shape, list(self._endpoints)) for shape in steering}
        self._acts_left = most_acts
        self.submitted: SubmitAnalysis | None = None

    @property
    def shapes(self) -> list[Shape]:
        """Everything but the end."""
        return [*self._steering.values(), *(shape_of(name, asked) for name, asked in QUERIES.items())]

    async def answer(self, tool: str, arguments: Mapping[str, Any], *, only_end: bool) -> str:
        """What a call led to, or why it was refused."""
        try:
            if only_end and tool != SUBMIT:
                raise NotAllowed(f"There are no steps left; {SUBMIT} alone can be called.")
            return await self._answer(tool, arguments)
        except CadenzaError as problem:
            return quoted_json({"refused": problem.message})

    async def _answer(self, tool: str, arguments: Mapping[str, Any]) -> str:
        if tool == SUBMIT:
            self.submitted = understood(SubmitAnalysis, arguments)
            return quoted_json({"done": True})
        if tool in self._steering:
            return await self._act(tool, arguments)
        if tool in QUERIES:
            return await self._told(understood(QUERIES[tool], arguments))
        there = ", ".join((*self._steering, *QUERIES, SUBMIT))
        raise NotFound(f"There is no tool {quoted(tool)}; there are {there}.")

    async def _act(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Steer; who may not be steered, and with what words, is for whoever handed out the call to say."""
        endpoint = self._named(arguments.get(ENDPOINT))
        if not self._acts_left:
            raise NotAllowed(f"You have acted often enough; end with {SUBMIT}.")
        self._acts_left -= 1
        given = {name: value for name, value in arguments.items() if name != ENDPOINT}
        steered = (await self._call(endpoint, tool, given)).endpoint
        next_run_at = steered.next_run_at and iso(steered.next_run_at)
        return quoted_json(
            {"endpoint": steered.name, "next_run_at": next_run_at, "source": steered.next_source}
        )

    async def _told(self, asked: _Asked) -> str:
        match asked:
            case ListRuns():
                return await self._runs(asked)
            case LatestResponse():
                return await self._latest(self._named(asked.endpoint))
            case GetHealth():
                return await self._health(self._named(asked.endpoint))
            case _:
                raise AssertionError(asked)

    async def _runs(self, asked: ListRuns) -> str:
        endpoint = self._named(asked.endpoint)
        wanted = RunFilter(endpoint_id=endpoint.id, until=asked.beforeIso)
        found = await self._store.find_runs(endpoint.tenant_id, wanted=wanted, page=Page(asked.limit))
        return quoted_json(runs_told(found.runs, room=LONGEST_ANSWER))

    async def _latest(self, endpoint: Endpoint) -> str:
        wanted = RunFilter(endpoint_id=endpoint.id)
        found = await self._store.find_runs(endpoint.tenant_id, wanted=wanted, page=Page(20))
        run = next(filter(was_executed, found.runs), None)
        if run is None:
            raise NotFound(f"{endpoint.name} has not answered yet.")
        response = response_told(run, most=LONGEST_ANSWER)
        return quoted_json(
            {"at": iso(run.started_at or run.due_at), "status": run.status, "response": response}
        )

    async def _health(self, endpoint: Endpoint) -> str:
        now = self._briefing.now
        since = now - timedelta(hours=max(WINDOWS_H))
        ended = await self._store.ended(endpoint.key, since=since, limit=MOST_COUNTED)
        return quoted_json(health_told(health(ended, now)))

    def _named(self, name: Any) -> Endpoint:
        """The endpoint with this name, here in this job; this one, if nobody is named."""
        if name is None:
            return self._briefing.endpoint
        endpoint = self._endpoints.get(name) if isinstance(name, str) else None
        if endpoint is None:
            raise NotFound(
                f"There is no endpoint {quoted(name)} here; there are {', '.join(self._endpoints)}."
            )
        return endpoint


def understood(kind: type[Kind], arguments: Mapping[str, Any]) -> Kind:
    """The arguments as they are meant, or the first thing that is wrong with them."""
    try:
        return kind.model_validate(arguments)
    except ValidationError as problem:
        first = problem.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise InvalidRequest(f"{field or 'arguments'}: {first['msg']}.", field) from None
