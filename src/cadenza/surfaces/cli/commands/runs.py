"""`cadenza runs` and `cadenza hints`: what happened, and who asked for it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.argument_parsing import earlier
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions, OperationClient
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.lookup import ENDPOINT, JOB, find_id
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.output.formatting import Item
from cadenza.surfaces.cli.output.stdout import write
from cadenza.surfaces.cli.paging import FIRST_PAGE, Paging, fetch_pages
from cadenza.surfaces.cli.parameters import DryRun, MostSlots, OfEndpoint, OfJob, Reason, present

STATUSES = "success, failure, timeout, cancelled, abandoned or skipped; several times for any of them."
SOURCES = "What set their moment: baseline-cron, ai-interval, …; several times for any of them."
FAILURES = "Verdicts that count: failure, timeout and abandoned if left out; several times for several."
Follow = Annotated[
    bool,
    Parameter(help="Tell what ends from now on, one line each, until Ctrl-C; with --json, a document each."),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which runs."""

    endpoint: OfEndpoint = None
    job: OfJob = None
    status: Annotated[tuple[str, ...], Parameter(help=STATUSES)] = ()
    source: Annotated[tuple[str, ...], Parameter(help=SOURCES)] = ()
    since: Annotated[str | None, Parameter(help="Ended since a moment, or within the last 24h.")] = None
    until: Annotated[str | None, Parameter(help="Ended before a moment, or more than 2h ago.")] = None

    async def arguments(self, client: OperationClient, now: Callable[[], datetime]) -> dict[str, Any]:
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


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Failed:
    """Which failed runs."""

    since: Annotated[str, Parameter(help="Failed since a moment, or within the last 24h.")]
    until: Annotated[str | None, Parameter(help="Failed before a moment, or more than 2h ago.")] = None
    endpoint: OfEndpoint = None
    job: OfJob = None
    label: Annotated[str | None, Parameter(help="Those of endpoints with this label, NAME=VALUE.")] = None
    status: Annotated[tuple[str, ...], Parameter(help=FAILURES)] = ()

    async def arguments(self, client: OperationClient, now: Callable[[], datetime]) -> dict[str, Any]:
        """What the operation takes."""
        return present(
            since=earlier("--since", self.since, now),
            until=None if self.until is None else earlier("--until", self.until, now),
            endpoint_id=None if self.endpoint is None else await find_id(client, ENDPOINT, self.endpoint),
            job_id=None if self.job is None else await find_id(client, JOB, self.job),
            label=self.label,
            status=list(self.status) or None,
        )


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
            if paging != FIRST_PAGE:
                raise InvalidRequest(
                    "--follow cannot be combined with --limit, --all and --cursor.", "--follow"
                )
            return self._follow(wanted, connection)

        async def request(client: OperationClient) -> Any:
            given = await wanted.arguments(client, self.clock(connection))
            return await fetch_pages(client, "list_runs", given, paging=paging)

        return self.answer(connection, request, "list_runs")

    show = DerivedCommand("get_run", "0191a7c2f4b100003c9d7e5a1b2f4c6d")
    open = DerivedCommand("list_open_runs", "--endpoint traffic", options=("endpoint_id", "job_id"))
    cancel = DerivedCommand(
        "cancel_run", '0191a7c2f4b100003c9d7e5a1b2f4c6d --reason "wrong data"', options=("reason",)
    )
    rerun = DerivedCommand("rerun", "0191a7c2f4b100003c9d7e5a1b2f4c6d", options=("reason",))

    @example("--endpoint traffic --since 24h --dry-run")
    def redrive(
        self,
        *,
        failed: Failed,
        limit: MostSlots = 100,
        dry_run: DryRun = False,
        reason: Reason = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Run again what failed: of an endpoint, a job or a label, in a range of time."""

        async def request(client: OperationClient) -> Any:
            given = await failed.arguments(client, self.clock(connection))
            more = {"limit": limit, "dry_run": dry_run, **present(reason=reason)}
            return await client.ask("redrive_runs", {**given, **more})

        return self.answer(connection, request, "redrive_runs")

    def _follow(self, wanted: Wanted, connection: CliOptions) -> int:
        if wanted.until is not None:
            raise InvalidRequest("--follow cannot be combined with --until.", "--until")
        import json

        from cadenza.surfaces.cli.output.reports import run_line

        line = json.dumps if connection.json else run_line

        async def request(client: OperationClient) -> None:
            given = await wanted.arguments(client, self.clock(connection))
            await follow(client, given, lambda run: write(f"{line(run)}\n"))

        with suppress(KeyboardInterrupt):
            self.fetch(connection, request)
        return Exit.DONE


class Hints(Commands):
    """Advice with an expiry and a reason."""

    list_ = DerivedCommand("list_hints", "traffic")
    clear = DerivedCommand(
        "clear_hints", "traffic", about="Clear both hints of an endpoint and recalculate its next run."
    )


EVERY_S = 1.0
EVERYTHING = Paging(all=True)
PAGE = 500
MOST_SEEN = 25_000
"""How many ids are remembered: the feed may repeat runs, and never more than these."""

Print = Callable[[Item], bool]


async def follow(client: OperationClient, given: Mapping[str, Any], print_run: Print) -> None:
    """Print each run once, when it is committed, until the output is closed; with `since`, old ones first."""
    wanted = {name: value for name, value in given.items() if name != "since"}
    feed = RunFollower(client, wanted)
    await feed.fresh()
    if "since" in given and not all(map(print_run, await feed.past(given["since"]))):
        return
    while True:
        runs = await feed.fresh()
        if not all(map(print_run, runs)):
            return
        if not feed.more:
            await asyncio.sleep(EVERY_S)


class RunFollower:
    """Reads the feed of committed runs from its end on, and returns each run once."""

    def __init__(self, client: OperationClient, wanted: Mapping[str, Any]) -> None:
        self._client = client
        self._wanted = wanted
        self._cursor: dict[str, str] = {}
        self._seen: dict[str, None] = {}
        self.more = False
        """Whether there are more to read at once."""

    async def fresh(self) -> list[Item]:
        """The runs of the next page, in the order of their commits; the first call returns none."""
        page = await self._client.ask("follow_runs", {**self._wanted, **self._cursor, "limit": PAGE})
        self._cursor, self.more = {"cursor": page["next_cursor"]}, page["more"]
        return self._unseen(page["items"])

    async def past(self, since: str) -> list[Item]:
        """The runs that finished since a moment and were committed before now, oldest first."""
        given = {**self._wanted, "since": since}
        return self._unseen(
            (await fetch_pages(self._client, "list_runs", given, paging=EVERYTHING))["items"]
        )[::-1]

    def _unseen(self, runs: Sequence[Item]) -> list[Item]:
        found = [run for run in runs if run["id"] not in self._seen]
        self._seen |= dict.fromkeys(run["id"] for run in found)
        for oldest in list(islice(self._seen, max(0, len(self._seen) - MOST_SEEN))):
            del self._seen[oldest]
        return found
