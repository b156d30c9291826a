"""A library that is not installed is told before anything is started, printed or written."""

import shlex
import sys
from pathlib import Path

import pytest

from cadenza import Cadenza
from cadenza.domain.errors import Unavailable
from cadenza.roots.command_line import main

MISSING = [
    ("CADENZA_DATABASE_URL", "postgresql://127.0.0.1:1/cadenza", "asyncpg", "postgres"),
    ("CADENZA_LLM_MODEL", "openai:gpt-4o", "pydantic_ai", "llm"),
    ("CADENZA_OTEL_ENDPOINT", "http://127.0.0.1:4318", "opentelemetry", "otel"),
]


def take_away(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a library look as if it were not installed."""
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize("command", ["up", "worker", "api", "planner"])
@pytest.mark.parametrize("needed", MISSING, ids=[one[3] for one in MISSING])
def test_a_missing_library_is_told_before_anything_is_started(
    needed: tuple[str, str, str, str],
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    setting, value, module, extra = needed
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(setting, value)
    take_away(module, monkeypatch)
    assert main([command]) == 6
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"takes the extra {extra}, which `{shlex.quote(sys.executable)} -m pip install " in err
    assert module.replace("_", "-") in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("needed", MISSING, ids=[one[3] for one in MISSING])
def test_a_program_is_told_of_a_missing_library_when_it_makes_its_app(
    needed: tuple[str, str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting, value, module, extra = needed
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(setting, value)
    take_away(module, monkeypatch)
    with pytest.raises(Unavailable, match=f"takes the extra {extra}, which `.* -m pip install .*` installs"):
        Cadenza(worker=True)
    assert list(tmp_path.iterdir()) == []


def test_a_program_without_agents_needs_no_library_for_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CADENZA_LLM_MODEL", "openai:gpt-4o")
    take_away("pydantic_ai", monkeypatch)
    Cadenza()
