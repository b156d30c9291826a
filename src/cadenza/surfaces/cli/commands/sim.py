"""`cadenza sim`: play a scenario and judge it, or play recorded history under another policy."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

from cyclopts import App, Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.argument_parsing import whole_number
from cadenza.surfaces.cli.connection import CliOptions
from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.launchers import Launchers, ReplayRequest, SimLauncher

SCENARIOS = {
    "flash-sale": "Forty minutes of a flash sale with ten endpoints in four tiers.",
    "system-resources": "Forty minutes of one host, fifteen of them busy.",
}

AsPublished = Annotated[
    bool, Parameter(help="Play the rules that were published, instead of the product's own.")
]
Json = Annotated[bool, Parameter(help="Print one JSON document instead of tables.")]
StepSeconds = Annotated[
    int,
    Parameter(converter=whole_number, help="How far the clock moves between two ticks: 1, 2, 5 or 10."),
]
PlannerOption = Annotated[
    str | None,
    Parameter(help="Who steers instead of the policies: rules, rules:FILE, learned or scripted."),
]
EndpointOption = Annotated[str | None, Parameter(help="The endpoint's id, or its name if no other has it.")]
WholeJob = Annotated[str | None, Parameter(help="All endpoints of this job, together.")]
Policies = Annotated[
    tuple[str, ...],
    Parameter(
        help="baseline, fixed:30s, backoff, aimd, learned or rules:FILE; several times for several policies."
    ),
]
Since = Annotated[str | None, Parameter(help="From this moment on, or the last 24h.")]
Most = Annotated[
    int, Parameter(converter=whole_number, help="How many recorded runs of each endpoint, the newest.")
]
Tenant = Annotated[str | None, Parameter(help="Whose endpoints.")]


def sim_app(launchers: Launchers) -> App:
    """The scenarios and the replay as commands."""
    app = App(
        name="sim",
        help="Simulate a scenario with Cadenza's own scheduler and a simulated clock, and check the result.",
        help_epilogue="Example: cadenza sim flash-sale",
    )
    for scenario, story in SCENARIOS.items():
        app.command(
            scenario_command(launchers.sim, scenario),
            name=scenario,
            help=f"{story} Exits with 1 when a check fails.",
            help_epilogue=f"Example: cadenza sim {scenario} --json",
        )
    app.command(
        replay_command(launchers),
        name="replay",
        help="Replay recorded history with other policies: runs, and the delay until changes are detected.",
        help_epilogue="Example: cadenza sim replay --endpoint checkout --policy fixed:30s --policy learned",
    )
    return app


def scenario_command(launch: SimLauncher, scenario: str) -> Callable[..., int]:
    """The command that plays one scenario."""

    def command(
        *,
        as_published: AsPublished = False,
        planner: PlannerOption = None,
        json: Json = False,
        step_seconds: StepSeconds = 5,
    ) -> int:
        report = launch(scenario, as_published=as_published, step_seconds=step_seconds, planner=planner)
        if json:
            from cadenza.sim.report import document
            from cadenza.surfaces.cli.output.stdout import write_json

            write_json(document(report))
        else:
            from cadenza.surfaces.cli.output.simulation_tables import report_parts
            from cadenza.surfaces.cli.output.terminal import show

            show(*report_parts(report))
        return Exit.DONE if report.passed else Exit.FAILED_CHECK

    return command


def replay_command(launchers: Launchers) -> Callable[..., int]:
    """The command that plays recorded history."""

    def command(
        *,
        endpoint: EndpointOption = None,
        job: WholeJob = None,
        policy: Policies = (),
        since: Since = None,
        most: Most = 5_000,
        tenant: Tenant = None,
        json: Json = False,
    ) -> int:
        begin = _begin(since, lambda: launchers.now(CliOptions(server=""))) if since is not None else None
        if (endpoint is None) == (job is None):
            raise InvalidRequest(
                "Give --endpoint for one endpoint, or --job for all endpoints of a job.", "endpoint"
            )
        if not policy:
            raise InvalidRequest("Give at least one --policy, such as fixed:30s.", "policy")
        replayed = launchers.replay(ReplayRequest(endpoint, job, policy, begin, most, tenant))
        if json:
            from cadenza.sim.replay.report import replay_document
            from cadenza.surfaces.cli.output.stdout import write_json

            write_json(replay_document(replayed))
        else:
            from cadenza.surfaces.cli.output.simulation_tables import replay_parts
            from cadenza.surfaces.cli.output.terminal import show

            show(*replay_parts(replayed))
        return Exit.DONE

    return command


def _begin(since: str, now: Callable[[], datetime]) -> datetime:
    from cadenza.surfaces.cli.argument_parsing import earlier

    return datetime.fromisoformat(earlier("--since", since, now))
