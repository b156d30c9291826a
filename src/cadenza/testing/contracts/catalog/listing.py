"""Keeping and listing: what was written comes back, and only to its owner."""

from datetime import timedelta
from typing import Any

import pytest

from cadenza.domain.agents.users import Agent, User
from cadenza.domain.errors import Conflict, NotFound
from cadenza.domain.scheduling.baseline import Cron, DayPart, DayParts, Every, Once
from cadenza.domain.scheduling.calendars.calendar import calendar_of
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job, OpenSlot, evolve
from cadenza.domain.scheduling.hint import HintMode, IntervalHint, OneShotHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Backoff, Guard, Misfire, Policy
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget, PromptTarget
from cadenza.ports.catalog import EndpointFilter, Page
from cadenza.ports.scheduling import Retention
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract

WORK = calendar_of("work", "UTC", [(NEW_YEAR, NEW_YEAR + timedelta(hours=1))])
NIGHT = calendar_of("night", "UTC", [(NEW_YEAR.replace(hour=5), NEW_YEAR.replace(hour=9))])
BY_DAY = DayParts((DayPart(WORK, Every(1_000)), DayPart(NIGHT, Cron("0 * * * *"))), Every(90_000))
FULL: dict[str, Any] = {
    "description": "counts visitors, äöü \N{SNOWMAN}",
    "target": HttpTarget("http://127.0.0.1/", "POST", {"X-Name": "value"}, {"key": [1, None, True]}),
    "baseline": Every(90_000),
    "guard": Guard(1_000, 100_000),
    "policy": Policy(
        timeout_ms=1,
        max_attempts=5,
        retry_delay_ms=2,
        misfire=Misfire.SKIP,
        misfire_grace_ms=3,
        backoff=Backoff.EXPONENTIAL,
    ),
    "hint_mode": HintMode.TIGHTEN,
    "interval_hint": IntervalHint(5_000, NEW_YEAR.replace(microsecond=123_456), "why", "rule:surge"),
    "one_shot_hint": OneShotHint(NEW_YEAR, NEW_YEAR.replace(hour=1), None, "key:ab"),
    "paused_until": NEW_YEAR.replace(hour=2),
    "pause_reason": "night",
    "pause_origin": "dashboard",
    "last_run_at": NEW_YEAR.replace(hour=3),
    "skipped_at": NEW_YEAR.replace(hour=4),
    "next_run_at": NEW_YEAR.replace(hour=5),
    "next_source": Source.RETRY,
    "missed_slots": 7,
    "open_slot": OpenSlot(NEW_YEAR, 2),
    "quota_opens_at": NEW_YEAR.replace(hour=6),
    "failure_count": 8,
    "abandoned_count": 1,
}


