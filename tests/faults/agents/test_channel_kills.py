"""A process is killed while a channel is being sent a message, and others show it once."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from tests.faults.agents.database_history import QUIET, create_users, ok
from tests.surfaces.server_process import UP, Caller, running

A_WHILE_S = 90
END_CLAIMS = "UPDATE user_channels SET due_at = 1, claim_until = 1 WHERE claim_token IS NOT NULL"


class Hook:
    """A webhook that takes messages, and lets the first one wait for its answer."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, Any]] = []
        self.free = asyncio.Event()
        self._news = asyncio.Event()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_post("/", self._take)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
        await runner.cleanup()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(A_WHILE_S):
            while len(self.messages) < count:
                self._news.clear()
                await self._news.wait()

    async def _take(self, request: web.Request) -> web.Response:
        self.messages.append((request.headers["Idempotency-Key"], await request.json()))
        self._news.set()
        await self.free.wait()
        return web.Response(status=204)


async def plan(caller: Caller, name: str) -> None:
    """A schedule that fires in a second."""
    wanted = {"name": name, "prompt": name, "schedule_type": "one-shot", "delay_seconds": 1}
    await ok(caller, "POST /v1/schedules", wanted | {"user_id": "ada", "agent_id": "helper"})


async def frames_of(address: str, token: str) -> list[dict[str, Any]]:
    """What a socket of the user is sent within a second after the welcome."""
    frames: list[dict[str, Any]] = []
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{address}/v1/ws") as socket:
        await socket.send_json({"type": "hello", "token": token, "acks": True})
        while True:
            try:
                frames.append(await socket.receive_json(timeout=1))
            except TimeoutError:
                return frames


async def send_first(caller: Caller, folder: Path, url: str) -> str:
    """A user with a channel, and a message that comes due at once; returns a token of the user."""
    tokens = await create_users(caller, "ada")
    await ok(
        caller, "PUT /v1/users/ada/channels", {"channels": [{"id": "hook", "type": "webhook", "url": url}]}
    )
    await plan(caller, "first")
    assert change(folder, "UPDATE user_channels SET due_at = 1") == 1
    return tokens["ada"]


def change(folder: Path, statement: str) -> int:
    """Change the database beside its process; how many rows changed."""
    with closing(sqlite3.connect(folder / "cadenza.db", timeout=30)) as file, file:
        return file.execute(statement).rowcount


async def test_a_message_that_a_killed_process_sent_comes_again_under_its_key_and_on_no_socket(
    tmp_path: Path,
) -> None:
    hook = Hook()
    settings = QUIET | {"CADENZA_ALLOW_TARGETS": "127.0.0.1", "CADENZA_CHANNEL_DELAY_MS": "100"}
    async with hook.open() as url:
        with running(tmp_path, UP, **settings) as up:
            key = up.key
            async with up.caller() as caller:
                token = await send_first(caller, tmp_path, url)
                await hook.until(1)
            up.kill()
        hook.free.set()
        assert change(tmp_path, END_CLAIMS) == 1
        with running(tmp_path, UP, **settings) as up:
            await hook.until(2)
            async with up.caller(key) as caller:
                await plan(caller, "second")
                await hook.until(3)
            await asyncio.sleep(0.5)
            frames = await frames_of(up.address, token)
    keys = [key for key, _ in hook.messages]
    assert keys[0] == keys[1] != keys[2]
    assert [body["data"]["seq"] for _, body in hook.messages] == [1, 1, 2]
    assert [frame["type"] for frame in frames] == ["welcome"]
