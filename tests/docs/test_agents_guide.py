"""What the guide to agents says to type, works, in the order in which it says it."""

import re
import shlex
from pathlib import Path

import pytest
from tests.docs.test_documents import CONSOLE, ROOT

from cadenza.roots.command_line import main

GUIDE = ROOT / "docs" / "how-to" / "agents.md"
SETTING = re.compile(r"`(CADENZA_\w+)=([^`]+)`")


def test_the_guide_to_agents_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    guide = GUIDE.read_text()
    for name, value in SETTING.findall(guide):
        monkeypatch.setenv(name, value)
    commands = [line for line in CONSOLE.findall(guide) if not line.startswith("up")]
    shown: dict[str, str] = {}
    for command in commands:
        assert main(shlex.split(command)) == 0, command
        shown[" ".join(command.split()[:2])] = capsys.readouterr().out
    assert "I will remind you on" in shown["agents say"]
    assert "Take the pizza out" in shown["schedules list"]
    assert "cad_" in shown["users token"]
    assert main(["schedules", "list"]) == 0
    assert "No schedules yet" in capsys.readouterr().out, "they went with their user"
