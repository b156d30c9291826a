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
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions, OperationClient
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.lookup import ENDPOINT, JOB, find_id
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.output.formatting import Item
from cadenza.surfaces.cli.output.stdout import write
from cadenza.surfaces.cli.paging import FIRST_PAGE, Paging, fetch_pages
from cadenza.surfaces.cli.parameters import OfJob, present

STATUSES = "success, failure, timeout, cancelled, abandoned or skipped; several times for any of them."
SOURCES = "What set their moment: baseline-cron, ai-interval, …; several times for any of them."
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

    async def arguments(self, client: OperationClient, now: datetime) -> dict[str, Any]:
        """What the operation takes."""
        return present(
            endpoint_id=None if self.endpoint is None else await find_id(client, ENDPOINT, self.endpoint),
            job_id=None if self.job is None else await find_id(client, JOB, self.job),
            status=list(self.status) or None,
            source=list(self.source) or None,
            since=None if self.since is None else earlier("--since", self.since, now),
            until=None if self.until is None else earlier("--until", self.until, now),
        )


ALL = Wanted()


class Runs(Commands):
    """What happened, newest first."""

    @example("--endpoint traffic --status failure --status timeout --since 24h")
    def list_(
        self,
        *,
        wanted: Wanted = ALL,
        follow: Follow = False,
        paging: Paging = FIRST_PAGE,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """List closed runs, newest first."""
        if follow:
            return self._follow(wanted, connection)

        async def request(client: OperationClient) -> Any:
            given = await wanted.arguments(client, self._now())
            return await fetch_pages(client, "list_runs", given, paging=paging)

        return self.answer(connection, request, "list_runs")

    show = DerivedCommand("get_run", "0191a7c2f4b100003c9d7e5a1b2f4c6d")

    def _follow(self, wanted: Wanted, connection: CliOptions) -> int:
        if wanted.until is not None:
            raise InvalidRequest("--follow goes without --until.", "--until")
        import json

        from cadenza.surfaces.cli.output.reports import run_line

        line = json.dumps if connection.json else run_line

        async def request(client: OperationClient) -> None:
            given = await wanted.arguments(client, self._now())
            await follow(client, given, lambda run: write(f"{line(run)}\n"))

        with suppress(KeyboardInterrupt):
            self.fetch(connection, request)
        return Exit.DONE


class Hints(Commands):
    """Advice with an expiry and a reason."""

    list_ = DerivedCommand("list_hints", "traffic")
    clear = DerivedCommand(
        "clear_hints", "traffic", about="Remove both hints of an endpoint, and plan anew at once."
    )


EVERY_S = 1.0
PAGE = 500
OVERLAP = timedelta(seconds=5)
"""Runs that ended at almost the same time may be committed in another order."""

Print = Callable[[Item], bool]


async def follow(client: OperationClient, given: Mapping[str, Any], print_run: Print) -> None:
    """Print each run once, when it has ended, until the output is closed."""
    finished = FinishedRuns(client, given)
    if "since" not in given:
        await finished.fresh()
    while True:
        for run in await finished.fresh():
            if not print_run(run):
                return
        await asyncio.sleep(EVERY_S)


class FinishedRuns:
    """Polls for runs that ended since the last poll: by the runs' own times, as clocks may differ."""

    def __init__(self, client: OperationClient, given: Mapping[str, Any]) -> None:
        self._client = client
        self._given = given
        self._seen: dict[str, datetime] = {}

    async def fresh(self) -> list[Item]:
        """Runs that ended since the last poll, in the order in which they ended."""
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
            page = await self._client.ask("list_runs", given)
            found += page["items"]
            # A page that is not full has looked back far enough for runs that ended just now.
            if len(page["items"]) < PAGE or page["next_cursor"] is None or not self._seen:
                return found
            given["cursor"] = page["next_cursor"]
