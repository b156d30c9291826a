"""The example client does what it says."""

import asyncio
import sys
from pathlib import Path

from tests.surfaces.websocket.socket_server import Salon, open_salon

CHAT = Path(__file__).parents[3] / "examples" / "chat.py"


async def chat(salon: Salon, token: str, said: str) -> tuple[list[str], int | None]:
    """What is shown to somebody who says this, and how the program ends."""
    address = salon.address.replace("http", "ws", 1) + "/v1/ws"
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
    async with open_salon() as salon:
        await salon.fire("drink water")
        token = await salon.token()
        away = "* 1 scheduled task ran while you were away"
        assert await chat(salon, token, "one\ntwo\n") == (
            [away, "drink water", "helper: one", "helper: two"],
            0,
        )
        assert await chat(salon, token, "fail\n") == (
            ["! The agent could not answer: the model does not answer"],
            0,
        )
        shown, code = await chat(salon, token[:-1], "hello?\n")
        assert shown == ["! This token is not known, or no longer."]
        assert code == 1
