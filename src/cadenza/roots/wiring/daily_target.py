"""What is done for each user daily, as `CADENZA_DAILY_TARGET` says it."""

import json
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from cadenza.adapters.daily.callable_target import CallableTargetRunner
from cadenza.adapters.daily.http_target import HttpTargetRunner
from cadenza.adapters.dispatch.by_target import DispatcherByTarget
from cadenza.adapters.dispatch.http.dispatcher import HttpDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.field_faults import WHOLE_DOCUMENT, refuse_fields
from cadenza.domain.validation import quoted
from cadenza.engine.daily.prompt_target import PromptTargetRunner
from cadenza.operations.fields import Id, Name, Text
from cadenza.operations.scheduling.schemas import HttpShape, Shape
from cadenza.ports.daily import DailyTargetRunner
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.agents import conversations
from cadenza.roots.wiring.application import dependencies
from cadenza.roots.wiring.http_dispatch import http_dispatcher
from cadenza.roots.wiring.secrets import open_secrets
from cadenza.roots.wiring.worker import ProcessContext

HINT = 'write a URL, or {"kind": "http" | "prompt" | "callable", ...} as JSON.'


class DailyHttp(HttpShape):
    """A request; `tenant_id`, `user_id` and `service_date` are added to its JSON body."""

    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "POST"


class DailyPrompt(Shape):
    """A message to an agent, in the conversation of each user."""

    kind: Literal["prompt"]
    agent_id: Id
    prompt: Text


class DailyCallable(Shape):
    """A Python function of user id and service date, as `module:name`."""

    kind: Literal["callable"]
    function: Name


DailyTarget = DailyHttp | DailyPrompt | DailyCallable
SHAPES: TypeAdapter[DailyTarget] = TypeAdapter(Annotated[DailyTarget, Field(discriminator="kind")])


def daily_target(settings: Settings) -> DailyTarget | None:
    """The target of the settings, if there is one; InvalidRequest if it cannot be read."""
    if settings.daily_target is None:
        return None
    written = settings.daily_target.get_secret_value().strip()
    given = written if written.startswith("{") else json.dumps({"kind": "http", "url": written})
    try:
        return SHAPES.validate_json(given, strict=False)
    except ValidationError as problem:
        refusal = refuse_fields(SHAPES.json_schema(), {}, problem.errors(include_url=False))
        raise _wrong(HINT if refusal.field == WHOLE_DOCUMENT else refusal.message) from None


async def open_target_runner(
    stack: AsyncExitStack, settings: Settings, context: ProcessContext, target: DailyTarget
) -> DailyTargetRunner:
    """The runner of such jobs, closed with the stack."""
    stored = await stack.enter_async_context(open_secrets(settings))
    match target:
        case DailyCallable():
            functions = CallableTargetRunner(_function(target.function))
            stack.callback(functions.close)
            return functions
        case DailyPrompt():
            trials = DispatcherByTarget(callables=context.callables)
            given = dependencies(
                store=context.store, clock=context.clock, log=context.log, dispatcher=trials, secrets=stored
            )
            http = http_dispatcher(settings, stored, clock=context.clock, log=context.log)
            agents = conversations(settings, given, await stack.enter_async_context(http))
            return PromptTargetRunner(
                conversations=agents,
                store=context.store.conversations,
                agent_id=target.agent_id,
                prompt=target.prompt,
            )
        case DailyHttp():
            http = http_dispatcher(settings, stored, clock=context.clock, log=context.log)
            target_runner = _http(target, http, settings, context)
            await stack.enter_async_context(http)
            return target_runner


def _http(
    target: DailyHttp, http: HttpDispatcher, settings: Settings, context: ProcessContext
) -> HttpTargetRunner:
    try:
        return HttpTargetRunner(
            target.to_domain(),
            dispatcher=http,
            clock=context.clock,
            ids=TimeOrderedIds(),
            timeout_ms=settings.job_timeout_ms,
        )
    except InvalidRequest as problem:
        raise _wrong(problem.message) from None


def _function(name: str) -> Callable[..., Any]:
    """The function of a module that can be imported from the working directory."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError):
        raise _wrong(f"function must be MODULE:NAME, and {quoted(name)} cannot be imported.") from None
    if not callable(function):
        raise _wrong(f"{name} is not a function.")
    return function  # type: ignore[no-any-return]


def _wrong(message: str) -> InvalidRequest:
    return InvalidRequest(f"CADENZA_DAILY_TARGET is invalid: {message}", "daily_target")
