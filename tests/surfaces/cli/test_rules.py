"""`cadenza rules`, on a database of its own and in front of a server."""

from typing import Any

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner

AN_ENDPOINT = ("--url", "https://example.com", "--every", "1m")


def opened(cli: CliRunner, job: str) -> None:
    cli.ok("jobs", "create", "--name", "Shop", "--id", job)
    for name in ("traffic", "cache"):
        named = ("--id", f"{job}-{name}", "--name", f"{name}-{job}")
        cli.ok("endpoints", "create", "--job", job, *named, *AN_ENDPOINT)


def a_rule(cli: CliRunner, job: str, *more: str, then: str = "clear") -> Any:
    words = ("rules", "create", "--job", job, "--id", f"{job}-slow", "--name", f"slow {job}")
    return cli.json(*words, "--when", "response.latency_ms > 800", "--then", then, *more)


def test_a_rule_is_written_in_words_and_shown_in_them(cli: CliRunner) -> None:
    job = "written"
    opened(cli, job)
    made = a_rule(
        cli,
        job,
        "--endpoint",
        f"traffic-{job}",
        "--relax",
        "clear",
        "--escalate",
        f"5m wake endpoint=cache-{job} in=5s reason='still slow'",
        "--escalate",
        "1h pause_until pause=none",
        "--cooldown",
        "10m",
        "--once",
        then="propose_interval interval=20s ttl=90s",
    )
    assert made["endpoint_id"] == f"{job}-traffic"
    assert (made["cooldown_ms"], made["once_per_incident"]) == (600_000, True)
    assert made["then"]["intervalMs"] == 20_000
    assert made["then"]["ttlMinutes"] == 1.5
    first, second = made["escalate"]
    assert (first["after_ms"], first["then"]["tool"], first["then"]["nextRunInMs"]) == (
        300_000,
        "wake",
        5_000,
    )
    assert first["then"]["reason"] == "still slow"
    assert (second["after_ms"], second["then"]["pauseMs"]) == (3_600_000, None)
    shown = cli.ok("rules", "show", f"slow {job}")
    for words in (
        "response.latency_ms > 800",
        "propose_interval interval=20s ttl=1m30s",
        "after 5m",
        f"wake endpoint=cache-{job} in=5s",
        "pause_until pause=none",
        "10m",
    ):
        assert words in shown
    assert f"{job}-slow" in cli.ok("rules", "list", "--job", job)


def test_a_rule_is_changed_tried_and_deleted(cli: CliRunner) -> None:
    job = "changed"
    opened(cli, job)
    a_rule(cli, job, "--relax", "clear", "--disabled")
    rule = f"{job}-slow"
    changed = cli.json("rules", "update", rule, "--relax", "none", "--enabled", "--name", "new name")
    assert (changed["relax"], changed["enabled"], changed["name"]) == (None, True, "new name")
    assert cli.json("rules", "update", rule, "--endpoint", f"{job}-cache")["endpoint_id"] == f"{job}-cache"
    assert cli.json("rules", "update", rule, "--endpoint", "none")["endpoint_id"] is None
    told = cli.ok("rules", "test", rule, "--endpoint", f"{job}-traffic")
    assert "Error: latency_ms not found." in told
    assert "Dry run, no changes made: no tool would be called." in told
    cli.json("rules", "update", rule, "--when", "!endpoint.paused", "--then", "propose_next_time in=5s")
    told = cli.ok("rules", "test", rule, "--endpoint", f"{job}-traffic")
    assert "The condition is true." in told
    assert f"propose_next_time of traffic-{job}" in told
    cli.json("rules", "update", rule, "--when", "endpoint.paused")
    assert "The condition is false." in cli.ok("rules", "test", rule, "--endpoint", f"{job}-traffic")
    assert "Deleted the rule" in cli.ok("rules", "delete", rule)
    assert "No rules yet." in cli.ok("rules", "list", "--job", job)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--when", "response.status >"], "line 1, column 18"),
        (["--then", "explode"], "tool"),
        (["--then", "wake endpoint"], "--then takes NAME=VALUE"),
        (["--then", "wake 'open"], "--then takes a tool"),
        (["--then", "propose_interval interval=soon"], "span such as"),
        (["--then", "wake endpoint=nobody"], "nobody"),
        (["--relax", ""], "--relax takes a tool"),
        (["--escalate", "soon clear"], "span such as"),
        (["--escalate", "5m"], "--escalate takes a tool"),
        (["--cooldown", "long"], "span such as"),
    ],
)
def test_wrong_words_cost_a_sentence(local: CliRunner, words: list[str], told: str) -> None:
    opened(local, "wrong")
    given = ["--job", "wrong", "--name", "x"]
    given += [] if "--when" in words else ["--when", "response.ok"]
    given += [] if "--then" in words else ["--then", "clear"]
    code, sentence = local.refused("rules", "create", *given, *words)
    assert code == 2
    assert told in sentence


def test_a_rule_that_is_not_there_is_not_found(local: CliRunner) -> None:
    assert local.refused("rules", "show", "nothing")[0] == 3
