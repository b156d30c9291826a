"""Settings come from the environment or a file, and what is wrong with them is one sentence."""

from pathlib import Path

import pytest

from cadenza.domain.errors import InvalidRequest
from cadenza.roots.command_line import main
from cadenza.roots.settings import misspelt, read_settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_list_is_written_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CADENZA_ALLOW_TARGETS", "10.0.0.0/8, intranet:80,")
    assert read_settings().allow_targets == ("10.0.0.0/8", "intranet:80")


def test_a_file_is_read_and_the_environment_wins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text("CADENZA_LEASE_MS=5000\nCADENZA_JITTER_MS=1\n")
    monkeypatch.setenv("CADENZA_JITTER_MS", "2")
    settings = read_settings()
    assert (settings.lease_ms, settings.jitter_ms) == (5_000, 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CADENZA_LEASE_MS", "soon"),
        ("CADENZA_LEASE_MS", "1"),
        ("CADENZA_WORKER_CONCURRENCY", "0"),
        ("CADENZA_LOG_LEVEL", "loud"),
        ("CADENZA_SQLITE_SYNCHRONOUS", "sometimes"),
        ("CADENZA_ALLOW_PRIVATE_TARGETS", "perhaps"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidRequest, match=f"{name} is wrong"):
        read_settings()


def test_a_file_that_is_no_text_is_refused(folder: Path) -> None:
    (folder / ".env").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidRequest, match="cannot be read"):
        read_settings()


def test_a_misspelt_setting_is_found() -> None:
    environment = {"CADENZA_WORKER_CONCURENCY": "5", "CADENZA_SECRET_TOKEN": "x", "CADENZA_LEASE_MS": "1"}
    assert misspelt(environment) == {"CADENZA_WORKER_CONCURENCY": "CADENZA_WORKER_CONCURRENCY"}


def test_the_doctor_looks_and_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor"]) == 0
    assert list(folder.iterdir()) == []
    monkeypatch.setenv("CADENZA_GRACEMS", "1")
    assert main(["doctor"]) == 1
    assert "Did you mean CADENZA_GRACE_MS?" in capsys.readouterr().out
