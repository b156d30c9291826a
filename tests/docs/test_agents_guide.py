"""What the guide to agents says to type, works, in the order in which it says it."""

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.docs.test_documents import CONSOLE, ROOT

from cadenza.engine.agents.turn_payload import write_payload
from cadenza.roots.command_line import main
from cadenza.testing.contracts.agents.runtime import a_prompt

OWN_AGENT = ROOT / "docs" / "how-to" / "own-agent.md"
TYPED = re.compile(r"^cadenza (agents put .*)$", re.MULTILINE)
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


def test_the_guide_to_own_agents_sets_up_both_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tests/faults/agents/test_own_agent_kills.py` runs its two examples as processes."""
    monkeypatch.chdir(tmp_path)
    guide = OWN_AGENT.read_text()
    for command in (*CONSOLE.findall(guide), *TYPED.findall(guide)):
        assert main(shlex.split(command)) == 0, command
    capsys.readouterr()
    assert main(["agents", "list", "--json"]) == 0
    agents = {one["id"]: one for one in json.loads(capsys.readouterr().out)["items"]}
    assert {id_: one["runtime"] for id_, one in agents.items()} == {"puller": "pull", "service": "http"}
    assert agents["service"]["target"]["signing"] == ["${secret:signing-key}"]


def test_the_guide_to_own_agents_shows_what_a_turn_holds() -> None:
    (shown,) = re.findall(r"```json\n(.*?)```", OWN_AGENT.read_text(), re.DOTALL)
    document = json.loads(shown)
    assert document["turn"].keys() == write_payload(a_prompt()).keys()
    assert set(document) == {"id", "attempt", "expires_at", "turn", "callback"}
