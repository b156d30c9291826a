"""A whole installation is moved: every table, between both kinds of databases."""

import json
from pathlib import Path

import pytest
from tests.integration.moves.conftest import KEY
from tests.integration.moves.filled_databases import EACH, EMPTY, content, kinds_of, rows_in, run_async

from cadenza.adapters.stores.moves.tables import NOT_CARRIED
from cadenza.roots.command_line import main

Captured = pytest.CaptureFixture[str]


def keys(folder: Path) -> str:
    """All keys that are used here."""
    return f"{(folder / 'cadenza.db.key').read_text().strip()},{KEY}"


def test_every_row_of_every_table_arrives_on_postgresql_and_comes_back(
    filled: str, server: str, folder: Path, capsys: Captured
) -> None:
    assert main(["move", "--from", filled, "--to", server, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["outcome"] == "moved"
    tables = set(run_async(kinds_of(server)))
    assert set(told["tables"]) == tables - NOT_CARRIED.keys()
    assert {facts["rows"] for table, facts in told["tables"].items() if table not in EMPTY} == {EACH}
    there = run_async(content(server, server, keys(folder)))
    assert there == run_async(content(filled, server, keys(folder)))
    assert main(["move", "--from", server, "--to", "sqlite:///back.db"]) == 0
    assert run_async(content("sqlite:///back.db", server, f"{keys(folder)}")) == there


def test_a_new_row_is_numbered_behind_those_that_came(filled: str, server: str) -> None:
    assert main(["move", "--from", filled, "--to", server]) == 0
    hint = (
        "INSERT INTO hints (tenant_id, endpoint_id, kind, written_at, origin)"
        " SELECT tenant_id, endpoint_id, kind, now(), origin FROM hints LIMIT 1 RETURNING id"
    )
    assert run_async(rows_in(server, hint)) == [(EACH,)]


def test_runs_that_came_are_no_news_to_planners(filled: str, server: str) -> None:
    assert main(["move", "--from", filled, "--to", server]) == 0
    assert run_async(rows_in(server, "SELECT count(*) FROM runs WHERE txid IS NOT NULL")) == [(0,)]


def test_progress_is_told_on_standard_error(filled: str, capsys: Captured) -> None:
    assert main(["move", "--from", filled, "--to", "sqlite:///other.db"]) == 0
    told = capsys.readouterr()
    assert "cadenza: runs: 7 rows copied." in told.err.splitlines()
    assert told.out.splitlines()[-1] == (
        "cadenza.db is moved to other.db: set CADENZA_DATABASE_URL to that one."
    )


def test_no_checksum_of_secrets_is_told(filled: str, capsys: Captured) -> None:
    assert main(["move", "--from", filled, "--to", "sqlite:///other.db", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["tables"]
    assert told["secrets"] == {"rows": EACH}
    assert set(told["runs"]) == {"rows", "checksum"}


def test_a_dry_run_counts_and_changes_nothing(filled: str, server: str, capsys: Captured) -> None:
    assert main(["move", "--from", filled, "--to", server, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["outcome"], told["tables"]["runs"]) == ("counted", {"rows": EACH})
    assert run_async(kinds_of(server)) == {}
    assert run_async(rows_in(filled, "SELECT count(*) FROM moves")) == [(0,)]


def test_the_source_is_out_of_service_and_says_where_it_went(
    filled: str, folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["move", "--from", filled, "--to", "sqlite:///other.db"]) == 0
    capsys.readouterr()
    assert main(["jobs", "list"]) == 4
    assert "was moved to other.db: set CADENZA_DATABASE_URL to that one" in capsys.readouterr().err
    monkeypatch.setenv("CADENZA_DATABASE_URL", "sqlite:///other.db")
    assert main(["jobs", "list", "--tenant", "tenant-0"]) == 0


def test_the_target_of_the_settings_is_meant_if_none_is_named(
    filled: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_URL", server)
    assert main(["move", "--from", filled]) == 0
    assert run_async(rows_in(server, "SELECT count(*) FROM runs")) == [(EACH,)]
