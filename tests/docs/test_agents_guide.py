"""What the guide to agents says to type, works, in the order in which it says it."""

import re
import shlex
from pathlib import Path

import pytest
from tests.docs.test_documents import CONSOLE, ROOT

from cadenza.roots.command_line import main

GUIDE = ROOT / "docs" / "how-to" / "agents.md"
EXAMPLE_ID = "sched-a7b3c"
A_SCHEDULE = re.compile(r"sched-[0-9a-z]+")
"""The id of what the guide has just made stands where it writes its example."""
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
    made = EXAMPLE_ID
    for command in commands:
        assert main(shlex.split(command.replace(EXAMPLE_ID, made))) == 0, command
        out = shown[" ".join(command.split()[:2])] = capsys.readouterr().out
        if command.startswith("schedules create"):
            made = A_SCHEDULE.findall(out)[0]
    assert "I will remind you on" in shown["agents say"]
    assert "Take the pizza out" in shown["schedules list"]
    assert "cad_" in shown["users token"]
    assert main(["schedules", "list"]) == 0
    assert "No schedules yet" in capsys.readouterr().out, "they went with their user"
