"""Rules as operations: written, refused, listed, changed, deleted and tried."""

from typing import Any

import pytest
from tests.operation_fixtures import ApplicationFixture

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import Conflict, InvalidRequest, NotAllowed, NotFound
from cadenza.domain.planning.rules.incidents import IncidentState, states_to_note
from cadenza.domain.planning.rules.rule import MOST_RULES
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.testing.contracts.harness import Bench

FAST: dict[str, Any] = {"tool": "propose_interval", "intervalMs": 20_000}
SLOW: dict[str, Any] = {
    "id": "slow",
    "job_id": "job",
    "name": "too slow",
    "when": "response.latency_ms > 800",
    "then": FAST,
}
FULL: dict[str, Any] = {
    **SLOW,
    "endpoint_id": "traffic",
    "relax": {"tool": "clear"},
    "cooldown_ms": 600_000,
    "once_per_incident": True,
    "escalate": [
        {
            "after_ms": 60_000,
            "then": {"tool": "wake", "endpoint": "cache", "nextRunInMs": 0, "reason": "why"},
        },
        {"after_ms": 90_000, "then": {"tool": "pause_until", "pauseMs": None}},
        {"after_ms": 95_000, "then": {"tool": "propose_next_time", "nextRunInMs": 5, "ttlMinutes": 2.5}},
    ],
    "enabled": False,
}


@pytest.fixture
async def app_with_endpoints(app: ApplicationFixture) -> ApplicationFixture:
    await app.job()
    for name in ("traffic", "cache"):
        await app.endpoint(name)
    return app


async def refused(app_with_endpoints: ApplicationFixture, **words: Any) -> dict[str, str]:
    with pytest.raises(InvalidRequest) as problem:
        await app_with_endpoints.ask("create_rule", **(SLOW | words))
    assert (await app_with_endpoints.ask("list_rules"))["items"] == []
    return {fault.field: fault.message for fault in problem.value.faults}


async def test_a_rule_is_written_and_shown(app_with_endpoints: ApplicationFixture) -> None:
    shown = await app_with_endpoints.ask("create_rule", **SLOW)
    assert shown == {
        **SLOW,
        "then": {**FAST, "endpoint": None, "reason": None, "ttlMinutes": 60},
        "endpoint_id": None,
        "relax": None,
        "cooldown_ms": 0,
        "once_per_incident": False,
        "escalate": [],
        "enabled": True,
        "created_at": "2025-01-01T00:00:00Z",
        "rank": "rule",
    }
    assert await app_with_endpoints.ask("get_rule", rule_id="slow") == shown
    assert (await app_with_endpoints.ask("list_rules"))["items"] == [shown]


async def test_everything_that_is_said_comes_back(app_with_endpoints: ApplicationFixture) -> None:
    shown = await app_with_endpoints.ask("create_rule", **FULL)
    for field in ("endpoint_id", "cooldown_ms", "once_per_incident", "enabled"):
        assert shown[field] == FULL[field]
    assert shown["relax"] == {"tool": "clear", "endpoint": None, "reason": None}
    for told, said in zip(shown["escalate"], FULL["escalate"], strict=True):
        assert told["after_ms"] == said["after_ms"]
        assert told["then"].items() >= said["then"].items()


async def test_what_is_shown_can_be_written_again(app_with_endpoints: ApplicationFixture) -> None:
    shown = await app_with_endpoints.ask("create_rule", **FULL)
    del shown["created_at"], shown["rank"]
    again = await app_with_endpoints.ask("create_rule", **(shown | {"id": "again"}))
    del again["created_at"], again["rank"]
    assert again == shown | {"id": "again"}


async def test_an_id_is_given_if_none_is_chosen(app_with_endpoints: ApplicationFixture) -> None:
    words = {name: word for name, word in SLOW.items() if name != "id"}
    shown = await app_with_endpoints.ask("create_rule", **words)
    assert await app_with_endpoints.ask("get_rule", rule_id=shown["id"]) == shown


