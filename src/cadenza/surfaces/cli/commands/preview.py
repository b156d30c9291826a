"""`cadenza endpoints preview`: what steering would lead to, without doing it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from cadenza.domain.durations import span_ms
from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.argument_parsing import later
from cadenza.surfaces.cli.connection import HERE, Way
from cadenza.surfaces.cli.lookup import on_endpoint
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.options import AnEndpoint

if TYPE_CHECKING:  # Rich costs time.
    from rich.console import RenderableType

Every = Annotated[str | None, Parameter(help="If it ran so often: 20s, 5m, 1h30m.")]
In = Annotated[str | None, Parameter(name="--in", help="If it ran once after this span.")]
Until = Annotated[str | None, Parameter(help="If it were paused until a moment, or for a span.")]
Resume = Annotated[bool, Parameter(negative="", help="If it were resumed.")]
Now = Annotated[bool, Parameter(negative="", help="If it ran now.")]
Clear = Annotated[bool, Parameter(negative="", help="If its hints were cleared.")]


class Preview(Commands):
    """Steering, thought about."""

    @example("cadenza endpoints preview traffic --every 20s")
    def preview(
        self,
        endpoint: AnEndpoint,
        /,
        *,
        every: Every = None,
        in_: In = None,
        until: Until = None,
        resume: Resume = False,
        run_now: Now = False,
        clear: Clear = False,
        way: Way = HERE,
    ) -> int:
        """Tell what steering an endpoint would lead to, and do nothing."""
        thoughts: dict[str, tuple[str, dict[str, Any]]] = {}
        if every is not None:
            thoughts["--every"] = ("propose_interval", {"intervalMs": span_ms("--every", every)})
        if in_ is not None:
            thoughts["--in"] = ("propose_next_time", {"nextRunInMs": span_ms("--in", in_)})
        if until is not None:
            thoughts["--until"] = ("pause_until", {"untilIso": later("--until", until, self._now())})
        thoughts |= _flags(resume=resume, run_now=run_now, clear=clear)
        if len(thoughts) != 1:
            said = "Take one of --every, --in, --until, --resume, --run-now and --clear."
            raise InvalidRequest(said, "--every")
        ((tool, arguments),) = thoughts.values()
        given = {"tool": tool, "arguments": arguments}
        return self.answer(
            way, lambda asker: on_endpoint(asker, "preview_steering", endpoint, **given), _look
        )


def _flags(*, resume: bool, run_now: bool, clear: bool) -> dict[str, tuple[str, dict[str, Any]]]:
    ways = {
        "--resume": (resume, ("pause_until", {"untilIso": None})),
        "--run-now": (run_now, ("run_now", {})),
        "--clear": (clear, ("clear_hints", {})),
    }
    return {name: thought for name, (wanted, thought) in ways.items() if wanted}


def _look(view: Any) -> "Iterator[RenderableType]":
    from cadenza.surfaces.cli.output.formatting import table, text
    from cadenza.surfaces.cli.output.overview_tables import FORESEEN

    yield text(view["after"]["plan"]["answer"])
    before, after = (view[name]["runs"] for name in ("before", "after"))
    longest = max(len(before), len(after))
    padded = [runs + [None] * (longest - len(runs)) for runs in (before, after)]
    yield table(
        [{"before": one, "after": other} for one, other in zip(*padded, strict=True)],
        FORESEEN,
    )
