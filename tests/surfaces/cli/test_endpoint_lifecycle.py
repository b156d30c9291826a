"""The life of an endpoint, from its creation to its end, here and on a server.

What changes it are programs of their own; what looks at it is this one.
"""

from tests.surfaces.cli.cli_fixtures import CliRunner

CREATE = (
    "endpoints create --job life --id life-traffic --name traffic --url https://example.com/traffic"
    " --every 1m --min 20s --max 5m --label team=life --header X-Team=life"
)
TIGHTEN = "endpoints tighten traffic --every 20s --for 1h"


def test_an_endpoint_is_created_steered_paused_resumed_and_deleted(cli: CliRunner) -> None:
    target = cli.target
    assert cli.ok("jobs", "create", "--name", "Life", "--id", "life")
    made = target.said(*CREATE.split(), "--body", '{"a": [1]}')
    assert made["guard"] == {"min_interval_ms": 20_000, "max_interval_ms": 300_000}
    assert made["target"]["body"] == {"a": [1]}

    listed = cli.ok("endpoints", "list", "--label", "team=life")
    assert "traffic" in listed
    assert "every 1m" in listed
    assert "X-Team=life" in cli.ok("endpoints", "show", "traffic")

    tightened = target.process(*TIGHTEN.split(), "--reason", "a [bold]sale[/bold]")
    assert "set by an interval hint" in tightened.stdout
    why = cli.ok("explain", "traffic")
    assert "every 20 seconds instead of the baseline" in why
    assert "(a [bold]sale[/bold])" in why
    assert "ai-interval" in why.split("candidate")[1]

    assert target.said("endpoints", "pause", "--label", "team=life", "--until", "2h") == {
        "endpoints": 1,
        "not_applied": 0,
    }
    assert cli.json("endpoints", "show", "life-traffic")["paused_until"] is not None
    assert cli.json("endpoints", "resume", "traffic")["source"] == "resume"
    assert cli.json("hints", "clear", "traffic")["governor"]["source"] == "baseline-interval"
    assert [hint["kind"] for hint in cli.json("hints", "list", "traffic")["items"]].count("interval") == 1

    assert target.said("endpoints", "delete", "traffic") == {}
    assert cli.refused("endpoints", "show", "life-traffic")[0] == 3
    assert cli.ok("jobs", "delete", "Life") == "Deleted the job Life with its endpoints.\n"


def test_a_job_that_a_person_paused_is_not_switched_on_by_a_stated_lower_rank(cli: CliRunner) -> None:
    cli.ok("jobs", "create", "--name", "Ranked", "--id", "ranked")
    cli.ok("jobs", "update", "ranked", "--inactive")
    refused = cli.json("jobs", "update", "ranked", "--active", "--rank", "rule")
    assert (refused["active"], refused["note"] is None) == (False, False)
    assert cli.json("jobs", "update", "ranked", "--active")["active"] is True


def test_a_preview_of_a_lower_rank_shows_that_it_would_not_be_applied(cli: CliRunner) -> None:
    cli.ok("jobs", "create", "--name", "Foreseen", "--id", "foreseen")
    create = "endpoints create --job foreseen --name foreseen --url https://example.com --every 1m"
    cli.ok(*create.split())
    cli.ok("endpoints", "tighten", "foreseen", "--every", "20s")
    preview = ("endpoints", "preview", "foreseen", "--clear")
    assert cli.json(*preview, "--rank", "llm")["after"]["plan"]["applied"] is False
    assert cli.json(*preview)["after"]["plan"]["applied"] is True