@pytest.mark.parametrize(
    ("words", "field", "message"),
    [
        ({"when": "response.status >"}, "when", "cannot be read at line 1, column 18"),
        ({"when": "respons.ok"}, "when", "has no 'respons'"),
        ({"when": "endpoint.failurs > 2"}, "when", "finds no failurs in endpoint; it has failures, "),
        ({"when": "1 + 1"}, "when", "must come to true or false"),
        ({"when": "x" * 1_001}, "when", "1 to 1,000 characters"),
        ({"when": " "}, "when", "must not be empty"),
        ({"then": {"tool": "explode"}}, "then.tool", "must be propose_interval, "),
        ({"then": {"tool": "propose_interval"}}, "then.intervalMs", "is missing"),
        ({"then": {**FAST, "intervalMs": 0}}, "then.intervalMs", "from 1 to "),
        ({"then": {**FAST, "nextRunInMs": 1}}, "then.nextRunInMs", "unknown here"),
        ({"then": {**FAST, "endpoint": "nobody"}}, "then.endpoint", "Endpoint named nobody not found"),
        (
            {"relax": {"tool": "wake", "endpoint": "nobody"}},
            "relax.endpoint",
            "Endpoint named nobody not found in the job job",
        ),
        (
            {"relax": {"tool": "propose_next_time", "nextRunInMs": 60_000, "ttlMinutes": 1}},
            "relax.ttlMinutes",
            "would expire before its moment",
        ),
        ({"endpoint_id": "nobody"}, "endpoint_id", "Endpoint nobody not found in the job"),
        ({"cooldown_ms": -1}, "cooldown_ms", "from 0 to "),
        (
            {"escalate": [{"after_ms": 2, "then": FAST}, {"after_ms": 2, "then": FAST}]},
            "escalate",
            "each later than the one before",
        ),
        (
            {"escalate": [{"after_ms": 2, "then": {"tool": "wake", "endpoint": "nobody"}}]},
            "escalate.0.then.endpoint",
            "nobody",
        ),
        (
            {
                "escalate": [
                    {"after_ms": 2, "then": {"tool": "wake", "nextRunInMs": 9_999, "ttlMinutes": 0.1}}
                ]
            },
            "escalate.0.then.ttlMinutes",
            "would expire",
        ),
    ],
)
async def test_what_makes_no_sense_is_refused_with_its_place(
    app_with_endpoints: ApplicationFixture, words: dict[str, Any], field: str, message: str
) -> None:
    faults = await refused(app_with_endpoints, **words)
    assert message in faults[field]


async def test_all_parts_at_fault_are_told_at_once(app_with_endpoints: ApplicationFixture) -> None:
    expiring = {"tool": "wake", "nextRunInMs": 60_000, "ttlMinutes": 1}
    faults = await refused(app_with_endpoints, then=expiring, relax=expiring)
    assert faults.keys() == {"then.ttlMinutes", "relax.ttlMinutes"}


async def test_a_rule_needs_a_job_and_an_id_of_its_own(app_with_endpoints: ApplicationFixture) -> None:
    with pytest.raises(NotFound, match="Job other not found"):
        await app_with_endpoints.ask("create_rule", **(SLOW | {"job_id": "other"}))
    await app_with_endpoints.ask("create_rule", **SLOW)
    with pytest.raises(Conflict, match="There is a rule slow already"):
        await app_with_endpoints.ask("create_rule", **SLOW)


async def test_a_job_has_so_many_rules_and_no_more(app_with_endpoints: ApplicationFixture) -> None:
    for number in range(MOST_RULES):
        await app_with_endpoints.ask("create_rule", **(SLOW | {"id": f"rule-{number}"}))
    with pytest.raises(NotAllowed, match=f"at most {MOST_RULES} rules"):
        await app_with_endpoints.ask("create_rule", **SLOW)


