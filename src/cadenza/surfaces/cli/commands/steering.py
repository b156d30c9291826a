"""`cadenza endpoints`: hints, pauses, what they would lead to, and one call of a target."""

from dataclasses import replace
from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import read_duration_ms
from cadenza.surfaces.cli.argument_parsing import later, minutes, pause_end
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions, OperationClient
from cadenza.surfaces.cli.lookup import ENDPOINT, ask_about, job_filter
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.parameters import AnEndpoint, AtRank, Labels, OfJob, Reason
from cadenza.surfaces.cli.written_words import Fills

OneOrSeveral = Annotated[
    str | None,
    Parameter(help="One endpoint, by id or name; or several, with --label and --job."),
    Fills("endpoint_id"),
]
Every = Annotated[str, Parameter(help="The interval between runs: 20s, 5m, 1h30m."), Fills("intervalMs")]
For = Annotated[str, Parameter(name="--for", help="How long the hint is valid."), Fills("ttlMinutes")]
ForOrNot = Annotated[
    str | None,
    Parameter(name="--for", help="How long the hint is valid; 30 minutes after its time if not given."),
    Fills("ttlMinutes"),
]
In = Annotated[str | None, Parameter(name="--in", help="A duration from now."), Fills("nextRunInMs")]
At = Annotated[
    str | None, Parameter(help="A time, such as 2030-01-31T12:00:00Z, or now."), Fills("nextRunAtIso")
]
Until = Annotated[
    str,
    Parameter(help="A date (UTC), a time, a duration from now, or resumed: until it is resumed."),
    Fills("untilIso"),
]
IfEvery = Annotated[
    str | None, Parameter(help="Preview this interval: 20s, 5m, 1h30m."), Fills("arguments.intervalMs")
]
IfIn = Annotated[
    str | None,
    Parameter(name="--in", help="Preview one run after this duration."),
    Fills("arguments.nextRunInMs"),
]
IfUntil = Annotated[
    str | None,
    Parameter(help="Preview a pause until a date, a time, after a duration, or until resumed."),
    Fills("arguments.untilIso"),
]
IfResumed = Annotated[bool, Parameter(negative="", help="Preview a resume.")]
IfRunNow = Annotated[bool, Parameter(negative="", help="Preview a run now.")]
IfCleared = Annotated[bool, Parameter(negative="", help="Preview clearing its hints.")]


