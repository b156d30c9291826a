"""`cadenza mcp` as a real process, with the official client at its standard input and output."""

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.surfaces.api_in_process import ApiInProcess
from tests.surfaces.cli.cli_fixtures import CliRunner, CliTarget
from tests.surfaces.cli.cli_process import command, env
from tests.surfaces.cli.conftest import CliRunners, runner_at
from tests.surfaces.mcp.mcp_client import MODES, Mode, call, names, read, refused, serving

from cadenza.domain.access.key import Scope
from cadenza.surfaces.mcp.tools import OFFERED

__all__ = ["runner_at"]

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    },
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_jobs"}}
WITHOUT = """
import sys
sys.modules["mcp"] = None
from cadenza.roots.command_line import main
sys.exit(main(["mcp"]))
"""
CHATTY = """
import sys
from cadenza.operations.application import Application
perform = Application.perform
async def chatty(*given):
    print("a stray line")
    return await perform(*given)
Application.perform = chatty
from cadenza.roots.command_line import main
sys.exit(main(["mcp"]))
"""


@asynccontextmanager
async def client_at(folder: Path, *words: str, mode: Mode = "auto", **settings: Any) -> AsyncIterator[Client]:
    """An agent whose program starts `cadenza mcp` in a folder."""
    program, *arguments = command("mcp", *words)
    started = StdioServerParameters(command=program, args=arguments, env=env(**settings), cwd=folder)
    with (folder / "errors").open("w") as errors:
        async with Client(stdio_client(started, errlog=errors), mode=mode) as client:
            yield client


@pytest.fixture
def cli(tmp_path: Path, runner_at: CliRunners) -> CliRunner:
    """A database with an endpoint."""
    cli = runner_at(CliTarget(tmp_path))
    cli.ok("migrate")
    cli.ok("jobs", "create", "--name", "job", "--id", "job")
    words = "endpoints create --job job --id traffic --name traffic --url https://example.com --every 1m"
    cli.ok(*words.split())
    return cli


@pytest.mark.parametrize("mode", MODES)
async def test_an_agent_reads_and_no_more_unless_it_may(cli: CliRunner, mode: Mode) -> None:
    async with client_at(cli.target.folder, mode=mode) as client:
        assert client.server_info is not None
        assert client.server_info.name == "cadenza"
        reads = {name for name, (operation, _) in OFFERED.items() if operation.scope is Scope.READ}
        assert await names(client) == reads
        assert (await call(client, "list_endpoints"))["items"][0]["id"] == "traffic"
        assert json.loads(await read(client, "cadenza://endpoints/traffic/plan"))["endpoint_id"] == "traffic"
        assert (await read(client, "cadenza://docs/about")).startswith("# What Cadenza is")
        sentence = await refused(client, "run_now", {"endpoint_id": "traffic"})
    assert sentence == "run_now needs the scope steer: CADENZA_MCP_SCOPES says what is allowed."
    assert (cli.target.folder / "errors").read_text() == ""


async def test_an_agent_steers_if_the_operator_lets_it(cli: CliRunner) -> None:
    async with client_at(cli.target.folder, CADENZA_MCP_SCOPES="read, steer") as client:
        asked = {"endpoint_id": "traffic", "intervalMs": 20_000, "reason": "surge"}
        assert (await call(client, "propose_interval", asked))["source"] == "ai-interval"
        assert "delete_job needs the scope write" in await refused(client, "delete_job", {"job_id": "job"})
        wrong = await refused(client, "propose_interval", {"endpoint_id": "traffic", "intervalMs": "soon"})
        assert wrong.startswith("intervalMs must be a whole number of milliseconds ")
        (hint,) = (await call(client, "list_hints", {"endpoint_id": "traffic"}))["items"]
    assert (hint["reason"], hint["origin"]) == ("surge", "mcp")


async def test_another_tenant_sees_nothing(cli: CliRunner) -> None:
    async with client_at(cli.target.folder, "--tenant", "other", CADENZA_MCP_SCOPES="write") as client:
        assert (await call(client, "list_endpoints"))["items"] == []
        for tool in ("get_endpoint", "run_now", "delete_endpoint"):
            assert await refused(client, tool, {"endpoint_id": "traffic"}) == "Endpoint traffic not found."


