"""`cadenza sim`: play a scenario and judge it."""

from collections.abc import Callable
from typing import Annotated

from cyclopts import App, Parameter

from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.launchers import SimLauncher
from cadenza.surfaces.cli.parameters import whole_number

SCENARIOS = {
    "flash-sale": "Forty minutes of a flash sale, watched by ten endpoints in four tiers.",
    "system-resources": "Forty minutes of one host, with a busy quarter of an hour.",
}

AsPublished = Annotated[
    bool, Parameter(help="Play the rules that were published, instead of the product's own.")
]
Json = Annotated[bool, Parameter(help="Print one JSON document instead of tables.")]
StepSeconds = Annotated[
    int,
    Parameter(converter=whole_number, help="How far the clock moves between two ticks: 1, 2, 5 or 10."),
]


def sim_app(launch: SimLauncher) -> App:
    """The scenarios as commands."""
    app = App(
        name="sim",
        help="Play a scenario on the product's own scheduler, with a clock that jumps, and judge it.",
        help_epilogue="Example: cadenza sim flash-sale",
    )
    for scenario, story in SCENARIOS.items():
        app.command(
            scenario_command(launch, scenario),
            name=scenario,
            help=f"{story} Exits with 1 when a check fails.",
            help_epilogue=f"Example: cadenza sim {scenario} --json",
        )
    return app


def scenario_command(launch: SimLauncher, scenario: str) -> Callable[..., int]:
    """The command that plays one scenario."""

    def command(
        *, as_published: AsPublished = False, json: Json = False, step_seconds: StepSeconds = 5
    ) -> int:
        report = launch(scenario, as_published=as_published, step_seconds=step_seconds)
        if json:
            from cadenza.sim.report import document
            from cadenza.surfaces.cli.stdout import write_json

            write_json(document(report))
        else:
            from cadenza.surfaces.cli.sim_report import report_parts
            from cadenza.surfaces.cli.terminal import show

            show(*report_parts(report))
        return Exit.DONE if report.passed else Exit.FAILED_CHECK

    return command
