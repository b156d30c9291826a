"""`cadenza runs` and `cadenza hints`: what happened, and who asked for it."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import iso
from cadenza.surfaces.cli.argument_parsing import earlier
from cadenza.surfaces.cli.connection import HERE, Asker, Way
from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.lookup import endpoint_id, job_id, on_endpoint
from cadenza.surfaces.cli.operation_command import Commands, example, plan_look
from cadenza.surfaces.cli.options import AnEndpoint, OfJob
from cadenza.surfaces.cli.output.formatting import Item
from cadenza.surfaces.cli.output.stdout import write
from cadenza.surfaces.cli.paging import FIRST, Paging, gathered

STATUSES = "success, failure, timeout, cancelled, abandoned or skipped; several times for any of them."
SOURCES = "What set their moment: baseline-cron, ai-interval, …; several times for any of them."
ARun = Annotated[str, Parameter(help="The run's id.")]
Follow = Annotated[
    bool,
    Parameter(help="Tell what ends from now on, one line each, until Ctrl-C; with --json, a document each."),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which runs."""

    endpoint: Annotated[str | None, Parameter(help="Those of this endpoint, by id or name.")] = None
    job: OfJob = None
    status: Annotated[tuple[str, ...], Parameter(help=STATUSES)] = ()
    source: Annotated[tuple[str, ...], Parameter(help=SOURCES)] = ()
    since: Annotated[str | None, Parameter(help="Ended since a moment, or within the last 24h.")] = None
    until: Annotated[str | None, Parameter(help="Ended before a moment, or more than 2h ago.")] = None

    async def arguments(self, asker: Asker, now: datetime) -> dict[str, Any]:
        """What the operation takes."""
        given = {
            "endpoint_id": None if self.endpoint is None else await endpoint_id(asker, self.endpoint),
            "job_id": None if self.job is None else await job_id(asker, self.job),
            "status": list(self.status) or None,
            "source": list(self.source) or None,
            "since": None if self.since is None else earlier("--since", self.since, now),
            "until": None if self.until is None else earlier("--until", self.until, now),
        }
        return {name: value for name, value in given.items() if value is not None}


ALL = Wanted()


class Runs(Commands):
    """What happened, newest first."""

    @example("cadenza runs list --endpoint traffic --status failure --status timeout --since 24h")
    def list_(
        self, *, wanted: Wanted = ALL, follow: Follow = False, paging: Paging = FIRST, way: Way = HERE
    ) -> int:
        """List closed runs, newest first."""
        if follow:
            return self._follow(wanted, way)
        from cadenza.surfaces.cli.output.columns import RUNS
        from cadenza.surfaces.cli.output.formatting import listing

        async def errand(asker: Asker) -> Any:
            given = await wanted.arguments(asker, self._now())
            return await gathered(asker, "list_runs", given, paging=paging)

        return self.answer(way, errand, listing(RUNS, "There are no such runs."))

    def _follow(self, wanted: Wanted, way: Way) -> int:
        if wanted.until is not None:
            raise InvalidRequest("--follow goes without --until.", "--until")
        import json

        from cadenza.surfaces.cli.commands.runs import follow
        from cadenza.surfaces.cli.output.reports import run_line

        line = json.dumps if way.json else run_line

        async def errand(asker: Asker) -> None:
            given = await wanted.arguments(asker, self._now())
            await follow(asker, given, lambda run: write(f"{line(run)}\n"))

        with suppress(KeyboardInterrupt):
            self.fetch(way, errand)
        return Exit.DONE

    @example("cadenza runs show 0191a7c2f4b100003c9d7e5a1b2f4c6d")
    def show(self, run: ARun, /, *, way: Way = HERE) -> int:
        """Show one run with its response, error and reason."""
        from cadenza.surfaces.cli.output.reports import run_card

        return self.answer(way, lambda asker: asker.ask("get_run", {"run_id": run}), run_card)


class Hints(Commands):
    """Advice with an expiry and a reason."""

    @example("cadenza hints list traffic")
    def list_(self, endpoint: AnEndpoint, /, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """List an endpoint's hints with their reasons and origins, newest first."""
        from cadenza.surfaces.cli.output.columns import HINTS
        from cadenza.surfaces.cli.output.formatting import listing

        async def errand(asker: Asker) -> Any:
            given = {"endpoint_id": await endpoint_id(asker, endpoint)}
            return await gathered(asker, "list_hints", given, paging=paging)

        return self.answer(way, errand, listing(HINTS, "Nobody has given a hint yet."))

    @example("cadenza hints clear traffic")
    def clear(self, endpoint: AnEndpoint, /, *, way: Way = HERE) -> int:
        """Remove both hints of an endpoint, and plan anew at once."""
        return self.answer(way, lambda asker: on_endpoint(asker, "clear_hints", endpoint), plan_look())


EVERY_S = 1.0
PAGE = 500
OVERLAP = timedelta(seconds=5)
"""Runs that ended at almost the same time may be committed in another order."""

Tell = Callable[[Item], bool]


async def follow(asker: Asker, given: Mapping[str, Any], tell: Tell) -> None:
    """Tell each run once, when it has ended, until nobody listens."""
    watch = Watch(asker, given)
    if "since" not in given:
        await watch.fresh()
    while True:
        for run in await watch.fresh():
            if not tell(run):
                return
        await asyncio.sleep(EVERY_S)


class Watch:
    """Looks again and again, and remembers what it saw: by the runs' own times, as clocks may differ."""

    def __init__(self, asker: Asker, given: Mapping[str, Any]) -> None:
        self._asker = asker
        self._given = given
        self._seen: dict[str, datetime] = {}

    async def fresh(self) -> list[Item]:
        """What ended since the last look, in the order in which it ended."""
        found = {run["id"]: run for run in await self._newest() if run["id"] not in self._seen}
        self._seen |= {name: datetime.fromisoformat(run["finished_at"]) for name, run in found.items()}
        if self._seen:
            begin = self._begin()
            self._seen = {name: ended for name, ended in self._seen.items() if ended >= begin}
        return sorted(found.values(), key=lambda run: run["finished_at"])

    def _begin(self) -> datetime:
        return max(self._seen.values()) - OVERLAP

    async def _newest(self) -> list[Item]:
        given = {**self._given, **({"since": iso(self._begin())} if self._seen else {}), "limit": PAGE}
        found: list[Item] = []
        while True:
            page = await self._asker.ask("list_runs", given)
            found += page["items"]
            # A page that is not full has looked back far enough for runs that ended just now.
            if len(page["items"]) < PAGE or page["next_cursor"] is None or not self._seen:
                return found
            given["cursor"] = page["next_cursor"]
