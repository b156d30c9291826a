"""Rules: written, listed and removed by their owner alone, and gone with their job."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from cadenza.domain.errors import Conflict, NotAllowed, NotFound
from cadenza.domain.planning.rules.rule import (
    ClearStep,
    Escalation,
    PauseStep,
    ProposeIntervalStep,
    ProposeNextTimeStep,
    Rule,
    WakeStep,
)
from cadenza.domain.scheduling.endpoint import Job
from cadenza.domain.scheduling.hint import Rank
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.catalog import BulkChange, BulkScope, BulkState, Page
from cadenza.ports.planning import JobKey, RuleFilter
from cadenza.ports.store import Store
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Contract

FULL = Rule(
    id="full",
    name="a rule, äöü \N{SNOWMAN}",
    tenant_id="north",
    job_id="job",
    endpoint_id="endpoint",
    when="response.body['ä'] > 1 &&\n\tresponse.status == 200",
    then=WakeStep(endpoint="sibling", in_ms=5_000, ttl_minutes=0.5, reason="why"),
    relax=ClearStep(endpoint="sibling"),
    cooldown_ms=600_000,
    once_per_incident=True,
    escalate=(
        Escalation(60_000, ProposeNextTimeStep(in_ms=0)),
        Escalation(120_000, PauseStep(for_ms=None)),
        Escalation(180_000, PauseStep(for_ms=1_000, reason="rest")),
    ),
    enabled=False,
    created_at=NEW_YEAR.replace(microsecond=123_456),
    rank=Rank.LLM,
)


def a_rule(rule_id: str = "rule", tenant_id: str = "north", job_id: str = "job", **fields: Any) -> Rule:
    """A plain rule."""
    given: dict[str, Any] = {
        "name": rule_id,
        "when": "response.ok",
        "then": ProposeIntervalStep(interval_ms=30_000),
    }
    return Rule(id=rule_id, tenant_id=tenant_id, job_id=job_id, **(given | fields))


async def with_jobs(store: Store, *names: str, tenant_id: str = "north") -> None:
    """Keep jobs."""
    for name in names:
        await store.catalog.add_job(Job(id=name, name=name, tenant_id=tenant_id))


class RuleContract(Contract):
    """`add_rule`, `rule`, `rules`, `amend_rule`, `remove_rule`, `jobs_with_rules`, and `change_in_bulk`."""

    @pytest.mark.parametrize("rule", [a_rule(), FULL], ids=["least", "full"])
    async def test_a_rule_comes_back_as_it_was(self, store: Store, rule: Rule) -> None:
        await with_jobs(store, "job")
        await store.rules.add_rule(rule, most=10)
        assert await store.rules.rule("north", rule.id) == rule
        assert await store.rules.rules("north") == [rule]

    async def test_the_id_of_a_rule_is_taken_once_by_each_tenant(self, store: Store) -> None:
        await with_jobs(store, "job", "other")
        await with_jobs(store, "job", tenant_id="south")
        await store.rules.add_rule(a_rule(), most=10)
        with pytest.raises(Conflict, match="There is a rule rule already"):
            await store.rules.add_rule(a_rule(job_id="other", name="second"), most=10)
        await store.rules.add_rule(a_rule(tenant_id="south", name="theirs"), most=10)
        assert (await store.rules.rule("north", "rule")).name == "rule"
        assert (await store.rules.rule("south", "rule")).name == "theirs"

    async def test_a_rule_needs_its_job(self, store: Store) -> None:
        await with_jobs(store, "job", tenant_id="south")
        with pytest.raises(NotFound, match="Job job not found"):
            await store.rules.add_rule(a_rule(), most=10)
        assert await store.rules.rules("north") == []

    async def test_a_job_has_at_most_so_many_rules(self, store: Store, peers: Sequence[Store]) -> None:
        await with_jobs(store, "job", "other")
        await store.rules.add_rule(a_rule("elsewhere", job_id="other"), most=1)
        adding = [one.rules.add_rule(a_rule(f"rule-{n}"), most=3) for n, one in enumerate([*peers] * 4)]
        answers = await asyncio.gather(*adding, return_exceptions=True)
        refused = [answer for answer in answers if answer is not None]
        assert all(isinstance(answer, NotAllowed) for answer in refused), refused
        assert (
            len(await store.rules.rules("north", wanted=RuleFilter("job")))
            == 3
            == len(answers) - len(refused)
        )

    async def test_rules_are_listed_by_id_page_by_page_and_by_what_they_are_about(self, store: Store) -> None:
        await with_jobs(store, "job", "other")
        await with_jobs(store, "job", tenant_id="south")
        for rule_id in ("d", "B", "a"):
            await store.rules.add_rule(a_rule(rule_id), most=10)
        await store.rules.add_rule(a_rule("c", job_id="other", endpoint_id="e"), most=10)
        await store.rules.add_rule(a_rule("b", "south"), most=10)
        assert await ids(store) == ["B", "a", "c", "d"]
        assert await ids(store, page=Page(2)) == ["B", "a"]
        assert await ids(store, page=Page(2, after="a")) == ["c", "d"]
        assert await ids(store, wanted=RuleFilter("job")) == ["B", "a", "d"]
        assert await ids(store, wanted=RuleFilter("other", "e")) == ["c"]
        assert await ids(store, wanted=RuleFilter(endpoint_id="e")) == ["c"]
        assert await ids(store, wanted=RuleFilter("job", "e")) == []
        assert await store.rules.rules("nobody") == []

    async def test_a_rule_is_changed_in_place(self, store: Store) -> None:
        await with_jobs(store, "job")
        await store.rules.add_rule(a_rule(), most=10)
        changed = replace(FULL, id="rule")
        assert await store.rules.amend_rule("north", "rule", lambda _: changed) == changed
        assert await store.rules.rule("north", "rule") == changed

    async def test_a_change_that_raises_changes_nothing(self, store: Store) -> None:
        await with_jobs(store, "job")
        await store.rules.add_rule(a_rule(), most=10)

        def refuse(_: Rule) -> Rule:
            raise Conflict("not now")

        with pytest.raises(Conflict, match="not now"):
            await store.rules.amend_rule("north", "rule", refuse)
        assert await store.rules.rule("north", "rule") == a_rule()

    async def test_changes_at_once_happen_one_after_the_other(
        self, store: Store, peers: Sequence[Store]
    ) -> None:
        await with_jobs(store, "job")
        await store.rules.add_rule(a_rule(name="x"), most=10)
        longer = [
            one.rules.amend_rule("north", "rule", lambda rule: replace(rule, name=f"{rule.name}x"))
            for one in [*peers] * 4
        ]
        await asyncio.gather(*longer)
        assert (await store.rules.rule("north", "rule")).name == "x" * (len(longer) + 1)

    async def test_a_rule_is_seen_changed_and_removed_by_its_own_tenant_alone(self, store: Store) -> None:
        await with_jobs(store, "job")
        await store.rules.add_rule(a_rule(), most=10)
        for attempt in (
            store.rules.rule("south", "rule"),
            store.rules.amend_rule("south", "rule", lambda rule: rule),
            store.rules.remove_rule("south", "rule"),
        ):
            with pytest.raises(NotFound, match="Rule rule not found"):
                await attempt
        await store.rules.remove_rule("north", "rule")
        assert await store.rules.rules("north") == []
        with pytest.raises(NotFound):
            await store.rules.remove_rule("north", "rule")

    async def test_all_jobs_that_have_rules_are_known(self, store: Store) -> None:
        await with_jobs(store, "job", "other", "bare")
        await with_jobs(store, "job", tenant_id="south")
        assert await store.rules.jobs_with_rules() == frozenset()
        for rule in (a_rule("a"), a_rule("b"), a_rule("c", job_id="other"), a_rule("a", "south")):
            await store.rules.add_rule(rule, most=10)
        three = {JobKey("north", "job"), JobKey("north", "other"), JobKey("south", "job")}
        assert await store.rules.jobs_with_rules() == three

    async def test_rules_go_with_their_job(self, store: Store) -> None:
        await with_jobs(store, "job", "other", "third")
        await with_jobs(store, "job", tenant_id="south")
        for rule in (
            a_rule("a"),
            a_rule("b", job_id="other"),
            a_rule("c", job_id="third"),
            a_rule("a", "south"),
        ):
            await store.rules.add_rule(rule, most=10)
        await store.catalog.remove_job("north", "job", lambda endpoint: pytest.fail(f"{endpoint}"))
        await store.catalog.change_in_bulk("north", BulkScope(), lambda _: BulkChange(removed_jobs=["other"]))
        assert await ids(store) == ["c"]
        assert [rule.id for rule in await store.rules.rules("south")] == ["a"]

    async def test_an_estate_holds_the_rules_of_its_jobs_and_those_that_were_named(
        self, store: Store
    ) -> None:
        await with_jobs(store, "job", "other")
        await with_jobs(store, "job", tenant_id="south")
        inside, named = a_rule("a"), a_rule("b", job_id="other")
        for rule in (inside, named, a_rule("c", job_id="other"), a_rule("d", "south")):
            await store.rules.add_rule(rule, most=10)
        seen: list[BulkState] = []

        def look(current: BulkState) -> BulkChange:
            seen.append(current)
            return BulkChange()

        scope = BulkScope(frozenset({"job"}), rule_ids=frozenset({"b", "d", "none"}))
        await store.catalog.change_in_bulk("north", scope, look)
        await store.catalog.change_in_bulk("north", BulkScope(), look)
        assert [current.rules for current in seen] == [{"a": inside, "b": named}, {}]

    async def test_rules_are_arranged_in_one_commit_with_all_else(self, store: Store) -> None:
        await with_jobs(store, "job")
        for rule_id in ("changed", "gone", "stays"):
            await store.rules.add_rule(a_rule(rule_id), most=10)
        await with_jobs(store, "job", tenant_id="south")
        await store.rules.add_rule(a_rule("gone", "south"), most=10)
        changed, new = a_rule("changed", name="new name"), a_rule("new", job_id="fresh")
        job = Job(id="fresh", name="fresh", tenant_id="north")
        decided = BulkChange(jobs=[job], rules=[changed, new], removed_rules=["gone", "none"])
        answer = await store.catalog.change_in_bulk("north", BulkScope(frozenset({"job"})), lambda _: decided)
        assert answer.rules == [changed, new]
        assert await store.rules.rules("north") == [changed, new, a_rule("stays")]
        assert [rule.id for rule in await store.rules.rules("south")] == ["gone"]

    async def test_of_an_arrangement_that_is_refused_no_rule_is_written(self, store: Store) -> None:
        await store.endpoints.add(an_endpoint("taken", tenant_id="north", job_id="elsewhere"))
        await with_jobs(store, "job")
        await store.rules.add_rule(a_rule("gone"), most=10)
        taken = an_endpoint("taken", tenant_id="north", job_id="job")

        def decide(_: BulkState) -> BulkChange:
            return BulkChange((), [ChangedEndpoint(taken)], rules=[a_rule("new")], removed_rules=["gone"])

        with pytest.raises(Conflict):
            await store.catalog.change_in_bulk("north", BulkScope(frozenset({"job"})), decide)
        assert await ids(store) == ["gone"]


async def ids(store: Store, **asked: Any) -> list[str]:
    """The ids of rules in the order in which they are listed."""
    return [rule.id for rule in await store.rules.rules("north", **asked)]