async def test_rules_are_listed_by_job_and_endpoint_page_by_page(
    app_with_endpoints: ApplicationFixture,
) -> None:
    await app_with_endpoints.job("other")
    await app_with_endpoints.endpoint("far", job_id="other")
    for rule_id, words in (
        ("a", {}),
        ("b", {"endpoint_id": "traffic"}),
        ("c", {"job_id": "other", "endpoint_id": "far"}),
    ):
        await app_with_endpoints.ask("create_rule", **(SLOW | {"id": rule_id} | words))

    async def listed(**wanted: Any) -> list[str]:
        return [rule["id"] for rule in (await app_with_endpoints.ask("list_rules", **wanted))["items"]]

    assert await listed() == ["a", "b", "c"]
    assert await listed(job_id="job") == ["a", "b"]
    assert await listed(endpoint_id="far") == ["c"]
    page = await app_with_endpoints.ask("list_rules", limit=2)
    assert await listed(cursor=page["next_cursor"]) == ["c"]


async def test_a_rule_is_changed_where_something_is_said(app_with_endpoints: ApplicationFixture) -> None:
    before = await app_with_endpoints.ask("create_rule", **FULL)
    after = await app_with_endpoints.ask(
        "update_rule", rule_id="slow", when="response.ok", endpoint_id=None, relax=None
    )
    assert after == before | {"when": "response.ok", "endpoint_id": None, "relax": None}
    after = await app_with_endpoints.ask(
        "update_rule", rule_id="slow", escalate=[], enabled=True, then={"tool": "clear"}
    )
    assert (after["escalate"], after["enabled"], after["then"]["tool"]) == ([], True, "clear")


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({"when": "1 +"}, "when"),
        ({"when": None}, "when"),
        ({"then": None}, "then"),
        ({"then": {"tool": "wake", "endpoint": "nobody"}}, "then.endpoint"),
        ({"endpoint_id": "nobody"}, "endpoint_id"),
        ({"job_id": "job"}, "job_id"),
    ],
)
async def test_a_change_is_checked_like_a_new_rule(
    app_with_endpoints: ApplicationFixture, words: dict[str, Any], field: str
) -> None:
    before = await app_with_endpoints.ask("create_rule", **SLOW)
    with pytest.raises(InvalidRequest) as problem:
        await app_with_endpoints.ask("update_rule", rule_id="slow", **words)
    assert problem.value.field == field
    assert await app_with_endpoints.ask("get_rule", rule_id="slow") == before


async def test_a_deleted_rule_is_gone(app_with_endpoints: ApplicationFixture) -> None:
    await app_with_endpoints.ask("create_rule", **SLOW)
    await app_with_endpoints.ask("delete_rule", rule_id="slow")
    for operation in ("get_rule", "delete_rule", "test_rule"):
        with pytest.raises(NotFound, match="Rule slow not found"):
            await app_with_endpoints.ask(operation, rule_id="slow")


async def test_rules_go_with_their_job(app_with_endpoints: ApplicationFixture) -> None:
    await app_with_endpoints.ask("create_rule", **SLOW)
    await app_with_endpoints.ask("delete_job", job_id="job")
    assert (await app_with_endpoints.ask("list_rules"))["items"] == []


@pytest.mark.parametrize(
    ("operation", "words", "scope"),
    [
        ("create_rule", SLOW, Scope.STEER),
        ("update_rule", {"rule_id": "slow"}, Scope.STEER),
        ("delete_rule", {"rule_id": "slow"}, Scope.STEER),
    ],
)
async def test_rules_are_written_by_writers(
    app_with_endpoints: ApplicationFixture, operation: str, words: dict[str, Any], scope: Scope
) -> None:
    with pytest.raises(NotAllowed, match="scope write"):
        await app_with_endpoints.ask(operation, holding=frozenset({scope}), **words)