class SteeringCommands(Commands):
    """Steering: hints, pauses, trials."""

    @example('traffic --every 20s --for 1h --reason "flash sale"')
    def tighten(
        self,
        endpoint: AnEndpoint,
        /,
        *,
        every: Every,
        for_: For = "1h",
        reason: Reason = None,
        rank: AtRank = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Set a shorter or longer interval for a limited time; then the baseline applies again."""
        given = {"intervalMs": read_duration_ms("--every", every), "ttlMinutes": minutes("--for", for_)}
        connection = replace(connection, rank=rank)
        return self._ask(connection, "propose_interval", endpoint, **given, **_reason(reason))

    @example("traffic --in 5m")
    def next(
        self,
        endpoint: AnEndpoint,
        /,
        *,
        in_: In = None,
        at: At = None,
        for_: ForOrNot = None,
        reason: Reason = None,
        rank: AtRank = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Run once at a time or after a duration, within the guard."""
        if (in_ is None) == (at is None):
            raise InvalidRequest("Use either --in or --at.", "--in")
        given: dict[str, Any] = {} if for_ is None else {"ttlMinutes": minutes("--for", for_)}
        if in_ is not None:
            given["nextRunInMs"] = read_duration_ms("--in", in_)
        if at is not None:
            given["nextRunAtIso"] = (
                "now" if at.strip().lower() == "now" else later("--at", at, self.clock(connection))
            )
        connection = replace(connection, rank=rank)
        return self._ask(connection, "propose_next_time", endpoint, **given, **_reason(reason))

    @example("--label team=web --until 2h")
    def pause(
        self,
        endpoint: OneOrSeveral = None,
        /,
        *,
        until: Until = "resumed",
        job: OfJob = None,
        label: Labels = (),
        reason: Reason = None,
        rank: AtRank = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Pause one endpoint, or all endpoints of a job or with labels, until a time or until resumed."""
        given = {"untilIso": pause_end("--until", until, self.clock(connection)), **_reason(reason)}
        connection = replace(connection, rank=rank)
        if _one(endpoint, job, label) is not None:
            return self._ask(connection, "pause_until", str(endpoint), **given)
        return self._ask_many(connection, "pause_endpoints", job=job, label=label, given=given)

    @example("traffic")
    def resume(
        self,
        endpoint: OneOrSeveral = None,
        /,
        *,
        job: OfJob = None,
        label: Labels = (),
        reason: Reason = None,
        rank: AtRank = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Resume one endpoint, or all of a job or with labels."""
        given, connection = _reason(reason), replace(connection, rank=rank)
        if _one(endpoint, job, label) is not None:
            return self._ask(connection, "pause_until", str(endpoint), untilIso=None, **given)
        return self._ask_many(connection, "resume_endpoints", job=job, label=label, given=given)

    @example("traffic")
    def test(self, endpoint: AnEndpoint, /, *, connection: CliOptions = AS_CONFIGURED) -> int:
        """Call the target of an endpoint once, without recording a run. Exits with 1 if it fails."""
        return self.answer_trial(
            connection, lambda client: ask_about(client, ENDPOINT, endpoint, "test_endpoint")
        )

    @example("traffic --every 20s")
    def preview(
        self,
        endpoint: AnEndpoint,
        /,
        *,
        every: IfEvery = None,
        in_: IfIn = None,
        until: IfUntil = None,
        resume: IfResumed = False,
        run_now: IfRunNow = False,
        clear: IfCleared = False,
        rank: AtRank = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Preview the effect of steering an endpoint (dry run, no changes made)."""
        calls: dict[str, tuple[str, dict[str, Any]]] = {}
        if every is not None:
            calls["--every"] = ("propose_interval", {"intervalMs": read_duration_ms("--every", every)})
        if in_ is not None:
            calls["--in"] = ("propose_next_time", {"nextRunInMs": read_duration_ms("--in", in_)})
        if until is not None:
            end = pause_end("--until", until, self.clock(connection))
            calls["--until"] = ("pause_until", {"untilIso": end})
        calls |= _flags(resume=resume, run_now=run_now, clear=clear)
        if len(calls) != 1:
            choices = "Use one of --every, --in, --until, --resume, --run-now and --clear."
            raise InvalidRequest(choices, "--every")
        ((tool, arguments),) = calls.values()
        given = {"tool": tool, "arguments": arguments}
        connection = replace(connection, rank=rank)
        return self._ask(connection, "preview_steering", endpoint, **given)

    def _ask(self, connection: CliOptions, operation: str, endpoint: str, **given: Any) -> int:
        return self.answer(
            connection, lambda client: ask_about(client, ENDPOINT, endpoint, operation, **given), operation
        )

    def _ask_many(
        self,
        connection: CliOptions,
        operation: str,
        *,
        job: str | None,
        label: tuple[str, ...],
        given: dict[str, Any],
    ) -> int:
        async def request(client: OperationClient) -> Any:
            labels = {"label": list(label)} if label else {}
            return await client.ask(operation, {**await job_filter(client, job), **labels, **given})

        return self.answer(connection, request, operation)


def _reason(reason: str | None) -> dict[str, Any]:
    return {} if reason is None else {"reason": reason}


def _one(endpoint: str | None, job: str | None, label: tuple[str, ...]) -> str | None:
    """One endpoint, or None for several; naming neither is refused, so that nothing stops all by accident."""
    several = job is not None or bool(label)
    if (endpoint is None) != several:
        raise InvalidRequest("Give one endpoint, or --label or --job for several.", "endpoint")
    return endpoint


def _flags(*, resume: bool, run_now: bool, clear: bool) -> dict[str, tuple[str, dict[str, Any]]]:
    flags = {
        "--resume": (resume, ("pause_until", {"untilIso": None})),
        "--run-now": (run_now, ("run_now", {})),
        "--clear": (clear, ("clear_hints", {})),
    }
    return {name: call for name, (wanted, call) in flags.items() if wanted}
