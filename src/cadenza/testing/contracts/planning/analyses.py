"""Recorded analyses, when planners want the next ones, and planner notes."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any

from cadenza.domain.errors import Conflict
from cadenza.domain.json_values import Json
from cadenza.domain.planning.analysis import Analysis, Tokens, ToolCall, Trigger
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.ports.catalog import Page
from cadenza.ports.planning import DailyAnalysisUsage, NextAnalysis
from cadenza.ports.store import Store
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract

KEY = EndpointKey("default", "endpoint")
OTHER = EndpointKey("default", "other")
STRANGER = EndpointKey("stranger", "endpoint")


def an_analysis(id_: str = "1", key: EndpointKey = KEY, **fields: Any) -> Analysis:
    """An analysis of the rules."""
    given: dict[str, Any] = {
        "planner": "rules",
        "trigger": Trigger.RUN,
        "began_at": NEW_YEAR,
    }
    return Analysis(id=id_, tenant_id=key.tenant_id, job_id="job", endpoint_id=key.id, **(given | fields))


async def ensure_endpoints(store: Store, keys: Iterable[EndpointKey]) -> None:
    """Add endpoints with these keys, unless there are some: analyses and notes are about endpoints."""
    for key in set(keys):
        with suppress(Conflict):
            await store.endpoints.add(an_endpoint(key.id, tenant_id=key.tenant_id))


async def record(
    store: Store, analyses: Sequence[Analysis], next_analyses: Sequence[NextAnalysis] = ()
) -> None:
    """Record analyses of endpoints that exist."""
    keys = [EndpointKey(one.tenant_id, one.endpoint_id) for one in analyses]
    await ensure_endpoints(store, [*keys, *(one.key for one in next_analyses)])
    await store.analyses.add_analyses(analyses, next_analyses)


class AnalysisRecordContract(Contract):
    """`add_analyses`, `analyses`, `usage_by_day` and `forget_analyses`."""

    async def test_a_sitting_comes_back_as_it_was_recorded(self, store: Store) -> None:
        calls = (
            ToolCall("propose_interval", "endpoint", {"intervalMs": 1_000, "reason": "é ☃"}, "next in 1 s"),
            ToolCall("pause_until", "other", {"untilIso": None}, error="It is not paused."),
        )
        full = an_analysis(
            trigger=Trigger.SIBLING,
            duration_ms=7,
            reasoning='it "grows"\n',
            calls=calls,
            tokens=Tokens(1_000_000, 2_000),
            look_again_at=NEW_YEAR + timedelta(minutes=5),
            shadow=True,
            error="gone",
        )
        await record(store, [full, an_analysis("2")])
        assert await store.analyses.analyses(KEY) == [an_analysis("2"), full]

    async def test_nothing_is_recorded_about_an_endpoint_that_was_removed(self, bench: Bench) -> None:
        store, now = bench.store, bench.clock.now()
        await ensure_endpoints(store, [KEY])
        await store.analyses.add_analyses(
            [an_analysis("1", look_again_at=now), an_analysis("2", OTHER, look_again_at=now)]
        )
        assert (len(await store.analyses.analyses(KEY)), await store.analyses.analyses(OTHER)) == (1, [])
        due = await store.analyses.due_analyses(now, again_at=now, limit=10)
        assert [one.key for one in due] == [KEY]

    async def test_sittings_are_listed_newest_first_and_in_pages(self, store: Store) -> None:
        await record(store, [an_analysis(id_) for id_ in "31425"])
        assert [one.id for one in await store.analyses.analyses(KEY, Page(2))] == ["5", "4"]
        assert [one.id for one in await store.analyses.analyses(KEY, Page(9, "3"))] == ["2", "1"]

    async def test_an_endpoint_has_its_own_sittings_alone(self, store: Store) -> None:
        await record(store, [an_analysis("1"), an_analysis("2", STRANGER), an_analysis("3", OTHER)])
        assert [one.id for one in await store.analyses.analyses(KEY)] == ["1"]
        assert [one.id for one in await store.analyses.analyses(STRANGER)] == ["2"]
        assert await store.analyses.analyses(EndpointKey("nobody", "endpoint")) == []

    async def test_a_sitting_is_recorded_once(self, store: Store) -> None:
        await record(store, [an_analysis()])
        await record(store, [an_analysis(reasoning="again")])
        assert await store.analyses.analyses(KEY) == [an_analysis()]

    async def test_words_that_a_database_refuses_cost_nothing_else(self, store: Store) -> None:
        hostile = "a\0b\ud800c"
        calls = (ToolCall("pause_until", "endpoint", {hostile: [hostile]}, error=hostile),)
        await record(store, [an_analysis("1", reasoning=hostile, error=hostile, calls=calls)])
        await record(store, [an_analysis("2")])
        assert [one.id for one in await store.analyses.analyses(KEY)] == ["2", "1"]

    async def test_what_was_spent_is_added_up_by_day_and_planner(self, store: Store) -> None:
        night = datetime(2025, 1, 1, 23, 59, 59, tzinfo=UTC)
        tokens = Tokens(10, 1)
        await record(
            store,
            [
                an_analysis("1", planner="llm", began_at=night, tokens=tokens),
                an_analysis("2", planner="llm", began_at=night + timedelta(seconds=1), tokens=tokens),
                an_analysis("3", planner="llm", began_at=night + timedelta(hours=5), tokens=Tokens(5, 2)),
                an_analysis("4", began_at=night + timedelta(hours=5)),
                an_analysis("5", OTHER, planner="llm", began_at=night, tokens=tokens),
                an_analysis("6", began_at=night - timedelta(days=1)),
            ],
        )
        assert await store.analyses.usage_by_day(KEY, night) == [
            DailyAnalysisUsage(date(2025, 1, 2), "llm", 2, Tokens(15, 3)),
            DailyAnalysisUsage(date(2025, 1, 2), "rules", 1, Tokens()),
            DailyAnalysisUsage(date(2025, 1, 1), "llm", 1, tokens),
        ]
        assert await store.analyses.usage_by_day(STRANGER, night) == []

    async def test_sittings_that_began_earlier_are_forgotten(self, store: Store) -> None:
        moments = [NEW_YEAR + timedelta(minutes=minute) for minute in range(3)]
        await record(store, [an_analysis(str(at.minute), began_at=at) for at in moments])
        assert await store.analyses.forget_analyses(moments[2]) == 2
        assert await store.analyses.forget_analyses(moments[2]) == 0
        assert [one.id for one in await store.analyses.analyses(KEY)] == ["2"]


class NextAnalysisContract(Contract):
    """`due_analyses`, and what `add_analyses` says about the next analyses."""

    async def due(self, bench: Bench, limit: int = 100) -> list[NextAnalysis]:
        """The analyses that are due now; each is due again in ten minutes."""
        again = bench.ms(10 * MINUTE)
        return await bench.store.analyses.due_analyses(bench.clock.now(), again_at=again, limit=limit)

    async def test_a_look_is_due_at_its_moment_and_not_before(self, bench: Bench) -> None:
        at = bench.ms(MINUTE)
        await record(bench.store, [an_analysis(look_again_at=at)])
        assert await self.due(bench) == []
        bench.pass_ms(MINUTE)
        assert await self.due(bench) == [NextAnalysis(KEY, "rules", at)]
        assert await self.due(bench) == []

    async def test_a_look_that_nobody_answered_is_due_again(self, bench: Bench) -> None:
        await record(bench.store, [], [NextAnalysis(KEY, "rules", bench.ms(0))])
        assert len(await self.due(bench)) == 1
        bench.pass_ms(10 * MINUTE)
        assert len(await self.due(bench)) == 1

    async def test_the_newest_wish_replaces_the_one_before(self, bench: Bench) -> None:
        store = bench.store
        await record(store, [an_analysis("1", look_again_at=bench.ms(0))])
        await record(store, [an_analysis("2", look_again_at=bench.ms(MINUTE))])
        assert await self.due(bench) == []
        await record(store, [an_analysis("3")])
        await record(store, [], [NextAnalysis(OTHER, "rules", bench.ms(0)), NextAnalysis(OTHER, "rules")])
        bench.pass_ms(MINUTE)
        assert await self.due(bench) == []

    async def test_each_planner_has_its_own_wish(self, bench: Bench) -> None:
        wanted = [NextAnalysis(KEY, "llm", bench.ms(0)), NextAnalysis(STRANGER, "llm", bench.ms(0))]
        await record(bench.store, [an_analysis(look_again_at=bench.ms(0)), an_analysis("2", OTHER)], wanted)
        assert set(await self.due(bench)) == {*wanted, NextAnalysis(KEY, "rules", bench.ms(0))}

    async def test_the_soonest_come_first(self, bench: Bench) -> None:
        wanted = [NextAnalysis(EndpointKey("default", f"{ms}"), "rules", bench.ms(ms)) for ms in (3, 1, 2)]
        await record(bench.store, [], wanted)
        bench.pass_ms(MINUTE)
        assert [one.key.id for one in await self.due(bench, 2)] == ["1", "2"]
        assert [one.key.id for one in await self.due(bench, 2)] == ["3"]

    async def test_of_many_callers_one_gets_each_look(self, bench: Bench, peers: Sequence[Store]) -> None:
        wanted = [NextAnalysis(EndpointKey("default", f"{one}"), "rules", bench.ms(0)) for one in range(30)]
        await record(bench.store, [], wanted)
        asked = [
            peer.analyses.due_analyses(bench.ms(0), again_at=bench.ms(MINUTE), limit=4)
            for _ in range(5)
            for peer in peers
        ]
        got = [one for answer in await asyncio.gather(*asked) for one in answer]
        assert len(got) == len(set(got))
        assert {*got, *(await self.due(bench))} == set(wanted)


class NoteContract(Contract):
    """`save_notes` and `notes`."""

    async def test_notes_are_kept_by_planner_and_endpoint(self, bench: Bench) -> None:
        store, now = bench.store, bench.clock.now()
        note: Json = {"rate": 0.25, "seen": [None, True, "é\n☃"], "deep": {"a": {}}}
        await store.analyses.save_notes("learned", {KEY: note, STRANGER: 1}, now)
        await store.analyses.save_notes("rules", {KEY: "other"}, now)
        assert await store.analyses.notes("learned", [KEY, STRANGER, OTHER]) == {KEY: note, STRANGER: 1}
        assert await store.analyses.notes("rules", [KEY, STRANGER]) == {KEY: "other"}
        assert await store.analyses.notes("llm", [KEY]) == {}
        assert await store.analyses.notes("rules", []) == {}

    async def test_a_new_note_replaces_the_old_one(self, bench: Bench) -> None:
        await bench.store.analyses.save_notes("learned", {KEY: {"a": 1}, OTHER: None}, bench.clock.now())
        await bench.store.analyses.save_notes("learned", {KEY: {"b": 2}}, bench.ms(1))
        await bench.store.analyses.save_notes("learned", {}, bench.ms(1))
        assert await bench.store.analyses.notes("learned", [KEY, OTHER]) == {KEY: {"b": 2}, OTHER: None}


class AnalysisContract(AnalysisRecordContract, NextAnalysisContract, NoteContract):
    """All promises about planners' work."""
