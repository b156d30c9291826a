"""The program as a whole: in a process of its own, where that makes a difference."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner, CliTarget
from tests.surfaces.cli.cli_process import cadenza, command, env

from cadenza.roots.command_line import main

ESCAPE = "\x1b"
COMMANDS = [(), ("sim",), ("sim", "flash-sale"), ("sim", "system-resources"), ("up",)]
WRONG_USES = [
    ("nope",),
    ("--nope",),
    ("sim", "nope"),
    ("sim", "flash-sale", "--nope"),
    ("sim", "flash-sale", "surplus"),
    ("sim", "flash-sale", "--step-seconds"),
    ("sim", "flash-sale", "--step-seconds", "7"),
    ("sim", "flash-sale", "--step-seconds", "0"),
    ("sim", "flash-sale", "--step-seconds", "-5"),
    ("sim", "flash-sale", "--step-seconds", "2.5"),
    ("sim", "flash-sale", "--step-seconds", "soon"),
    ("sim", "flash-sale", "--as-published", "--step-seconds", "1"),
]


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What a person would see."""
    shown, terminal = pty.openpty()
    with subprocess.Popen(
        command(*arguments), stdout=terminal, stderr=terminal, env=env(TERM="xterm-256color", **environment)
    ) as process:
        os.close(terminal)
        chunks = []
        try:
            while chunk := os.read(shown, 65_536):
                chunks.append(chunk)
        except OSError:  # Linux reports the end of a terminal as an error.
            pass
        os.close(shown)
        assert process.wait() == 0
    return b"".join(chunks).decode()


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What it says in this process, which is quicker, and has nothing to complain about."""
    assert main(words) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_the_program_has_help_with_an_example() -> None:
    done = cadenza("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: cadenza" in done.stdout
    assert "Example: cadenza " in done.stdout


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    told = said(capsys, *words, "--help")
    assert f"Usage: cadenza {' '.join(words)}".rstrip() in told
    assert "Example: cadenza " in told


@pytest.mark.parametrize("words", [(), ("sim",)], ids=" ".join)
def test_without_a_command_there_is_help(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert "Usage: cadenza" in said(capsys, *words)


def test_the_flash_sale_as_published_in_json() -> None:
    done = cadenza("sim", "flash-sale", "--as-published", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert report["mode"] == "as-published"
    assert report["total_runs"] == 467
    assert report["runs"]["traffic_monitor"] == 201
    assert report["runs"]["emergency_oncall_page"] == 0
    assert report["sources"] == {"baseline-interval": 224, "ai-interval": 189, "clamped-min": 54}


def test_the_flash_sale_in_json_in_any_step(capsys: pytest.CaptureFixture[str]) -> None:
    reports = [
        json.loads(said(capsys, "sim", "flash-sale", "--json", *step))
        for step in ((), ("--step-seconds", "1"), ("--step-seconds=10",))
    ]
    assert {one["total_runs"] for one in reports} == {134}
    assert reports[0]["order"] == reports[1]["order"] == reports[2]["order"]
    assert reports[0]["parity"]["equal"] is True


def test_the_tables_hold_everything_in_a_pipe_and_nothing_is_cut_or_coloured() -> None:
    done = cadenza("sim", "flash-sale")
    assert (done.returncode, done.stderr) == (0, "")
    for title in (
        "baseline (minutes 0 to 4)",
        "surge (",
        "strain (",
        "critical (",
        "recovery (minutes 21 to 39)",
    ):
        assert title in done.stdout
    for column in ("minute", "traffic", "orders", "pageLoad", "invLag", "dbQuery", "nextCheck"):
        assert column in done.stdout
    assert "as published: 467 runs of 467, per endpoint and per source equal" in done.stdout
    assert done.stdout.count("\n  passed ") == 18
    assert "18 of 18 checks passed" in done.stdout
    assert "emergency_oncall_page was run 47\n" in done.stdout
    assert ESCAPE not in done.stdout
    assert "…" not in done.stdout


@pytest.mark.parametrize("mode", [(), ("--as-published",)], ids=["corrected", "as-published"])
def test_the_busy_host_in_tables(mode: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "sim", "system-resources", *mode)
    for word in ("nextRunAt", "discordPaused", "cpu_check#hostA", "as published: 105 runs"):
        assert word in told


def test_a_terminal_gets_colour_and_a_wish_for_none_is_heard() -> None:
    assert ESCAPE in on_a_terminal("sim", "flash-sale")
    assert ESCAPE not in on_a_terminal("sim", "flash-sale", NO_COLOR="1")


def test_an_output_without_unicode_is_enough() -> None:
    done = cadenza("sim", "flash-sale", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


@pytest.mark.parametrize("words", WRONG_USES, ids=" ".join)
def test_wrong_use_costs_a_sentence(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    is_one_sentence(*capsys.readouterr())


def test_wrong_use_of_the_program_costs_a_sentence() -> None:
    done = cadenza("sim", "flash-sale", "--step-seconds", "7")
    assert done.returncode == 2
    is_one_sentence(done.stdout, done.stderr)


def is_one_sentence(out: str, err: str) -> None:
    assert out == ""
    assert err.startswith("cadenza: ")
    assert err.endswith(".\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize("options", [(), ("--json",), ("--help",)], ids=["tables", "json", "help"])
def test_a_reader_who_has_left_is_no_failure(options: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = command("sim", "flash-sale", *options)
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60, env=env())
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 0


def test_the_first_line_can_be_all_that_is_read() -> None:
    words = command("sim", "flash-sale", "--as-published", "--json")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"{\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


HEAVY_FOR_HELP = {"asyncio", "cadenza.sim", "cadenza.engine", "cadenza.operations", "cronsim", "pydantic"}
HEAVY_FOR_COMMANDS = {
    *("aiohttp", "alembic", "asyncpg", "cel", "dateparser", "mcp", "opentelemetry", "prometheus_client"),
    *("pydantic_ai", "sqlalchemy", "starlette", "structlog", "uvicorn", "uvloop", "websockets", "yaml"),
    *("cryptography", "pydantic_settings", "cadenza.operations.table", "cadenza.engine.agents"),
    *("cadenza.engine.worker.loop", "cadenza.sim", "cadenza.adapters.agents", "rich.console"),
    *("cadenza.adapters.stores.memory", "cadenza.adapters.dispatch"),
    *("cadenza.roots.api", "cadenza.surfaces.http", "cadenza.surfaces.cli.single_commands"),
    *("cadenza.operations.access.recording", "cadenza.operations.scheduling.schemas"),
}


HEAVY_FOR_CALLERS = HEAVY_FOR_COMMANDS | {
    *("cadenza.adapters.stores.sql", "cadenza.engine.worker", "cadenza.operations.application"),
    *("cadenza.ports.store", "sqlite3", "urllib.request"),
}


def loaded_by(target: CliTarget, *words: str) -> set[str]:
    """What is imported when a command has ended."""
    program = (
        "import sys\nfrom cadenza.roots.command_line import main\n"
        f"assert main({list(words)}) == 0\nprint(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=env(**target.settings),
        cwd=target.folder,
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("words", "heavy"),
    [(("--help",), HEAVY_FOR_HELP), (("jobs", "list"), HEAVY_FOR_COMMANDS)],
    ids=["help", "jobs list"],
)
def test_a_command_loads_nothing_that_only_others_need(
    words: tuple[str, ...], heavy: set[str], local: CliRunner
) -> None:
    assert heavy & loaded_by(local.target, *words) == set()


def test_a_command_that_asks_a_server_loads_neither_a_store_nor_an_http_client(remote: CliRunner) -> None:
    assert HEAVY_FOR_CALLERS & loaded_by(remote.target, "jobs", "list") == set()


def test_the_examples_of_the_help_run(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("sim",), ("sim", "flash-sale"), ("sim", "system-resources")):
        example = said(capsys, *words, "--help").split("Example: cadenza ")[1].split()
        assert said(capsys, *example)


def test_help_that_cannot_be_written_is_unavailable() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("--help"), stdout=full, stderr=subprocess.PIPE, env=env(), text=True, check=False
        )
    assert done.returncode == 6
    assert done.stderr == "cadenza: Standard output cannot be written: No space left on device.\n"


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_an_answer_without_an_output_is_unavailable(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["migrate"])
    with monkeypatch.context() as without:
        without.setattr(sys, "stdout", None)
        assert main(["jobs", "list", *words]) == 6
    assert capsys.readouterr().err == "cadenza: Standard output is closed.\n"
