"""The audit from the command line: listed, shown, exported, and restored from."""

import csv
import json

from tests.surfaces.cli.cli_fixtures import CliRunner

MADE = ("--url", "https://example.com/x", "--every", "1m")


def changed_endpoint(cli: CliRunner, job: str) -> str:
    """An endpoint that was renamed; the id of that record."""
    cli.ok("jobs", "create", "--name", job, "--id", job)
    cli.ok("endpoints", "create", "--job", job, "--name", "before", "--id", f"{job}-1", *MADE)
    cli.ok("endpoints", "update", f"{job}-1", "--name", "after")
    listed = cli.json("audit", "list", "--kind", "endpoint", "--subject", f"{job}-1")["items"]
    assert [one["operation"] for one in listed] == ["update_endpoint", "create_endpoint"]
    assert {one["surface"] for one in listed} == {"cli"}
    return str(listed[0]["id"])


def test_a_change_is_listed_shown_and_undone(cli: CliRunner) -> None:
    record = changed_endpoint(cli, "undone")
    shown = cli.ok("audit", "show", record)
    assert "update_endpoint" in shown
    assert f"cadenza audit restore {record}" in shown
    assert "Restored the endpoint undone-1." in cli.ok("audit", "restore", record, "--reason", "a mistake")
    assert cli.json("endpoints", "show", "undone-1")["name"] == "before"
    (newest, *_) = cli.json("audit", "list", "--subject", "undone-1")["items"]
    assert (newest["operation"], newest["reason"]) == ("restore_definition", "a mistake")
    assert cli.refused("audit", "restore", record.replace(record[:4], "none"))[0] == 3


def test_everything_is_exported_as_lines_of_json_or_a_table(cli: CliRunner) -> None:
    changed_endpoint(cli, "exported")
    lines = cli.ok("audit", "export", "--kind", "endpoint", "--subject", "exported-1").splitlines()
    assert [json.loads(line)["operation"] for line in lines] == ["update_endpoint", "create_endpoint"]
    table = cli.ok("audit", "export", "--format", "csv", "--subject", "exported-1").splitlines()
    head, *rows = csv.reader(table)
    assert [dict(zip(head, row, strict=True))["operation"] for row in rows] == [
        "update_endpoint",
        "create_endpoint",
    ]


def test_a_name_that_a_spreadsheet_would_calculate_is_quoted(cli: CliRunner) -> None:
    cli.ok("jobs", "create", "--name", "sum", "--id", "sum")
    cli.ok("endpoints", "create", "--job", "sum", "--name", "sum", "--id", "sum-1", *MADE)
    cli.ok("endpoints", "pause", "sum-1", "--until", "2030-01-01T00:00:00Z", "--reason", "=1+1")
    table = cli.ok("audit", "export", "--format", "csv", "--subject", "sum-1").splitlines()
    assert "'=1+1" in [row["reason"] for row in csv.DictReader(table)]
