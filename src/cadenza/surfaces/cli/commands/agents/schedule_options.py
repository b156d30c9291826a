"""The options of the commands for schedules, and what those about time ask for."""

from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import seconds
from cadenza.surfaces.cli.written_words import Fills

At = Annotated[
    str | None, Parameter(help="When it fires, once; without an offset, in the time zone."), Fills("run_at")
]
In = Annotated[
    str | None, Parameter(name="--in", help="Fire once, after a span: 20m, 2h."), Fills("delay_seconds")
]
CronLine = Annotated[
    str | None, Parameter(name="--cron", help="Fire again and again: five fields."), Fills("cron_expression")
]
ScheduleZone = Annotated[str | None, Parameter(help="An IANA time zone; the user's if left out.")]
EveryOption = Annotated[
    str | None,
    Parameter(name="--every", help="Fire again and again, a span apart: 30m, 6h."),
    Fills("interval_seconds"),
]
Least = Annotated[
    str | None,
    Parameter(name="--min", help="The least time between two fires: 5m."),
    Fills("min_interval_seconds"),
]
Most = Annotated[
    str | None,
    Parameter(name="--max", help="The most time between two fires: 1d."),
    Fills("max_interval_seconds"),
]
MayPace = Annotated[
    bool | None, Parameter(help="Whether its agent may steer it when it fires; yes if it has all three.")
]
NewLabel = Annotated[str | None, Parameter(name="--name", allow_leading_hyphen=True, help="A new label.")]
NewPrompt = Annotated[
    str | None, Parameter(name="--prompt", allow_leading_hyphen=True, help="What the agent gets instead.")
]
NewAgent = Annotated[
    str | None, Parameter(name="--agent", help="Who answers when it fires."), Fills("agent_id")
]
ForAWhile = Annotated[
    str | None, Parameter(name="--for", help="For how long: 10m, 1h."), Fills("for_seconds")
]
Until = Annotated[
    str | None, Parameter(help="Until when; without an offset, in the user's time zone."), Fills("until")
]
Why = Annotated[str | None, Parameter(name="--reason", allow_leading_hyphen=True, help="Why.")]


def timing(
    at: str | None,
    in_: str | None,
    cron: str | None,
    timezone: str | None,
    *,
    every: str | None,
    least: str | None,
    most: str | None,
) -> dict[str, Any]:
    """The arguments that say when a schedule fires."""
    spans = {
        "delay_seconds": ("--in", in_),
        "interval_seconds": ("--every", every),
        "min_interval_seconds": ("--min", least),
        "max_interval_seconds": ("--max", most),
    }
    given: dict[str, Any] = {"run_at": at, "cron_expression": cron, "timezone": timezone}
    given |= {name: seconds(option, word) for name, (option, word) in spans.items() if word is not None}
    return given
