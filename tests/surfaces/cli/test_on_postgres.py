"""The command line on a PostgreSQL database, in programs of their own."""

from pathlib import Path

from tests.postgres import cluster, database_url, databases, newest_databases
from tests.surfaces.cli.cli_fixtures import CliTarget

__all__ = ["cluster", "database_url", "databases", "newest_databases"]


def test_commands_work_on_postgresql_as_on_a_file(database_url: str, tmp_path: Path) -> None:
    target = CliTarget(tmp_path, {"CADENZA_DATABASE_URL": database_url})
    target.said("jobs", "create", "--name", "Checkout", "--id", "checkout")
    made = "endpoints create --job Checkout --name traffic --url https://example.com --every 1m --label a=b"
    target.said(*made.split())
    paused = target.said("endpoints", "pause", "--label", "a=b", "--until", "1h")
    assert paused == {"endpoints": 1, "not_applied": 0}
    assert "its pause ends then" in target.process("explain", "traffic").stdout
    assert target.process("jobs", "show", "nowhere").returncode == 3
    assert list(tmp_path.iterdir()) == []
