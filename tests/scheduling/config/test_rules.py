"""Rules in configuration files: read in people's words, compared, applied with all else, and written."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.operation_fixtures import ApplicationFixture
from tests.scheduling.config.test_apply import told

from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.rules.rule import (
    MOST_RULES,
    ClearStep,
    Escalation,
    PauseStep,
    ProposeIntervalStep,
    ProposeNextTimeStep,
    WakeStep,
)
from cadenza.operations.config.file import ConfigFile
from cadenza.operations.config.yaml_writer import to_yaml
from cadenza.testing.fakes import FakeIds

FILE = """
version: 1
jobs:
  - id: shop
    endpoints:
      - {id: traffic, target: https://shop.example/traffic, baseline: every 1m}
      - {id: cache, name: Cache warmer, target: https://shop.example/cache, baseline: every 5m}
    rules:
      - id: surge
        name: A surge
        endpoint: traffic
        when: response.body.visitors > 4000
        then: {tool: propose_interval, interval: 20s, ttl: 1h30m}
        relax: {tool: clear}
        cooldown: 10m
        once_per_incident: true
        escalate:
          - {after: 5m, then: {tool: wake, endpoint: Cache warmer, in: 5s, ttl: 90s, reason: still busy}}
          - {after: 1h, then: {tool: pause_until, pause: 2d}}
      - {id: tidy, when: response.ok, then: {tool: propose_next_time, in: 1s}}
"""


def document(text: str = FILE) -> dict[str, Any]:
    return ConfigFile(text).document


def with_rule(**words: Any) -> dict[str, Any]:
    """The file with other words in its first rule."""
    changed = document()
    changed["jobs"][0]["rules"][0] |= words
    return changed


async def faults(app: ApplicationFixture, file: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(InvalidRequest) as problem:
        await app.ask("apply_config", **file)
    assert (await app.ask("list_rules"))["items"] == []
    assert (await app.ask("list_jobs"))["items"] == []
    return {fault.field: fault.message for fault in problem.value.faults}


async def test_rules_in_peoples_words_become_rules(app: ApplicationFixture) -> None:
    answer = await app.ask("apply_config", **document())
    assert told(answer)[-2:] == [("create", "rule", "surge"), ("create", "rule", "tidy")]
    surge, tidy = await app.store.rules.rules("default")
    assert (surge.name, surge.job_id, surge.endpoint_id) == ("A surge", "shop", "traffic")
    assert surge.then == ProposeIntervalStep(interval_ms=20_000, ttl_minutes=90)
    assert (surge.relax, surge.cooldown_ms, surge.once_per_incident) == (ClearStep(), 600_000, True)
    wake = WakeStep(endpoint="Cache warmer", in_ms=5_000, ttl_minutes=1.5, reason="still busy")
    assert surge.escalate == (
        Escalation(300_000, wake),
        Escalation(3_600_000, PauseStep(for_ms=2 * 86_400_000)),
    )
    assert (tidy.name, tidy.then, tidy.endpoint_id, tidy.enabled) == (
        "tidy",
        ProposeNextTimeStep(in_ms=1_000),
        None,
        True,
    )


async def test_applied_twice_it_changes_nothing(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **document())
    again = await app.ask("apply_config", **document(), prune=True)
    assert (again["changes"], again["counts"]["unchanged"]) == ([], 5)


async def test_what_changes_is_told_in_the_words_of_the_wire(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **document())
    created_at = (await app.store.rules.rule("default", "surge")).created_at
    await app.clock.sleep(60_000)
    fewer = [{"after": "5m", "then": {"tool": "clear"}}]
    answer = await app.ask("apply_config", **with_rule(cooldown="1h", escalate=fewer, relax=None))
    (change,) = answer["changes"]
    assert (change["action"], change["kind"], change["id"]) == ("update", "rule", "surge")
    fields = {field["field"]: (field["before"], field["after"]) for field in change["fields"]}
    assert fields["cooldown_ms"] == (600_000, 3_600_000)
    assert fields["relax"] == ({"tool": "clear"}, None)
    assert fields["escalate"][1] == [{"after_ms": 300_000, "then": {"tool": "clear"}}]
    assert fields["escalate"][0][1] == {
        "after_ms": 3_600_000,
        "then": {"tool": "pause_until", "pauseMs": 172_800_000},
    }
    assert (await app.store.rules.rule("default", "surge")).created_at == created_at


async def test_a_switch_that_the_file_does_not_speak_of_stays(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **document())
    await app.ask("update_rule", rule_id="surge", enabled=False)
    assert (await app.ask("apply_config", **document()))["changes"] == []
    assert told(await app.ask("apply_config", **with_rule(enabled=True))) == [("update", "rule", "surge")]
    assert (await app.store.rules.rule("default", "surge")).enabled


async def test_rules_that_are_not_named_stay_unless_they_are_pruned(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **document())
    without = document()
    del without["jobs"][0]["rules"][1]
    assert (await app.ask("apply_config", **without))["changes"] == []
    tried = await app.ask("apply_config", **without, prune=True, dry_run=True)
    assert told(tried) == [("delete", "rule", "tidy")]
    assert len((await app.ask("list_rules"))["items"]) == 2
    await app.ask("apply_config", **without, prune=True)
    assert [rule["id"] for rule in (await app.ask("list_rules"))["items"]] == ["surge"]


async def test_rules_go_with_a_job_that_is_pruned(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **document())
    answer = await app.ask("apply_config", version=1, prune=True)
    assert ("delete", "rule", "surge") in told(answer)
    assert (await app.ask("list_rules"))["items"] == []


async def test_a_rule_may_speak_of_endpoints_that_are_there_but_not_in_the_file(
    app: ApplicationFixture,
) -> None:
    await app.ask("apply_config", **document())
    bare = document()
    bare["jobs"][0]["endpoints"] = []
    assert (await app.ask("apply_config", **bare))["changes"] == []
    with pytest.raises(InvalidRequest, match=r"jobs\.0\.rules\.0\.endpoint: Endpoint traffic not found"):
        await app.ask("apply_config", **bare, prune=True)
    assert len((await app.ask("list_endpoints"))["items"]) == 2


@pytest.mark.parametrize(
    ("words", "field", "message"),
    [
        ({"when": "response.status >"}, "when", "line 1, column 18"),
        ({"when": "respons.ok"}, "when", "has no 'respons'"),
        ({"then": {"tool": "explode"}}, "then.tool", "must be propose_interval, "),
        ({"then": {"tool": "wake", "interval": "5s"}}, "then.interval", "unknown here"),
        ({"then": {"tool": "propose_interval", "interval": "soon"}}, "then.interval", "span such as"),
        ({"then": {"tool": "propose_interval", "interval": "5s", "ttl": "x"}}, "then.ttl", "span such as"),
        (
            {"then": {"tool": "wake", "ttl": "5s", "ttlMinutes": 1}},
            "then.ttl",
            "ttl and ttlMinutes are the same",
        ),
        ({"cooldown": "5m", "cooldown_ms": 5}, "cooldown", "cooldown and cooldown_ms are the same"),
        ({"endpoint": "nobody"}, "endpoint", "Endpoint nobody not found in the job shop"),
        ({"then": {"tool": "wake", "endpoint": "cache"}}, "then.endpoint", "Endpoint named cache not found"),
        ({"relax": {"tool": "wake", "in": "5m", "ttl": "1m"}}, "relax.ttl", "would expire"),
        (
            {"escalate": [{"after": "0s", "then": {"tool": "clear"}}]},
            "escalate.0.after",
            "must be a span from 1ms to 10 years",
        ),
        (
            {"escalate": [{"after": "1s", "then": {"tool": "wake", "endpoint": "x"}}]},
            "escalate.0.then.endpoint",
            "x",
        ),
        ({"colour": "red"}, "colour", "unknown here"),
        ({"cooldwon": "5m"}, "cooldwon", "known are cooldown, "),
        ({"escalate": [{"aftr": "5m", "then": {"tool": "wake"}}]}, "escalate.0.aftr", "known are after, "),
        ({"id": "tidy"}, "id", "has the rule tidy already"),
    ],
)
async def test_what_is_wrong_is_told_with_its_path_and_nothing_is_written(
    app: ApplicationFixture, words: dict[str, Any], field: str, message: str
) -> None:
    found = await faults(app, with_rule(**words))
    places = {path: text for path, text in found.items() if message in text}
    expected = "jobs.0.rules.1.id" if field == "id" else f"jobs.0.rules.0.{field}".rstrip(".")
    assert expected in places, found


async def test_faults_in_rules_and_endpoints_are_told_together(app: ApplicationFixture) -> None:
    wrong = with_rule(when="1 +")
    wrong["jobs"][0]["endpoints"][0]["baseline"] = "cron never"
    assert {path.split(".")[2] for path in await faults(app, wrong)} == {"rules", "endpoints"}


async def test_a_job_never_gets_more_rules_than_it_may_have(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **document())
    many = document()
    many["jobs"][0]["rules"] = [
        {"id": f"rule-{number}", "when": "true", "then": {"tool": "clear"}} for number in range(MOST_RULES)
    ]
    with pytest.raises(InvalidRequest, match=f"would have {MOST_RULES + 2} rules"):
        await app.ask("apply_config", **many)
    await app.ask("apply_config", **many, prune=True)
    assert len(await app.store.rules.rules("default")) == 100


async def test_what_is_exported_is_what_was_applied(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **document())
    await app.ask("update_rule", rule_id="tidy", enabled=False)
    view = await app.ask("export_config")
    assert (await app.ask("apply_config", **view, prune=True))["changes"] == []
    text = to_yaml(view)
    spoken = yaml.safe_load(text)["jobs"][0]["rules"]
    (surge, tidy) = document()["jobs"][0]["rules"]
    surge["escalate"][0]["then"]["ttl"] = "1m30s"
    assert spoken == [surge, {**tidy, "enabled": False}]
    assert (await app.ask("apply_config", **document(text), prune=True))["changes"] == []


async def test_rules_about_what_is_gone_are_not_exported(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **document())
    await app.ask("delete_endpoint", endpoint_id="cache")
    (job,) = (await app.ask("export_config"))["jobs"]
    assert [rule["id"] for rule in job["rules"]] == ["tidy"]


async def test_rules_mean_the_same_in_a_database(app: ApplicationFixture, tmp_path: Path) -> None:
    path = tmp_path / "cadenza.db"
    await migrate(f"sqlite:///{path}")
    store = SqliteStore(SqliteFile(path), FakeIds())
    app.application.dependencies = replace(app.application.dependencies, store=store)
    await app.ask("apply_config", **document())
    view = await app.ask("export_config")
    assert (await app.ask("apply_config", **view, prune=True))["changes"] == []
    await app.ask("apply_config", **with_rule(id="other"), prune=True)
    assert [rule["id"] for rule in (await app.ask("list_rules"))["items"]] == ["other", "tidy"]
    await store.close()
