"""Which target a process runs for each daily programme."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import NamedTuple

from cadenza.adapters.daily.callable_target import CallableTargetRunner
from cadenza.domain.daily.keys import DAILY, ProgrammeKey
from cadenza.domain.daily.programme import Programme, ProgrammePrompt
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget
from cadenza.ports.daily import DailyTargetRunner
from cadenza.ports.telemetry import Logger
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.daily.target import (
    MakeRunner,
    TargetRunners,
    daily_target,
    open_target_runners,
)
from cadenza.roots.wiring.worker import ProcessContext

MOST_TOLD = 20
"""So many programmes without a target are warned of, each once."""


class DeclaredFunction(NamedTuple):
    """A function that a program declares for a programme."""

    name: str
    runner: CallableTargetRunner


NO_FUNCTIONS: Mapping[str, DeclaredFunction] = {}


class TargetsByProgramme:
    """Finds what runs a programme.

    1. Its own target: a request, a prompt, or a function: the one that the program declares for it, else
       one by its name.
    2. Otherwise the function that the program declares for it.
    3. Otherwise the target of the settings.
    """

    def __init__(
        self,
        log: Logger,
        *,
        runners: TargetRunners | None = None,
        default: MakeRunner | None = None,
        functions: Mapping[str, DeclaredFunction] = NO_FUNCTIONS,
    ) -> None:
        self._log = log
        self._runners = runners
        self._default = default
        self._functions = functions
        self._made: dict[ProgrammeKey, tuple[Programme, DailyTargetRunner]] = {}
        self._told: set[ProgrammeKey] = set()

    @property
    def stand_in(self) -> bool:
        """Whether another process that has a target is to be preferred."""
        return self._default is None and not self._functions

    def runner_for(self, programme: Programme) -> DailyTargetRunner | None:
        """The runner of a programme's target; without one, a warning is logged once."""
        made = self._made.get(programme.key)
        if made is not None and made[0] == programme:
            return made[1]
        runner = self._runner(programme)
        if runner is None:
            self._tell(programme)
            return None
        self._made[programme.key] = (programme, runner)
        return runner

    def _runner(self, programme: Programme) -> DailyTargetRunner | None:
        match programme.target:
            case HttpTarget() as target:
                return None if self._runners is None else self._runners.http(target, programme)
            case ProgrammePrompt() as target:
                return None if self._runners is None else self._runners.prompt(target, programme)
            case CallableTarget() | None if programme.id in self._functions:
                return self._functions[programme.id].runner
            case CallableTarget(function):
                return next((one.runner for one in self._functions.values() if one.name == function), None)
            case None:
                return None if self._default is None else self._default(programme)

    def _tell(self, programme: Programme) -> None:
        if programme.key in self._told or len(self._told) == MOST_TOLD:
            return
        self._told.add(programme.key)
        if programme.id == DAILY and programme.target is None and not self._functions:
            self._log.warning("daily users are due, but CADENZA_DAILY_TARGET is not set")
        else:
            self._log.warning(
                "daily users are due, but this process has no target for their programme",
                tenant=programme.tenant_id,
                programme=programme.id,
            )


async def open_targets(
    stack: AsyncExitStack,
    settings: Settings,
    context: ProcessContext,
    functions: Mapping[str, DeclaredFunction] = NO_FUNCTIONS,
) -> TargetsByProgramme:
    """The targets of programmes, of the settings, and the functions of a program, closed with the stack."""
    runners = await open_target_runners(stack, settings, context)
    for function in functions.values():
        stack.callback(function.runner.close)
    target = None if functions else daily_target(settings)
    default = None if target is None else runners.of_settings(stack, target)
    return TargetsByProgramme(context.log, runners=runners, default=default, functions=functions)


def same_target(log: Logger, runner: DailyTargetRunner) -> TargetsByProgramme:
    """The same runner for every programme that has no target of its own."""
    return TargetsByProgramme(log, default=lambda _: runner)
