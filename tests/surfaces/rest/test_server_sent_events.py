"""What changes, as server-sent events: coalesced, of one tenant alone, and resumed."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.surfaces.api_in_process import AN_ENDPOINT, ApiInProcess

from cadenza.operations.monitoring import live_changes
from cadenza.operations.monitoring.live_changes import (
    EVERYTHING,
    MOST_ENDPOINTS,
    NOTHING,
    ChangeSummary,
    LiveChanges,
)
from cadenza.testing.builders import an_endpoint
from cadenza.testing.contracts.harness import Bench

SOON_S = 3


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_changes, "POLL_S", 0.02)
    monkeypatch.setattr(live_changes, "COMBINED_S", 0.02)


class Stream:
    """The events of one connection, as a browser reads them."""

    def __init__(self, parts: "asyncio.Queue[bytes]") -> None:
        self._parts = parts
        self._text = ""
        self.last_id = ""

    async def next(self, name: str) -> Any:
        """The data of the next event of a name."""
        async with asyncio.timeout(SOON_S):
            while True:
                while "\n\n" not in self._text:
                    self._text += (await self._parts.get()).decode()
                block, _, self._text = self._text.partition("\n\n")
                fields = dict(line.split(": ", 1) for line in block.splitlines())
                self.last_id = fields.get("id", self.last_id)
                if fields.get("event") == name:
                    return json.loads(fields["data"])


@asynccontextmanager
async def listening(api: ApiInProcess, by: str = "north", **headers: str) -> AsyncIterator[Stream]:
    """Listen as a tenant until the end of the block."""
    parts: asyncio.Queue[bytes] = asyncio.Queue()
    gone = asyncio.Event()
    given = {"authorization": f"Bearer {await api.key(by)}"} | headers
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/events",
        "raw_path": b"/v1/events",
        "query_string": b"",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in given.items()],
        "client": ("192.0.2.1", 1),
        "server": ("127.0.0.1", 80),
        "asgi": {"version": "3.0", "spec_version": "2.4"},
    }

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if gone.is_set():
            raise OSError("gone")
        await parts.put(message.get("body", b""))

    serving = asyncio.create_task(api.app(scope, receive, send))
    try:
        yield Stream(parts)
    finally:
        gone.set()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def a_run(api: ApiInProcess, name: str, tenant_id: str = "north") -> None:
    bench = Bench(api.store)
    bench.clock = api.clock
    await api.store.endpoints.add(an_endpoint(name, tenant_id=tenant_id, next_run_at=api.clock.now()))
    await bench.end(*await bench.claim())


async def test_who_comes_anew_looks_at_everything_and_then_hears_of_runs(api: ApiInProcess) -> None:
    async with listening(api) as stream:
        assert (await stream.next("now"))["now"].startswith("2025-01-01")
        await stream.next("reset")
        await a_run(api, "a")
        told = await stream.next("change")
        while not told["runs"]:
            told = await stream.next("change")
        assert (told["endpoints"], told["runs"]) == (["a"], 1)


async def test_steering_is_heard(api: ApiInProcess) -> None:
    await api.create_endpoint()
    async with listening(api) as stream:
        await stream.next("reset")
        await api.ask("POST /v1/endpoints/traffic/tools/propose_interval", {"intervalMs": 30_000})
        assert (await stream.next("change"))["steered"]


async def test_who_comes_back_hears_what_was_missed_and_no_more(api: ApiInProcess) -> None:
    async with listening(api) as staying:
        async with listening(api) as leaving:
            await leaving.next("reset")
            await a_run(api, "seen")
            while "seen" not in (await leaving.next("change"))["endpoints"]:
                pass
            place = leaving.last_id
        await staying.next("reset")
        await a_run(api, "missed")
        while "missed" not in (await staying.next("change"))["endpoints"]:
            pass
        async with listening(api, last_event_id=place) as back:
            told = await back.next("change")
            assert told["endpoints"] == ["missed"]
        async with listening(api, last_event_id="another.7") as stranger:
            await stranger.next("reset")


async def test_nobody_hears_of_another_tenants_runs(api: ApiInProcess) -> None:
    async with listening(api) as stream:
        await stream.next("reset")
        await a_run(api, "secret", tenant_id="south")
        await a_run(api, "own")
        heard: set[str] = set()
        while "own" not in heard:
            heard |= set((await stream.next("change"))["endpoints"])
        assert heard == {"own"}


async def test_nobody_hears_that_another_tenant_steers(api: ApiInProcess) -> None:
    await api.create_endpoint("south")
    changes = LiveChanges(api.application.dependencies)
    async with changes.reader("north") as north, changes.reader("south") as south:
        for reader in (north, south):
            assert await reader.next(1) == EVERYTHING
        await api.ask("POST /v1/endpoints/traffic/tools/propose_interval", {"intervalMs": 30_000}, by="south")
        assert await south.next(1) == ChangeSummary(steered=True)
        assert await north.next(0.1) == NOTHING
        assert north.last_id == ""
        await api.ask("POST /v1/jobs", {"id": "job", "name": "job"})
        await api.ask("POST /v1/jobs/job/endpoints", AN_ENDPOINT)
        assert await north.next(1) == ChangeSummary(steered=True)
        assert await south.next(0.1) == NOTHING


async def test_how_much_others_run_is_not_told(api: ApiInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_changes, "PAGE", 2)
    monkeypatch.setattr(live_changes, "MOST_PAGES", 1)
    changes = LiveChanges(api.application.dependencies)
    async with changes.reader("north") as north:
        assert await north.next(1) == EVERYTHING
        for n in range(7):
            await a_run(api, f"endpoint-{n}", tenant_id="south")
        await a_run(api, "own")
        heard = NOTHING
        async with asyncio.timeout(SOON_S):
            while not heard.runs:
                heard = heard.combined(await north.next(1) or NOTHING)
        assert heard == ChangeSummary(frozenset({"own"}), runs=1, steered=True)


async def test_a_stream_ends_when_the_key_is_taken_back(api: ApiInProcess) -> None:
    made = (await api.ask("POST /v1/keys", {"name": "short"})).json()
    headers = {"authorization": f"Bearer {made['key']}"}
    async with listening(api, **headers) as stream:
        await stream.next("reset")
        await api.ask(f"DELETE /v1/keys/{made['id']}")
        await a_run(api, "a")
        with pytest.raises(TimeoutError):
            await stream.next("change")


async def test_who_has_no_key_or_speaks_for_one_user_hears_nothing(api: ApiInProcess) -> None:
    assert (await api.ask("GET /v1/events", by=None)).status == 401


async def test_a_slow_reader_is_told_once_and_never_more_than_bearable(api: ApiInProcess) -> None:
    changes = LiveChanges(api.application.dependencies)
    async with changes.reader("north") as reader:
        assert await reader.next(1) == EVERYTHING
        for n in range(MOST_ENDPOINTS + 1):
            changes._publish("north", ChangeSummary(frozenset({f"endpoint-{n}"}), 1))
        assert await reader.next(1) == EVERYTHING
        changes._publish("south", ChangeSummary(runs=1))
        assert await reader.next(0.05) == NOTHING
        changes.close()
        assert await reader.next(1) is None
    assert changes.readers == 0


async def test_nobody_follows_the_store_when_nobody_reads(api: ApiInProcess) -> None:
    changes = LiveChanges(api.application.dependencies)
    async with changes.reader("north"):
        assert changes._polling is not None
    assert changes._polling is None


async def test_every_word_comes_with_both_clocks(api: ApiInProcess) -> None:
    async with listening(api) as stream:
        told = [await stream.next("now"), await stream.next("now")]
        await a_run(api, "a")
        told.append(await stream.next("change"))
    for words in told:
        assert words["now"] == words["wall"] == "2025-01-01T00:00:00Z"


async def test_a_place_does_not_tell_how_much_others_were_told(api: ApiInProcess) -> None:
    changes = LiveChanges(api.application.dependencies)
    async with changes.reader("north") as staying:
        changes._publish("north", ChangeSummary(runs=1))
        last_id = staying.last_id
        for _ in range(3):
            changes._publish("south", ChangeSummary(runs=1))
        assert staying.last_id == last_id
        async with changes.reader("north", last_id) as back:
            assert await back.next(0.05) == NOTHING
        changes._publish("north", ChangeSummary(runs=2))
        async with changes.reader("north", last_id) as back:
            assert await back.next(1) == ChangeSummary(runs=2)
        async with changes.reader("south", "unknown") as stranger:
            assert await stranger.next(1) == EVERYTHING