class TestTrial:
    """`test_rule`."""

    @pytest.fixture
    async def tried(self, app_with_endpoints: ApplicationFixture) -> ApplicationFixture:
        await app_with_endpoints.ask("create_rule", **(FULL | {"enabled": True}))
        return app_with_endpoints

    async def ran(self, app_with_endpoints: ApplicationFixture, duration_ms: int) -> str:
        bench = Bench(app_with_endpoints.store)
        bench.clock = app_with_endpoints.clock
        await app_with_endpoints.ask("run_now", endpoint_id="traffic")
        ((settled,),) = [
            await bench.finalize([(await bench.claim_one(), Outcome(RunStatus.SUCCESS, duration_ms))])
        ]
        assert settled is not None
        return settled.run.id

    async def test_it_tells_what_would_be_done_and_does_nothing(self, tried: ApplicationFixture) -> None:
        run_id = await self.ran(tried, 900)
        before = await tried.store.endpoints.get(EndpointKey("default", "traffic"))
        told = await tried.ask("test_rule", rule_id="slow", holding=frozenset({Scope.READ}))
        assert told == {
            "endpoint_id": "traffic",
            "run_id": run_id,
            "holds": True,
            "trouble": None,
            "incident_since": None,
            "calls": [
                {
                    "endpoint": "traffic",
                    "tool": "propose_interval",
                    "arguments": {"intervalMs": 20_000, "ttlMinutes": 60.0, "reason": "too slow"},
                }
            ],
        }
        assert await tried.store.endpoints.get(before.key) == before
        assert await tried.store.runs.hints(before.key) == []
        assert await tried.store.analyses.notes("rules", [before.key]) == {}

    async def test_it_goes_on_from_what_its_planner_remembers(self, tried: ApplicationFixture) -> None:
        await self.ran(tried, 900)
        now, key = tried.clock.now(), EndpointKey("default", "traffic")
        state = IncidentState(began_at=now, fired_at=now, fired=True)
        await tried.store.analyses.save_notes("rules", {key: states_to_note({"slow": state})}, now)
        told = await tried.ask("test_rule", rule_id="slow")
        assert (told["incident_since"], told["calls"]) == ("2025-01-01T00:00:00Z", [])
        await tried.ask("pause_until", endpoint_id="cache", untilIso="2026-01-01T00:00:00Z")
        await tried.clock.sleep(60_000)
        told = await tried.ask("test_rule", rule_id="slow")
        assert [(call["endpoint"], call["tool"]) for call in told["calls"]] == [
            ("cache", "propose_next_time"),
            ("cache", "pause_until"),
        ]

    async def test_what_does_not_hold_or_cannot_be_told_does_nothing(self, tried: ApplicationFixture) -> None:
        told = await tried.ask("test_rule", rule_id="slow")
        assert (told["holds"], told["trouble"], told["run_id"]) == (
            None,
            "latency_ms not found.",
            None,
        )
        await self.ran(tried, 5)
        told = await tried.ask("test_rule", rule_id="slow")
        assert (told["holds"], told["trouble"], told["calls"]) == (False, None, [])

    async def test_a_rule_about_all_is_told_which_one_to_look_at(self, tried: ApplicationFixture) -> None:
        with pytest.raises(InvalidRequest, match="looks at traffic alone"):
            await tried.ask("test_rule", rule_id="slow", endpoint_id="cache")
        await tried.ask("update_rule", rule_id="slow", endpoint_id=None)
        with pytest.raises(InvalidRequest, match="say which one"):
            await tried.ask("test_rule", rule_id="slow")
        assert (await tried.ask("test_rule", rule_id="slow", endpoint_id="cache"))["endpoint_id"] == "cache"
        with pytest.raises(NotFound, match="Endpoint nobody not found"):
            await tried.ask("test_rule", rule_id="slow", endpoint_id="nobody")

    async def test_an_endpoint_of_another_job_is_not_looked_at(self, tried: ApplicationFixture) -> None:
        await tried.job("other")
        await tried.endpoint("far", job_id="other")
        await tried.ask("update_rule", rule_id="slow", endpoint_id=None)
        with pytest.raises(NotFound, match="Endpoint far not found in the job job"):
            await tried.ask("test_rule", rule_id="slow", endpoint_id="far")