class ListingContract(Contract):
    """`add`, `get`, `find`, `runs`, `run`, `hints` and the jobs."""

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            FULL,
            {"baseline": Cron("*/5 * * * *", "Europe/Berlin"), "target": CallableTarget("count")},
            {"baseline": Once(NEW_YEAR), "target": PromptTarget("agent", "user", "hello")},
            {"baseline": BY_DAY},
            {"enabled": False, "archived": True, "next_run_at": None, "next_source": Source.FINISHED},
        ],
        ids=["least", "full", "cron", "once", "day-parts", "archived"],
    )
    async def test_every_field_comes_back_as_it_was(self, bench: Bench, fields: dict[str, Any]) -> None:
        endpoint = await bench.add(**fields)
        assert await bench.fresh(endpoint) == endpoint

    @pytest.mark.parametrize("missing", ["user", "agent"])
    async def test_a_prompt_needs_its_user_and_its_agent(self, bench: Bench, missing: str) -> None:
        store, target = bench.store, PromptTarget("agent", "user", "hello")
        if missing != "user":
            await store.users.put_user(User(tenant_id="default", id="user"))
        if missing != "agent":
            await store.agents.put_agent(Agent(tenant_id="default", id="agent", name="agent"))
        with pytest.raises(NotFound, match=f"{missing.capitalize()} {missing} not found"):
            await store.endpoints.add(an_endpoint("prompt", baseline=Once(NEW_YEAR), target=target))
        plain = await bench.add("plain", baseline=Once(NEW_YEAR))
        with pytest.raises(NotFound, match=f"{missing.capitalize()} {missing} not found"):
            await store.endpoints.amend(
                plain.key, lambda endpoint: ChangedEndpoint(evolve(endpoint, target=target))
            )
        assert await bench.fresh(plain) == plain
        assert ids(await store.catalog.find("default")) == ["plain"]

    async def test_a_key_is_taken_once(self, bench: Bench) -> None:
        endpoint = await bench.add(description="first")
        with pytest.raises(Conflict):
            await bench.add(description="second")
        assert (await bench.fresh(endpoint)).description == "first"

    async def test_endpoints_are_found_by_tenant_and_job_page_by_page(self, bench: Bench) -> None:
        for name in ("d", "b", "a", "c"):
            await bench.add(name, job_id="one")
        await bench.add("e", job_id="two")
        await bench.add("f", tenant_id="stranger")
        assert ids(await bench.store.catalog.find("default")) == ["a", "b", "c", "d", "e"]
        assert ids(await bench.store.catalog.find("default", wanted=EndpointFilter("two"))) == ["e"]
        assert ids(await bench.store.catalog.find("default", page=Page(2))) == ["a", "b"]
        assert ids(await bench.store.catalog.find("default", page=Page(2, after="b"))) == ["c", "d"]
        assert await bench.store.catalog.find("nobody") == []

    async def test_runs_are_listed_newest_first_page_by_page(self, bench: Bench) -> None:
        endpoint = await bench.add()
        made = []
        for _ in range(5):
            made.append((await bench.run_once()).id)
            bench.pass_ms(MINUTE)
        newest_first = [run.id for run in await bench.store.runs.runs(endpoint.key)]
        assert newest_first == made[::-1]
        page = await bench.store.runs.runs(endpoint.key, Page(2, after=newest_first[1]))
        assert [run.id for run in page] == newest_first[2:4]

    async def test_runs_and_hints_belong_to_their_tenant(self, bench: Bench) -> None:
        endpoint = await bench.add()
        run = await bench.run_once()
        assert await bench.store.runs.run("default", run.id) == run
        foreign = EndpointKey("stranger", endpoint.id)
        assert await bench.store.runs.runs(foreign) == []
        assert await bench.store.runs.hints(foreign) == []
        for tenant_id, run_id in (("stranger", run.id), ("default", "nothing")):
            with pytest.raises(NotFound):
                await bench.store.runs.run(tenant_id, run_id)

    async def test_old_runs_are_forgotten_and_newer_ones_kept(self, bench: Bench) -> None:
        endpoint = await bench.add()
        await bench.run_once()
        bench.pass_ms(3 * 24 * 60 * MINUTE)
        newer = await bench.run_once()
        assert await bench.store.runs.delete_old_runs(Retention(), bench.ms(0)) == 0
        assert await bench.store.runs.delete_old_runs(Retention(timedelta(days=1)), bench.ms(0)) == 1
        assert [run.id for run in await bench.runs(endpoint)] == [newer.id]

    async def test_jobs_are_kept_and_belong_to_their_tenant(self, bench: Bench) -> None:
        job = Job(id="job", name="a job", active=False)
        await bench.store.catalog.add_job(job)
        assert await bench.store.catalog.job("default", "job") == job
        with pytest.raises(Conflict):
            await bench.store.catalog.add_job(job)
        with pytest.raises(NotFound):
            await bench.store.catalog.job("stranger", "job")
        with pytest.raises(NotFound):
            await bench.switch("job", active=True, tenant_id="stranger")


def ids(endpoints: list[Endpoint]) -> list[str]:
    return [endpoint.id for endpoint in endpoints]
