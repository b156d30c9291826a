"""`cadenza endpoints`: steered, paused, tried; and why the next run is when it is."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from cadenza.domain.durations import span_ms
from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.argument_parsing import later, minutes
from cadenza.surfaces.cli.commands.endpoints import selected
from cadenza.surfaces.cli.connection import HERE, Asker, Way
from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.lookup import on_endpoint
from cadenza.surfaces.cli.operation_command import Commands, Errand, example, plan_look
from cadenza.surfaces.cli.options import AnEndpoint, Labels, OfJob, Reason
from cadenza.surfaces.cli.output.stdout import write_json

if TYPE_CHECKING:  # Rich costs time.
    from rich.console import RenderableType

Perhaps = Annotated[
    str | None, Parameter(help="One endpoint, by id or name; or several, with --label and --job.")
]
Every = Annotated[str, Parameter(help="A span between runs: 20s, 5m, 1h30m.")]
For = Annotated[str, Parameter(name="--for", help="How long the hint counts.")]
ForOrNot = Annotated[
    str | None, Parameter(name="--for", help="How long the hint counts: until half an hour after the moment.")
]
In = Annotated[str | None, Parameter(name="--in", help="A span from now.")]
At = Annotated[str | None, Parameter(help="A moment, such as 2030-01-31T12:00:00Z.")]
Until = Annotated[str, Parameter(help="A moment, or a span from now.")]


class Steer(Commands):
    """Steering: hints, pauses, trials."""

    @example('cadenza endpoints tighten traffic --every 20s --for 1h --reason "flash sale"')
    def tighten(
        self,
        endpoint: AnEndpoint,
        /,
        *,
        every: Every,
        for_: For = "1h",
        reason: Reason = None,
        way: Way = HERE,
    ) -> int:
        """Run more often, or more seldom, for a while; then the baseline counts again."""
        given = {"intervalMs": span_ms("--every", every), "ttlMinutes": minutes("--for", for_)}
        return self._plan(way, "propose_interval", endpoint, **given, **_why(reason))

    @example("cadenza endpoints next traffic --in 5m")
    def next(
        self,
        endpoint: AnEndpoint,
        /,
        *,
        in_: In = None,
        at: At = None,
        for_: ForOrNot = None,
        reason: Reason = None,
        way: Way = HERE,
    ) -> int:
        """Run once at a moment, or after a span, within the guard."""
        if (in_ is None) == (at is None):
            raise InvalidRequest("Take one of --in and --at.", "--in")
        given: dict[str, Any] = {} if for_ is None else {"ttlMinutes": minutes("--for", for_)}
        if in_ is not None:
            given["nextRunInMs"] = span_ms("--in", in_)
        if at is not None:
            given["nextRunAtIso"] = later("--at", at, self._now())
        return self._plan(way, "propose_next_time", endpoint, **given, **_why(reason))

    @example("cadenza endpoints pause --label team=web --until 2h")
    def pause(
        self,
        endpoint: Perhaps = None,
        /,
        *,
        until: Until,
        job: OfJob = None,
        label: Labels = (),
        reason: Reason = None,
        way: Way = HERE,
    ) -> int:
        """Pause one endpoint, or all of a job or with labels. To stop one for good, update it --disabled."""
        given = {"untilIso": later("--until", until, self._now()), **_why(reason)}
        if _one(endpoint, job, label) is not None:
            return self._plan(way, "pause_until", str(endpoint), **given)
        return self._several(way, "pause_endpoints", _many("pause_endpoints", job, label, given))

    @example("cadenza endpoints resume traffic")
    def resume(
        self,
        endpoint: Perhaps = None,
        /,
        *,
        job: OfJob = None,
        label: Labels = (),
        reason: Reason = None,
        way: Way = HERE,
    ) -> int:
        """Resume one endpoint, or all of a job or with labels."""
        given = _why(reason)
        if _one(endpoint, job, label) is not None:
            return self._plan(way, "pause_until", str(endpoint), untilIso=None, **given)
        return self._several(way, "resume_endpoints", _many("resume_endpoints", job, label, given))

    @example("cadenza endpoints run-now traffic")
    def run_now(self, endpoint: AnEndpoint, /, *, way: Way = HERE) -> int:
        """Make an endpoint due at once, as soon as its minimum interval allows."""
        return self._plan(way, "run_now", endpoint)

    @example("cadenza endpoints reset-failures traffic")
    def reset_failures(self, endpoint: AnEndpoint, /, *, way: Way = HERE) -> int:
        """Forget the failures in a row."""
        from cadenza.surfaces.cli.output.cards import endpoint_card

        return self.answer(way, lambda asker: on_endpoint(asker, "reset_failures", endpoint), endpoint_card)

    @example("cadenza endpoints test traffic")
    def test(self, endpoint: AnEndpoint, /, *, way: Way = HERE) -> int:
        """Call an endpoint's target once, and record nothing. Exits with 1 when it fails."""
        trial = self.fetch(way, lambda asker: on_endpoint(asker, "test_endpoint", endpoint))
        if way.json:
            write_json(trial)
        else:
            from cadenza.surfaces.cli.output.reports import trial_card
            from cadenza.surfaces.cli.output.terminal import show

            show(*trial_card(trial))
        return Exit.DONE if trial["status"] == "success" else Exit.FAILED_CHECK

    def _plan(self, way: Way, operation: str, endpoint: str, **given: Any) -> int:
        return self.answer(way, lambda asker: on_endpoint(asker, operation, endpoint, **given), plan_look())

    def _several(self, way: Way, operation: str, errand: Errand) -> int:
        word = "Paused" if operation == "pause_endpoints" else "Resumed"
        return self.answer(way, errand, partial(_steered, word))


def _steered(word: str, found: Any) -> "Iterable[RenderableType]":
    from cadenza.surfaces.cli.output.formatting import many, text

    return [text(f"{word} {many(found['endpoints'], 'endpoint')}.")]


def _why(reason: str | None) -> dict[str, Any]:
    return {} if reason is None else {"reason": reason}


def _one(endpoint: str | None, job: str | None, label: tuple[str, ...]) -> str | None:
    """One endpoint, or None for several; nobody stops everything by leaving a word out."""
    several = job is not None or bool(label)
    if (endpoint is None) != several:
        raise InvalidRequest("Name one endpoint, or take --label or --job for several.", "endpoint")
    return endpoint


def _many(operation: str, job: str | None, label: tuple[str, ...], given: dict[str, Any]) -> Errand:
    async def errand(asker: Asker) -> Any:
        return await asker.ask(operation, {**await selected(asker, job, label), **given})

    return errand
