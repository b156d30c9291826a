"""Figures: what is ahead, in flight and behind, of one tenant alone and within bounds."""

from datetime import datetime, timedelta
from typing import Any

from cadenza.domain.monitoring.forecast import UpcomingRun
from cadenza.domain.monitoring.uptime import EndedGroup
from cadenza.domain.planning.analysis import Analysis, Tokens, ToolCall, Trigger
from cadenza.domain.planning.health import EndedRun
from cadenza.domain.scheduling.baseline import Cron, Every
from cadenza.domain.scheduling.endpoint import EndpointKey, Job
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.ports.catalog import EndpointFilter, Page
from cadenza.ports.monitoring import ActivityGrouping, AnalysisCursor, PlannerActivity
from cadenza.ports.store import Store
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract
from cadenza.testing.contracts.planning.analyses import record

DAY = timedelta(days=1)
DAY_MINUTES = 24 * 60


def at_minute(minute: int) -> datetime:
    """So many minutes into the year."""
    return NEW_YEAR + timedelta(minutes=minute)


def an_analysis(minute: int, endpoint_id: str, **fields: Any) -> Analysis:
    """An analysis of `llm` of the tenant `north`."""
    given: dict[str, Any] = {"tenant_id": "north", "planner": "llm"}
    return Analysis(
        id=f"analysis-{minute}",
        job_id="job",
        endpoint_id=endpoint_id,
        trigger=Trigger.RUN,
        began_at=at_minute(minute),
        **(given | fields),
    )


async def failing(store: Store, **fields: Any) -> list[str]:
    """The ids of the failing endpoints that match a filter."""
    wanted = EndpointFilter(failing=True, **fields)
    return [one.id for one in await store.catalog.find("default", wanted=wanted)]


