"""What is done for each user daily, as `CADENZA_DAILY_TARGET` says it, and what runs it."""

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
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.domain.daily.programme import DAILY_PROGRAMME, Programme, ProgrammePrompt
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.field_faults import WHOLE_DOCUMENT, refuse_fields
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.domain.validation import quoted
from cadenza.engine.agents.conversation import Conversations
from cadenza.engine.daily.prompt_target import PromptTargetRunner
from cadenza.operations.daily.programme_schemas import DailyHttpShape, DailyPromptShape
from cadenza.operations.documented_models import Shape
from cadenza.operations.fields import Name
from cadenza.ports.daily import DailyTargetRunner
from cadenza.ports.dispatcher import Dispatcher
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.agents import conversations
from cadenza.roots.wiring.application import dependencies
from cadenza.roots.wiring.http_dispatch import http_dispatcher
from cadenza.roots.wiring.secrets import open_secrets
from cadenza.roots.wiring.worker import ProcessContext

HINT = 'write a URL, or {"kind": "http" | "prompt" | "callable", ...} as JSON.'
MakeRunner = Callable[[Programme], DailyTargetRunner]
"""Makes what runs a target for the users of a programme."""


class ImportedFunction(Shape):
    """A Python function of user id and service date, as `module:name`."""

    kind: Literal["callable"]
    function: Name


DailyTarget = DailyHttpShape | DailyPromptShape | ImportedFunction
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


class TargetRunners:
    """Makes what runs targets; it shares a dispatcher and the agents."""

    def __init__(
        self, settings: Settings, context: ProcessContext, *, http: Dispatcher, agents: Conversations
    ) -> None:
        self._settings = settings
        self._context = context
        self._http = http
        self._agents = agents

    def http(self, target: HttpTarget, programme: Programme) -> HttpTargetRunner:
        """Sends a request for each user of a programme."""
        return HttpTargetRunner(
            target,
            dispatcher=self._http,
            clock=self._context.clock,
            ids=TimeOrderedIds(),
            timeout_ms=programme.job_timeout_ms or self._settings.job_timeout_ms,
            programme_id=programme.id,
        )

    def prompt(self, target: ProgrammePrompt, programme: Programme) -> PromptTargetRunner:
        """Has an agent answer in the conversation of each user of a programme."""
        return PromptTargetRunner(
            conversations=self._agents,
            store=self._context.store.conversations,
            agent_id=target.agent_id,
            prompt=target.prompt,
            programme_id=programme.id,
        )

    def of_settings(self, stack: AsyncExitStack, target: DailyTarget) -> MakeRunner:
        """What runs the target of the settings, for any programme that has none of its own.

        InvalidRequest, which names the setting, if it cannot be run.
        """
        match target:
            case ImportedFunction():
                functions = CallableTargetRunner(_function(target.function))
                stack.callback(functions.close)
                return lambda _: functions
            case DailyPromptShape():
                prompt = target.to_domain()
                return lambda programme: self.prompt(prompt, programme)
            case DailyHttpShape():
                try:
                    request = target.to_domain()
                except InvalidRequest as problem:
                    raise _wrong(problem.message) from None
                return lambda programme: self.http(request, programme)


async def open_target_runners(
    stack: AsyncExitStack, settings: Settings, context: ProcessContext
) -> TargetRunners:
    """What targets need, closed with the stack."""
    stored = await stack.enter_async_context(open_secrets(settings))
    trials = DispatcherByTarget(callables=context.callables)
    given = dependencies(
        store=context.store, clock=context.clock, log=context.log, dispatcher=trials, secrets=stored
    )
    opening = http_dispatcher(settings, stored, clock=context.clock, log=context.log)
    http = await stack.enter_async_context(opening)
    agents = conversations(settings, given, http)
    return TargetRunners(settings, context, http=http, agents=agents)


async def open_target_runner(
    stack: AsyncExitStack, settings: Settings, context: ProcessContext, target: DailyTarget
) -> DailyTargetRunner:
    """The runner of a target of the settings for the programme `daily`, closed with the stack."""
    runners = await open_target_runners(stack, settings, context)
    return runners.of_settings(stack, target)(DAILY_PROGRAMME)


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