async def test_in_front_of_a_server_the_key_and_the_setting_both_bound(tmp_path: Path) -> None:
    api = ApiInProcess()
    await api.create_endpoint("north")
    steer, only_read = await api.key("north", Scope.STEER), await api.key("north", Scope.READ)
    now = {"endpoint_id": "traffic"}
    async with serving(api) as address:
        async with client_at(tmp_path, "--server", address, CADENZA_KEY=steer) as client:
            assert (await call(client, "get_endpoint", now))["id"] == "traffic"
            assert json.loads(await read(client, "cadenza://endpoints"))["items"][0]["id"] == "traffic"
            assert "CADENZA_MCP_SCOPES" in await refused(client, "run_now", now)
        bold: dict[str, Any] = {"CADENZA_SERVER": address, "CADENZA_MCP_SCOPES": "steer"}
        async with client_at(tmp_path, CADENZA_KEY=only_read, **bold) as client:
            assert await refused(client, "run_now", now) == "This needs an API key with the scope steer."
        async with client_at(tmp_path, CADENZA_KEY=steer, **bold) as client:
            assert (await call(client, "run_now", now))["source"] == "manual"
            assert "not found" in await refused(client, "run_now", {"endpoint_id": "other"})
    assert not await asyncio.to_thread((tmp_path / "cadenza.db").exists), "none is made beside"


@contextmanager
def started(
    folder: Path, words: list[str], *, stdin: int = subprocess.PIPE
) -> "Iterator[subprocess.Popen[str]]":
    """A process that is gone in the end, whatever becomes of the test."""
    with subprocess.Popen(
        words,
        cwd=folder,
        env=env(CADENZA_LOG_LEVEL="debug"),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def say(process: "subprocess.Popen[str]", message: object) -> dict[str, object]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    answer: dict[str, object] = json.loads(process.stdout.readline())
    return answer


def test_standard_output_carries_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    with started(tmp_path, [sys.executable, "-c", CHATTY]) as process:
        assert say(process, HELLO)["id"] == 1
        assert say(process, LIST)["id"] == 2
        rest, errors = process.communicate(timeout=30)
    assert (process.returncode, rest) == (0, "")
    assert "a stray line" in errors


def test_a_line_that_is_no_request_is_not_the_end(tmp_path: Path) -> None:
    with started(tmp_path, command("mcp")) as process:
        assert process.stdin is not None
        process.stdin.write("this is not JSON\n\xe9\n")
        assert say(process, HELLO)["id"] == 1
        process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_although_nobody_let_go(tmp_path: Path, number: signal.Signals) -> None:
    with started(tmp_path, command("mcp")) as process:
        say(process, HELLO)
        process.send_signal(number)
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_one_ctrl_c_at_a_terminal_is_enough(tmp_path: Path) -> None:
    keyboard, terminal = pty.openpty()
    try:
        with started(tmp_path, command("mcp"), stdin=terminal) as process:
            os.write(keyboard, json.dumps(HELLO).encode() + b"\n")
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["id"] == 1
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
    finally:
        os.close(keyboard)
        os.close(terminal)


def test_it_ends_when_its_input_ends(tmp_path: Path) -> None:
    done = CliTarget(tmp_path).process("mcp")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("closed", ["exec 0<&-", "exec 1>&-"])
def test_without_input_or_output_there_is_nothing_to_do(tmp_path: Path, closed: str) -> None:
    line = f'{closed}; exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", line, "sh", *command("mcp")],
        cwd=tmp_path,
        env=env(),
        stderr=subprocess.PIPE,
        check=False,
    )
    assert done.returncode == 6
    assert b"Standard input or output is closed" in done.stderr


@pytest.mark.parametrize("scopes", ["everything", "read,all", ""])
def test_scopes_that_are_none_are_refused(tmp_path: Path, runner_at: CliRunners, scopes: str) -> None:
    code, sentence = runner_at(CliTarget(tmp_path, {"CADENZA_MCP_SCOPES": scopes})).refused("mcp")
    assert code == 2
    assert "CADENZA_MCP_SCOPES must be some of read, steer, write, admin, with commas between." in sentence


def test_behind_a_server_there_is_no_tenant_to_choose(tmp_path: Path, runner_at: CliRunners) -> None:
    code, sentence = runner_at(CliTarget(tmp_path)).refused(
        "mcp", "--server", "http://127.0.0.1:1", "--tenant", "x"
    )
    assert (code, "--tenant goes without a server" in sentence) == (2, True)


def test_without_the_extra_one_sentence_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=tmp_path, env=env(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr.startswith("cadenza: MCP takes the extra mcp, which `")
    assert re.search(r" -m pip install 'mcp[<>=0-9,]+'` installs\.\n$", done.stderr)
