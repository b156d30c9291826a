"""The doctor finds what a worker would stumble over, says what to do, and changes nothing."""

import asyncio
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from tests.postgres import database_url, newest_databases

from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.errors import NotFound
from cadenza.ports.secrets import SecretKey
from cadenza.roots.command_line import main
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.secrets import open_secrets
from cadenza.testing.clock import NEW_YEAR

__all__ = ["database_url", "newest_databases"]

KEY, OTHER = (b64encode(bytes([number] * 32)).decode() for number in (1, 2))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def findings(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    """What the doctor says, by the name of the check."""
    main(["doctor", "--json"])
    return {one["name"]: one for one in json.loads(capsys.readouterr().out)["checks"]}


def keep(settings: Settings, **values: str) -> None:
    """Put secrets in the database of the settings."""

    async def put() -> None:
        await migrate(settings.database_url)
        async with open_secrets(settings) as secrets:
            for name, value in values.items():
                await secrets.put(SecretKey("default", name), value, now=NEW_YEAR)

    asyncio.run(put())


def test_secrets_that_open_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(capsys)["secrets"]["detail"] == "0 are stored encrypted."
    keep(Settings(), A="1", B="2")
    assert findings(capsys)["secrets"] == {
        "name": "secrets", "passed": True, "detail": "2 are stored encrypted.", "advice": "",
    }  # fmt: skip
    assert {one.name for one in folder.iterdir()} >= {"cadenza.db", "cadenza.db.key"}


def test_secrets_that_no_key_opens_are_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(Settings(), A="1", B="2")
    (folder / "cadenza.db.key").unlink()
    found = findings(capsys)["secrets"]
    assert not found["passed"]
    assert found["detail"] == "2 of 2 secrets cannot be decrypted with any configured key."
    assert not (folder / "cadenza.db.key").exists()


def test_a_key_file_that_others_read_is_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(Settings(), A="1")
    (folder / "cadenza.db.key").chmod(0o644)
    found = findings(capsys)["secrets"]
    assert (found["passed"], found["advice"]) == (False, "Run chmod 600 cadenza.db.key.")


def test_an_older_key_is_told_and_migrate_seals_anew(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CADENZA_SECRET_KEY", KEY)
    keep(Settings(), A="1", B="2")
    monkeypatch.setenv("CADENZA_SECRET_KEY", OTHER)
    monkeypatch.setenv("CADENZA_SECRET_KEY_OLD", KEY)
    assert "2 are stored encrypted, 2 with an older key" in findings(capsys)["secrets"]["detail"]
    assert main(["migrate"]) == 0
    capsys.readouterr()
    monkeypatch.delenv("CADENZA_SECRET_KEY_OLD")
    assert findings(capsys)["secrets"]["detail"] == "2 are stored encrypted."
    assert asyncio.run(revealed(Settings(), "A")) == "1"


async def revealed(settings: Settings, name: str) -> str:
    async with open_secrets(settings) as secrets:
        with pytest.raises(NotFound):
            await secrets.reveal("stranger", f"secret:{name}")
        return await secrets.reveal("default", f"secret:{name}")


@pytest.mark.parametrize(
    ("variable", "value", "check", "detail"),
    [
        ("CADENZA_HOST", "300.1.1.1", "host", "CADENZA_HOST is '300.1.1.1', where nothing can listen"),
        ("CADENZA_HOST", "203.0.113.7", "host", "CADENZA_HOST is '203.0.113.7', where nothing can listen"),
        ("CADENZA_HOST", "a" * 300, "host", f"CADENZA_HOST is '{'a' * 60}', where nothing can listen"),
        ("CADENZA_ALLOW_TARGETS", "10.0.0.0/8,http://x", "targets", "CADENZA_ALLOW_TARGETS is invalid: "),
        ("CADENZA_ALLOW_TARGETS", "host:port", "targets", "CADENZA_ALLOW_TARGETS is invalid: "),
        (
            "CADENZA_SECRET_KEY",
            "hunter2",
            "secrets",
            "CADENZA_SECRET_KEY or CADENZA_SECRET_KEY_OLD is invalid",
        ),
        ("CADENZA_SECRET_ENV", "CADENZA_HOST", "secrets", "CADENZA_SECRET_ENV is invalid: CADENZA_HOST is a"),
    ],
)
def test_a_setting_that_cannot_work_is_found(
    variable: str,
    value: str,
    *,
    check: str,
    detail: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(variable, value)
    found = findings(capsys)
    assert [one["name"] for one in found.values() if not one["passed"]] == [check]
    assert found[check]["detail"].startswith(detail)
    assert found[check]["advice"]
    assert "hunter2" not in str(found)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost"])
def test_a_host_of_this_machine_passes(
    host: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CADENZA_HOST", host)
    assert findings(capsys)["host"]["passed"]


@pytest.mark.parametrize("prepared", ["true", "false"])
def test_a_server_that_passes_calls_on_is_heard(
    prepared: str, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_URL", database_url)
    monkeypatch.setenv("CADENZA_DATABASE_PREPARED", prepared)
    found = findings(capsys)
    assert found["nudges"]["detail"] == "Notifications arrive."
    assert all(one["passed"] for one in found.values())


def test_a_server_that_is_away_is_found_by_every_check_that_needs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_URL", "postgresql://somebody:hidden@127.0.0.1:1/x")
    found = findings(capsys)
    assert {one["name"] for one in found.values() if not one["passed"]} == {
        "schema", "store", "nudges", "secrets",
    }  # fmt: skip
    assert "hidden" not in str(found)


def test_the_profile_of_an_engine_is_told(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_URL", database_url)
    monkeypatch.setenv("CADENZA_DATABASE_PROFILE", "neon,no-partitions")
    found = findings(capsys)
    told = "neon,no-partitions: does without advisory locks, notifications, partitions."
    assert found["profile"]["detail"] == told
    assert "no notifications" in found["nudges"]["detail"]
    assert all(one["passed"] for one in found.values())
