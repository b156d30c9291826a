"""Every operation from the command line: here and on a server, the same words and the same answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner, CliTarget

ODD_NAMES = (
    "Größe 東京 🎵",
    "-rf",
    "--all",
    "n" * 200,
    'it\'s "so"; $(touch x) `y` <b> [red]',
    "a/b?c=d#e",
    "..",
)
MADE = ("--url", "https://example.com/x", "--every", "1m")


def a_job(cli: CliRunner, job: str) -> str:
    cli.ok("jobs", "create", "--name", f"The job {job}", "--id", job)
    return job


def an_endpoint(cli: CliRunner, job: str, *words: str) -> Any:
    return cli.json("endpoints", "create", "--job", job, *(words or ("--name", "one")), *MADE)


def test_both_ways_give_the_same_answers(local: CliRunner, remote: CliRunner, server: CliTarget) -> None:
    job = a_job(remote, "same")
    an_endpoint(remote, job, "--name", "same-1", "--id", "same-1", "--label", "a=b")
    local.target = CliTarget(server.folder)
    for words in (
        ("jobs", "show", "same"),
        ("endpoints", "list", "--job", "same"),
        ("endpoints", "show", "same-1"),
        ("endpoints", "list", "--label", "a=b", "--limit", "1"),
        ("runs", "list", "--endpoint", "same-1", "--status", "failure"),
        ("hints", "list", "same-1"),
        ("health", "same-1"),
        ("keys", "list"),
        ("secrets", "list"),
        ("usage",),
        ("export",),
    ):
        assert local.ok(*words) == remote.ok(*words)
        assert local.json(*words) == remote.json(*words)
    for wrong in (
        ("jobs", "show", "nowhere"),
        ("jobs", "create", "--name", "again", "--id", "same"),
        ("jobs", "create", "--name", "a", "--id", "../.."),
        ("endpoints", "create", "--job", "same", "--name", "x", "--url", "ftp://x", "--every", "1m"),
        ("endpoints", "next", "same-1", "--in", "20m", "--for", "1m"),
        ("secrets", "delete", ".."),
        ("runs", "list", "--status", "superb"),
    ):
        assert local.refused(*wrong) == remote.refused(*wrong)


@pytest.mark.parametrize("number", range(len(ODD_NAMES)))
def test_odd_names_are_names(cli: CliRunner, number: int) -> None:
    name, job = ODD_NAMES[number], f"odd-{number}"
    cli.ok("jobs", "create", f"--name={name}", "--id", job)
    assert cli.json("jobs", "show", "--", name)["id"] == job
    made = an_endpoint(cli, job, f"--name={name}", f"--description={name}")
    assert (made["name"], made["description"]) == (name, name)
    shown = cli.ok("endpoints", "show", "--", name)
    assert name[:50] in shown
    cli.ok("endpoints", "delete", "--", name)
    cli.ok("jobs", "delete", "--", name)
    assert cli.refused("jobs", "show", "--", name)[0] == 3


def test_a_name_that_several_have_needs_an_id(cli: CliRunner) -> None:
    job = a_job(cli, "twins")
    ids = sorted(an_endpoint(cli, job, "--name", "twin", "--id", one)["id"] for one in ("twin-1", "twin-2"))
    code, sentence = cli.refused("explain", "twin")
    assert code == 2
    assert ", ".join(ids) in sentence
    assert cli.json("explain", "twin-1")["endpoint_id"] == "twin-1"


def test_an_id_comes_before_a_name(cli: CliRunner) -> None:
    job = a_job(cli, "before")
    an_endpoint(cli, job, "--name", "before-2", "--id", "before-1")
    an_endpoint(cli, job, "--name", "before-1", "--id", "before-2")
    assert cli.json("endpoints", "show", "before-1")["id"] == "before-1"


def test_lists_go_on_as_far_as_is_wanted(local: CliRunner) -> None:
    for number in range(5):
        a_job(local, f"job-{number}")
    ids = [f"job-{number}" for number in range(5)]
    first = local.json("jobs", "list", "--limit", "2")
    assert [job["id"] for job in first["items"]] == ids[:2]
    rest = local.json("jobs", "list", "--all", "--cursor", first["next_cursor"])
    assert [job["id"] for job in rest["items"]] == ids[2:]
    assert rest["next_cursor"] is None
    assert [job["id"] for job in local.json("jobs", "list", "--all", "--limit", "4")["items"]] == ids[:4]
    assert "There is more" in local.ok("jobs", "list", "--limit", "2")
    assert local.refused("jobs", "list", "--limit", "0")[0] == 2


def test_a_list_longer_than_a_page_is_followed_page_by_page(local: CliRunner, tmp_path: Path) -> None:
    endpoints = [
        {"id": f"e-{number:04}", "target": "https://example.com", "baseline": "every 1h"}
        for number in range(1_001)
    ]
    config = {"version": 1, "jobs": [{"id": "many", "endpoints": endpoints}]}
    (tmp_path / "many.json").write_text(json.dumps(config))
    assert local.json("apply", "-f", "many.json")["counts"]["create"] == 1_002
    found = local.json("endpoints", "list", "--all")
    assert [one["id"] for one in found["items"]] == [one["id"] for one in endpoints]
    assert len(local.json("endpoints", "list")["items"]) == 100
    assert local.json("endpoints", "show", "e-1000")["id"] == "e-1000"


def test_options_are_laid_over_what_was_there(cli: CliRunner) -> None:
    job = a_job(cli, "laid")
    first = "--id laid-1 --name x --header A=1 --min 10s --max 2m --label a=1 --label b=2"
    an_endpoint(cli, job, *first.split())
    words = "--header B=2 --method post --body @body.json --max none --label c=3 --unlabel a --timeout 5s"
    (cli.target.folder / "body.json").write_text('{"deep": [true]}')
    changed = cli.json("endpoints", "update", "laid-1", *words.split(), "--attempts", "3", "--disabled")
    assert changed["target"]["headers"] == {"A": "1", "B": "2"}
    assert (changed["target"]["method"], changed["target"]["body"]) == ("POST", {"deep": [True]})
    assert changed["target"]["url"] == "https://example.com/x"
    assert changed["guard"] == {"min_interval_ms": 10_000, "max_interval_ms": None}
    assert changed["labels"] == {"b": "2", "c": "3"}
    assert (changed["policy"]["timeout_ms"], changed["policy"]["max_attempts"]) == (5_000, 3)
    assert changed["enabled"] is False
    cron = cli.json("endpoints", "update", "laid-1", "--cron", "0 9 * * *", "--timezone", "Europe/Berlin")
    assert cron["baseline"] == {"kind": "cron", "expression": "0 9 * * *", "timezone": "Europe/Berlin"}
    moved = cli.json("endpoints", "update", "laid-1", "--timezone", "Asia/Tokyo", "--enabled")
    assert moved["baseline"] == {"kind": "cron", "expression": "0 9 * * *", "timezone": "Asia/Tokyo"}


def test_everything_may_come_from_a_file_and_options_win(cli: CliRunner) -> None:
    job = a_job(cli, "filed")
    written = {
        "id": "filed-1",
        "name": "from the file",
        "target": {"kind": "callable", "function": "noop"},
        "baseline": {"kind": "once", "at": "2090-01-31T12:00:00Z"},
    }
    (cli.target.folder / "endpoint.json").write_text(json.dumps(written))
    words = "endpoints create --file endpoint.json --job filed"
    made = cli.json(*words.split(), "--name", "from the option")
    assert (made["id"], made["name"], made["job_id"]) == ("filed-1", "from the option", job)
    assert made["baseline"] == written["baseline"]


def test_the_next_run_may_be_asked_for(cli: CliRunner) -> None:
    an_endpoint(cli, a_job(cli, "next"), "--id", "next-1", "--name", "next-1")
    soon = cli.json("endpoints", "next", "next-1", "--in", "5s", "--reason", "now and then")
    assert soon["source"] == "ai-oneshot"
    assert cli.json("endpoints", "next", "next-1", "--at", "2090-01-31T12:00:00+01:00")["next_run_at"]
    assert cli.json("endpoints", "run-now", "next-1")["source"] == "manual"
    assert cli.json("endpoints", "reset-failures", "next-1")["failure_count"] == 0


def test_what_is_there_already_exits_with_4(cli: CliRunner) -> None:
    job = a_job(cli, "conflict")
    an_endpoint(cli, job, "--name", "x", "--id", "conflict-1")
    assert cli.refused("jobs", "create", "--name", "x", "--id", "conflict")[0] == 4
    words = ["endpoints", "create", "--job", job, "--name", "x", "--id", "conflict-1", *MADE]
    assert cli.refused(*words)[0] == 4


def test_several_faults_are_told_at_once(local: CliRunner, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(
        '{"name": "x", "target": {"kind": "http", "url": 5}, "baseline": {"kind": "every"}}'
    )
    code, sentence = local.refused("endpoints", "create", "--job", a_job(local, "x"), "--file", "bad.json")
    assert code == 2
    assert "url" in sentence
    assert "interval_ms" in sentence


def test_tenants_see_their_own_things_alone_and_keep_within_their_limits(local: CliRunner) -> None:
    assert local.json("tenants", "set-limits", "acme", "--endpoints", "1", "--min-interval", "20s") == {
        "endpoints": 1,
        "min_interval_ms": 20_000,
        "runs_per_month": None,
        "planner_tokens_per_month": None,
        "schedules_per_user": 50,
        "schedule_min_interval_ms": 60_000,
        "schedule_fires_per_day": 1_440,
        "schedule_tokens_per_day": 200_000,
    }
    rare = local.json("tenants", "set-limits", "rare", "--schedule-min-interval", "5m")
    assert rare["schedule_min_interval_ms"] == 300_000
    a_job(local, "mine")
    local.ok("jobs", "create", "--name", "theirs", "--id", "theirs", "--tenant", "acme")
    assert [job["id"] for job in local.json("jobs", "list")["items"]] == ["mine"]
    assert local.refused("jobs", "show", "theirs")[0] == 3
    words = ["endpoints", "create", "--tenant", "acme", "--job", "theirs", "--url", "https://example.com"]
    assert local.refused(*words, "--name", "quick", "--every", "10s")[0] == 2
    local.ok(*words, "--name", "first", "--every", "1m")
    assert local.refused(*words, "--name", "second", "--every", "1m")[0] == 5
    assert "minimum interval 20s" in local.ok("usage", "--tenant", "acme")


def test_the_operator_sets_limits_over_a_server_and_others_do_not(remote: CliRunner) -> None:
    assert remote.json("tenants", "set-limits", "acme", "--endpoints", "7")["endpoints"] == 7
    made = remote.json("keys", "create", "--name", "of acme", "--server", "", "--tenant", "acme")
    words = ["tenants", "set-limits", "acme", "--endpoints", "70", "--key", made["key"]]
    code, sentence = remote.refused(*words)
    assert code == 5
    assert "scope admin" in sentence


def test_a_file_is_applied_and_its_faults_have_lines(cli: CliRunner) -> None:
    config = (
        "version: 1\njobs:\n- id: coded\n  endpoints:\n"
        "  - id: coded-1\n    target: https://example.com\n    baseline: {}\n"
    )
    file = cli.target.folder / "cadenza.yaml"
    file.write_text(config.format("every 1m"))
    assert "+ create endpoint coded-1" in cli.ok("apply", "-f", "cadenza.yaml", "--dry-run")
    assert cli.refused("jobs", "show", "coded")[0] == 3
    assert cli.json("apply", "-f", "cadenza.yaml")["applied"] is True
    file.write_text(config.format("every 2m"))
    assert "~ update endpoint coded-1" in cli.ok("apply", "-f", "cadenza.yaml")
    assert "unchanged 2" in cli.ok("apply", "-f", "cadenza.yaml")
    assert "every 2m" in cli.ok("export")
    file.write_text(config.format("every now and then"))
    code, sentence = cli.refused("apply", "-f", "cadenza.yaml")
    assert code == 2
    assert "line 7" in sentence
    file.write_text("version: 1\njobs: []\n")
    assert "- delete job coded" in cli.ok("apply", "-f", "cadenza.yaml", "--prune")
