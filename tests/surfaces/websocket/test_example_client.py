"""The example client does what it says."""

import asyncio
import sys
from pathlib import Path

from tests.surfaces.websocket.socket_server import SocketServer, open_socket_server

CHAT = Path(__file__).parents[3] / "examples" / "chat.py"


async def chat(socket_server: SocketServer, token: str, said: str) -> tuple[list[str], int | None]:
    """What is shown to somebody who says this, and how the program ends."""
    address = socket_server.address.replace("http", "ws", 1) + "/v1/ws"
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CHAT),
        address,
        token,
        "helper",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    shown, _ = await asyncio.wait_for(program.communicate(said.encode()), 60)
    return shown.decode().splitlines(), program.returncode


async def test_the_example_shows_what_is_owed_and_what_is_answered() -> None:
    async with open_socket_server() as socket_server:
        await socket_server.fire("drink water")
        token = await socket_server.token()
        away = "* 1 scheduled task ran while you were away"
        assert await chat(socket_server, token, "one\ntwo\n") == (
            [away, "drink water", "helper: one", "helper: two"],
            0,
        )
        assert await chat(socket_server, token, "fail\n") == (
            ["! The agent could not answer: the model does not answer"],
            0,
        )
        shown, code = await chat(socket_server, token[:-1], "hello?\n")
        assert shown == ["! This token is invalid, expired or deleted."]
        assert code == 1