class StatisticsContract(Contract):
    """What the dashboard reads: endpoints, runs and analyses.

    `endpoints_by_key`, `upcoming_runs`, `in_flight`, `latest_runs`, `latest_runs_of`, `runs_between`,
    `ended_by_bucket`, `failing`, `recent_analyses` and `planner_activity`.
    """

    async def test_these_endpoints_come_in_the_order_of_their_ids_without_archived_ones(
        self, bench: Bench
    ) -> None:
        b, a, _ = [await bench.add(name) for name in ("b", "a", "unasked")]
        gone = await bench.add("gone", archived=True)
        nobody = EndpointKey("default", "nobody")
        assert await bench.store.statistics.endpoints_by_key([b.key, gone.key, nobody, a.key, b.key]) == [
            a,
            b,
        ]
        assert await bench.store.statistics.endpoints_by_key([EndpointKey("south", "a")]) == []

    async def test_what_is_ahead_comes_soonest_first_with_what_it_goes_by(self, bench: Bench) -> None:
        hint = IntervalHint(30_000, bench.ms(MINUTE))
        line = Cron("* * * * *", "Europe/Berlin")
        await bench.add("later", next_run_at=bench.ms(3 * MINUTE))
        await bench.add("cron", next_run_at=bench.ms(2 * MINUTE), baseline=line)
        await bench.add("hinted", next_run_at=bench.ms(MINUTE), interval_hint=hint, baseline=Every(MINUTE))
        found = await bench.store.statistics.upcoming_runs("default", until=bench.ms(3 * MINUTE), limit=10)
        assert found == [
            UpcomingRun(bench.ms(MINUTE), Every(MINUTE), hint),
            UpcomingRun(bench.ms(2 * MINUTE), line, None),
        ]
        assert (
            await bench.store.statistics.upcoming_runs("default", until=bench.ms(3 * MINUTE), limit=1)
            == found[:1]
        )

    async def test_what_cannot_run_is_not_ahead(self, bench: Bench) -> None:
        await bench.add("running")
        await bench.claim()
        await bench.add("off", enabled=False)
        await bench.add("archived", archived=True)
        await bench.store.endpoints.add(
            an_endpoint("foreign", tenant_id="south", next_run_at=bench.clock.now())
        )
        assert await bench.store.statistics.upcoming_runs("default", until=bench.ms(MINUTE), limit=10) == []
        assert len(await bench.store.statistics.upcoming_runs("south", until=bench.ms(MINUTE), limit=10)) == 1

    async def test_what_is_claimed_is_in_flight_until_it_is_settled(self, bench: Bench) -> None:
        for name in ("a", "b", "c"):
            await bench.add(name)
        await bench.store.endpoints.add(an_endpoint("d", tenant_id="south", next_run_at=bench.clock.now()))
        assert await bench.store.statistics.in_flight("default", 10) == 0
        claims = await bench.claim()
        assert await bench.store.statistics.in_flight("default", 10) == 3
        assert await bench.store.statistics.in_flight("default", 2) == 2
        assert await bench.store.statistics.in_flight("south", 10) == 1
        await bench.end(*claims)
        assert await bench.store.statistics.in_flight("default", 10) == 0

    async def test_the_latest_runs_come_newest_first_and_no_further_than_asked(self, bench: Bench) -> None:
        await bench.add("a", baseline=Every(MINUTE))
        await bench.store.endpoints.add(an_endpoint("b", tenant_id="south", next_run_at=bench.ms(DAY / MS)))
        ended: list[EndedRun] = []
        for status in (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT):
            bench.pass_ms(5)
            run = await bench.run_once(status)
            assert run.finished_at is not None
            ended.insert(0, EndedRun(run.finished_at, status, run.duration_ms, run.late_ms))
            bench.pass_ms(MINUTE)
        store, since = bench.store, NEW_YEAR
        assert await store.statistics.latest_runs("default", since=since, limit=10) == ended
        assert await store.statistics.latest_runs("default", since=since, limit=2) == ended[:2]
        assert (
            await store.statistics.latest_runs("default", since=ended[1].finished_at, limit=10) == ended[:2]
        )
        assert await store.statistics.latest_runs("south", since=since, limit=10) == []

    async def test_the_latest_runs_of_several_endpoints_come_together(self, bench: Bench) -> None:
        a, b, fresh = [await bench.add(name) for name in ("a", "b", "fresh")]
        await bench.end(*[claim for claim in await bench.claim() if claim.key != fresh.key])
        bench.pass_ms(MINUTE)
        claims = [claim for claim in await bench.claim() if claim.key == a.key]
        await bench.end(*claims, status=RunStatus.FAILURE)
        keys = [a.key, b.key, fresh.key]
        found = await bench.store.statistics.latest_runs_of(keys, each=5)
        statuses = {key: [one.status for one in runs] for key, runs in found.items()}
        assert statuses == {a.key: [RunStatus.FAILURE, RunStatus.SUCCESS], b.key: [RunStatus.SUCCESS]}
        assert [
            len(runs) for runs in (await bench.store.statistics.latest_runs_of(keys, each=1)).values()
        ] == [1, 1]

    async def test_verdicts_are_grouped_by_the_bucket_of_their_end_and_by_status(self, bench: Bench) -> None:
        a = await bench.add("a", baseline=Every(MINUTE))
        statuses = [RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.SUCCESS, RunStatus.SUCCESS]
        for place, status in enumerate(statuses):
            await bench.run_once(status, duration_ms=10 * place)
            bench.pass_ms(MINUTE)
        store, span = bench.store.statistics, timedelta(minutes=2)

        async def groups(since: datetime, limit: int = 10) -> list[EndedGroup]:
            found = await store.ended_by_bucket(a.key, since=since, span=span, limit=limit)
            return sorted(one._replace(durations_ms=sorted(one.durations_ms)) for one in found)

        assert await groups(NEW_YEAR) == [
            EndedGroup(0, RunStatus.FAILURE, [10]),
            EndedGroup(0, RunStatus.SUCCESS, [0]),
            EndedGroup(1, RunStatus.SUCCESS, [20, 30]),
        ]
        assert await groups(at_minute(1)) == [
            EndedGroup(0, RunStatus.FAILURE, [10]),
            EndedGroup(0, RunStatus.SUCCESS, [20]),
            EndedGroup(1, RunStatus.SUCCESS, [30]),
        ]
        assert await groups(NEW_YEAR, limit=1) == [EndedGroup(1, RunStatus.SUCCESS, [30])]
        assert await groups(bench.ms(0)) == []
        stranger = EndpointKey("south", a.id)
        assert await store.ended_by_bucket(stranger, since=NEW_YEAR, span=span, limit=10) == []

    async def test_an_attempt_that_is_tried_again_has_no_verdict_and_is_not_grouped(
        self, bench: Bench
    ) -> None:
        policy = Policy(max_attempts=2, retry_delay_ms=1_000)
        a = await bench.add("a", baseline=Every(MINUTE), policy=policy)
        await bench.run_once(RunStatus.FAILURE)
        bench.pass_ms(1_000)
        await bench.run_once()
        found = await bench.store.statistics.ended_by_bucket(
            a.key, since=NEW_YEAR, span=timedelta(hours=1), limit=10
        )
        assert [(one.status, len(one.durations_ms)) for one in found] == [(RunStatus.SUCCESS, 1)]

    async def test_failing_endpoints_are_counted_and_found_until_they_succeed(self, bench: Bench) -> None:
        for name in ("a", "b", "fine"):
            await bench.add(name, labels={"team": "web"} if name == "b" else {}, baseline=Every(MINUTE))
        store = bench.store
        assert await store.statistics.failing("default", 10) == 0
        claims = await bench.claim()
        bad = [claim for claim in claims if claim.key.id != "fine"]
        await bench.end(*bad, status=RunStatus.FAILURE)
        await bench.end(*[claim for claim in claims if claim not in bad])
        assert await store.statistics.failing("default", 10) == 2
        assert await store.statistics.failing("default", 1) == 1
        assert await failing(store) == ["a", "b"]
        assert await failing(store, labels={"team": "web"}) == ["b"]
        assert await failing(store, job_id="nothing") == []
        page, wanted = Page(1, after="a"), EndpointFilter(failing=True)
        assert [one.id for one in await store.catalog.find("default", wanted=wanted, page=page)] == ["b"]
        bench.pass_ms(MINUTE)
        await bench.end(*await bench.claim())
        assert await failing(store) == []
        assert await store.statistics.failing("default", 10) == 0

    async def test_what_is_switched_off_or_deleted_does_not_fail(self, bench: Bench) -> None:
        await bench.store.catalog.add_job(Job(id="paused", name="paused", active=False))
        bad: dict[str, Any] = {"failure_count": 3, "next_run_at": bench.ms(MINUTE)}
        await bench.add("off", enabled=False, **bad)
        await bench.add("in-a-paused-job", job_id="paused", **bad)
        await bench.add("gone", archived=True, **bad)
        await bench.add("foreign", tenant_id="south", **bad)
        assert await failing(bench.store) == []
        assert await bench.store.statistics.failing("default", 10) == 0
        assert await bench.store.statistics.failing("south", 10) == 1

    async def test_a_stretch_holds_what_ended_in_it_without_responses(self, bench: Bench) -> None:
        a = await bench.add("a", baseline=Every(MINUTE))
        runs: list[Run] = []
        for place in range(5):
            runs.insert(0, await bench.run_once(response={"place": place}))
            bench.pass_ms(MINUTE)
        begin, end = NEW_YEAR + timedelta(minutes=1), NEW_YEAR + timedelta(minutes=4)
        bare = [run._replace(response=None) for run in runs]
        assert await bench.store.statistics.runs_between(a.key, since=begin, until=end, limit=10) == bare[1:4]
        assert await bench.store.statistics.runs_between(a.key, since=begin, until=end, limit=2) == bare[1:3]
        assert (
            await bench.store.statistics.runs_between(
                EndpointKey("south", "a"), since=begin, until=end, limit=9
            )
            == []
        )

    async def test_sittings_are_taken_together_by_planner_day_or_endpoint(self, store: Store) -> None:
        await record(
            store,
            [
                an_analysis(0, "a", tokens=Tokens(10, 0), shadow=True),
                an_analysis(1, "a", tokens=Tokens(10, 1), error="no model"),
                an_analysis(2, "b", planner="rules"),
                an_analysis(3, "b", planner="rules"),
                an_analysis(4, "b", tenant_id="south"),
                an_analysis(DAY_MINUTES, "b"),
            ],
        )

        async def planner_activity(grouping: ActivityGrouping, **others: Any) -> list[PlannerActivity]:
            asked: dict[str, Any] = {"since": NEW_YEAR, "limit": 10, "most": 10}
            return await store.statistics.planner_activity("north", grouping=grouping, **(asked | others))

        late = at_minute(DAY_MINUTES)
        both = PlannerActivity("a", "llm", 2, 1, 1, Tokens(20, 1), at_minute(1))
        rules = PlannerActivity("", "rules", 2, 0, 0, Tokens(), at_minute(3))
        assert await planner_activity(ActivityGrouping.ALL) == [
            PlannerActivity("", "llm", 3, 1, 1, Tokens(20, 1), late),
            rules,
        ]
        assert await planner_activity(ActivityGrouping.DAY) == [
            both._replace(of="2025-01-01"),
            rules._replace(of="2025-01-01"),
            PlannerActivity("2025-01-02", "llm", 1, 0, 0, Tokens(), late),
        ]
        assert await planner_activity(ActivityGrouping.ENDPOINT) == [
            both,
            rules._replace(of="b"),
            PlannerActivity("b", "llm", 1, 0, 0, Tokens(), late),
        ]
        assert await planner_activity(ActivityGrouping.ENDPOINT, most=1) == [both]
        assert await planner_activity(ActivityGrouping.ALL, limit=2) == [
            PlannerActivity("", "llm", 1, 0, 0, Tokens(), late),
            rules._replace(analyses=1),
        ]
        assert await planner_activity(ActivityGrouping.ALL, since=at_minute(5)) == [
            PlannerActivity("", "llm", 1, 0, 0, Tokens(), late)
        ]

    async def test_sittings_are_told_in_whole_newest_first(self, store: Store) -> None:
        made = [
            Analysis(
                id=f"analysis-{place}",
                tenant_id=tenant_id,
                job_id="job",
                endpoint_id=f"endpoint-{place}",
                planner="rules",
                trigger=Trigger.RUN,
                began_at=NEW_YEAR + timedelta(minutes=place // 2),
                reasoning=f"thought {place}",
                calls=(ToolCall("pause_until", "endpoint", {"untilIso": None}, "it runs"),),
            )
            for place, tenant_id in enumerate(["north", "north", "south", "north", "north"])
        ]
        await record(store, made)
        newest = [one for one in reversed(made) if one.tenant_id == "north"]
        end = AnalysisCursor(NEW_YEAR + timedelta(days=1), "")
        assert await store.statistics.recent_analyses("north", before=end, limit=10) == newest
        first = await store.statistics.recent_analyses("north", before=end, limit=1)
        rest = AnalysisCursor(first[0].began_at, first[0].id)
        assert first + await store.statistics.recent_analyses("north", before=rest, limit=10) == newest
        tie = AnalysisCursor(newest[2].began_at, newest[2].id)
        assert await store.statistics.recent_analyses("north", before=tie, limit=10) == newest[3:]


MS = timedelta(milliseconds=1)
