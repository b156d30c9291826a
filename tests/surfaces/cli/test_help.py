"""Every command has help with an example, and every example runs; every operation has a command."""

import re
import shlex
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cyclopts import App
from tests.surfaces.cli.cli_fixtures import CliRunner
from tests.surfaces.cli.recording_launchers import Recorder

from cadenza.operations.application import Application
from cadenza.operations.table import BY_NAME
from cadenza.roots.clients.server_record import ServerRecord, published
from cadenza.roots.settings import read_settings
from cadenza.surfaces.cli.app import build

ROOT = Path(__file__).parents[3]
SERVE = {"up", "api", "worker", "planner", "mcp"}
ELSEWHERE = {"migrate", "doctor", "bench", "--install-completion"}
"""Tested where they are at home."""
FIRST = (
    "calendars put work --holidays DE",
    "jobs create --name Checkout --id checkout",
    "endpoints create --job checkout --id traffic --name t --url https://example.com --every 1m",
    "endpoints pause traffic --until 1h",
    "endpoints resume --job checkout",
    "endpoints create --job checkout --id backup --name b --grace 5m --every 1d",
    "rules create --job checkout --id slow --name s --when response.ok --then clear",
    "users put ada --timezone UTC",
    "agents put helper --name Helper",
)
EXPECTED = {
    "move": 3,
    "jobs create": 4,
    "rules create": 4,
    "endpoints test": 1,
    "endpoints test-target": 1,
    "runs show": 3,
    "runs cancel": 3,
    "runs rerun": 3,
    "audit show": 3,
    "audit restore": 3,
    **dict.fromkeys(("alerts acknowledge", "alerts silence", "alerts unsilence"), 3),
    "keys delete": 3,
    **dict.fromkeys(
        (
            "schedules update",
            "schedules pause",
            "schedules snooze",
            "schedules run-now",
            "schedules history",
            "schedules explain",
        ),
        3,
    ),
    "schedules resume": 3,
    "turns take": 4,
    **dict.fromkeys(("turns show", "turns renew", "turns answer", "turns give-back", "turns call"), 3),
    "schedules delete": 3,
}
LAST = (
    ("alert-routes", "delete"),
    ("agents", "delete"),
    ("users", "delete"),
    ("rules", "delete"),
    ("endpoints", "delete"),
    ("jobs", "delete"),
    ("daily", "programmes", "delete"),
    ("calendars", "delete"),
)
TWICE = {
    "list_endpoint_runs",
    "follow_runs",
    "get_simulation",
    "apply_config_file",
    "export_config_file",
    "preview_calendar_draft",
}
"""`runs list` takes an endpoint, and with --follow never ends; `cadenza sim` plays by itself, and
`cadenza apply` and `cadenza export` read and write files; a calendar is previewed when it is written."""


def commands(app: App, *before: str) -> Iterator[tuple[tuple[str, ...], App]]:
    for name in app:
        if name in {"--help", "-h", "--version"}:
            continue
        words, found = (*before, name), app[name]
        yield words, found
        if not name.startswith("-"):
            yield from commands(found, *words)


PROGRAM = build(Recorder().launchers())
ALL = dict(commands(PROGRAM))
LEAVES = {words: app for words, app in ALL.items() if app.default_command is not None}


def example(app: App) -> list[str]:
    epilogue = app.help_epilogue
    assert isinstance(epilogue, str)
    line = shlex.split(epilogue.removeprefix("Example: "))
    return line[line.index("cadenza") + 1 :]


def options(app: App) -> Iterator[str]:
    if app.default_command is not None:
        for argument in app.assemble_argument_collection():
            if argument.parse:
                yield from (name for name in argument.names if re.match("--(?!no-|empty-)", name))


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_command_has_an_example_of_itself_that_is_understood(words: tuple[str, ...]) -> None:
    line = example(LEAVES[words])
    assert tuple(line[: len(words)]) == words
    command, bound, _ = PROGRAM.parse_args(line, exit_on_error=False, print_error=False)
    assert callable(command)
    assert bound is not None


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_command_has_help(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    PROGRAM([*words, "--help"])
    shown = capsys.readouterr().out
    assert f"Usage: cadenza {' '.join(words)}" in shown
    assert "Example: " in shown
    told = set(re.findall(r"--[a-z-]+", shown))
    assert {name for name in options(ALL[words]) if name not in told} == set()


def test_every_example_runs_and_every_operation_has_a_command(
    local: CliRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = recorded(monkeypatch)
    for words in FIRST:
        local.ok(*words.split())
    (tmp_path / "cadenza.yaml").write_text("version: 1\njobs: []\n")
    (tmp_path / "users.csv").write_text("user_id,due_time\nada,07:30\n")
    monkeypatch.setattr("sys.stdin", StringIO("a value\n"))
    left = [words for words in LEAVES if words[0] not in SERVE | ELSEWHERE | {"sim"} and words != ("daily",)]
    server = ServerRecord(address="http://127.0.0.1:1", allow_private_targets=False, allow_targets=[])
    with published(read_settings(), server):  # A login link is for a server that runs.
        for command in sorted(left, key=lambda words: words in LAST and LAST.index(words) + 1):
            spoken = " ".join(command)
            code, _, err = local.run(*example(LEAVES[command]))
            assert code == EXPECTED.get(spoken, 0), (spoken, err)
    assert asked == BY_NAME.keys() - TWICE


def recorded(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The operations that are carried out from now on."""
    asked: set[str] = set()
    perform = Application.perform

    async def note(application: Application, operation: Any, arguments: Any, caller: Any) -> Any:
        asked.add(operation.name)
        return await perform(application, operation, arguments, caller)

    monkeypatch.setattr(Application, "perform", note)
    return asked


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_command_is_in_the_reference(words: tuple[str, ...]) -> None:
    reference = (ROOT / "docs" / "reference" / "commands.md").read_text()
    assert f"cadenza {' '.join(words)}" in reference


def test_the_shell_can_complete_commands(local: CliRunner, tmp_path: Path) -> None:
    told = local.ok("--install-completion", "--shell", "bash", "--output", "completion.bash")
    assert "completion.bash" in told
    script = (tmp_path / "completion.bash").read_text()
    assert "endpoints" in script
    assert "tighten" in script


@pytest.mark.parametrize(
    ("command", "takes"),
    [
        ("hints clear", True),
        ("jobs pause", True),
        ("jobs resume", True),
        ("jobs update", True),
        ("endpoints preview", True),
        ("apply", True),
        ("endpoints resume", True),
        ("endpoints tighten", True),
        ("endpoints run-now", False),
        ("endpoints list", False),
        ("jobs list", False),
    ],
)
def test_a_rank_is_listed_where_it_is_an_option(
    command: str,
    takes: bool,  # noqa: FBT001
    capsys: pytest.CaptureFixture[str],
) -> None:
    PROGRAM([*command.split(), "--help"])
    assert ("--rank" in capsys.readouterr().out) is takes
